"""The clients: where each keeps its list of MCP servers on each system, and how an entry for Doorward looks there."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from doorward.errors import BadParams

TOKEN = "DOORWARD_TOKEN"  # noqa: S105 - the name of a variable
Scope = Literal["user", "project"]


class Machine(msgspec.Struct, frozen=True):
    """What a path depends on."""

    platform: str
    home: Path
    folder: Path
    """The folder of the project, which is the one that we are in."""
    variables: Mapping[str, str] = {}

    @staticmethod
    def here() -> Machine:
        return Machine(sys.platform, Path.home(), Path.cwd(), dict(os.environ))

    def settings(self, *parts: str) -> Path:
        """In the folder where this system keeps the settings of applications with windows."""
        if self.platform == "darwin":
            base = self.home / "Library" / "Application Support"
        elif self.platform == "win32":
            base = Path(self.variables.get("APPDATA") or self.home / "AppData" / "Roaming")
        else:
            base = Path(self.variables.get("XDG_CONFIG_HOME") or self.home / ".config")
        return base.joinpath(*parts)

    def own(self, variable: str, default: str, *parts: str) -> Path:
        """In a folder of the account, which a variable may have moved."""
        return Path(self.variables.get(variable) or self.home / default).joinpath(*parts)


class Stdio(msgspec.Struct, frozen=True):
    """Doorward as a program that the client starts."""

    command: str
    args: list[str]
    env: dict[str, str] = {}

    def entry(self, **first: Any) -> dict[str, Any]:
        return {**first, "command": self.command, "args": self.args, **({"env": self.env} if self.env else {})}


class Http(msgspec.Struct, frozen=True):
    """Doorward as a server at an address. The token is in a variable unless a person wanted it in the file."""

    url: str
    token: str = ""

    def headers(self, variable: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token or variable}"}


class Client(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    title: str
    container: str
    """The name under which the file holds the servers."""
    stdio: Callable[[Stdio], dict[str, Any]]
    http: Callable[[Http], dict[str, Any]] | None = None
    user: Callable[[Machine], Path]
    project: Callable[[Machine], Path] | None = None
    programs: tuple[str, ...] = ()
    """Programs by which one sees that the client is installed."""
    toml: bool = False
    then: str
    """What a person does next."""

    def file(self, scope: Scope, machine: Machine) -> Path:
        if scope == "user":
            return self.user(machine)
        if self.project is None:
            raise BadParams(f"{self.title} has no configuration for single projects; leave out --scope project.")
        return self.project(machine)

    def entry(self, way: Stdio | Http) -> dict[str, Any]:
        if isinstance(way, Stdio):
            return self.stdio(way)
        if self.http is None:
            raise BadParams(f"{self.title} starts programs from this file and takes no addresses; leave out --http.")
        return self.http(way)


def _codex_http(way: Http) -> dict[str, Any]:
    if way.token:
        return {"url": way.url, "http_headers": way.headers("")}
    return {"url": way.url, "bearer_token_env_var": TOKEN}


CLIENTS = (
    Client(
        id="claude-code",
        title="Claude Code",
        container="mcpServers",
        stdio=lambda way: way.entry(type="stdio"),
        http=lambda way: {"type": "http", "url": way.url, "headers": way.headers(f"${{{TOKEN}}}")},
        user=lambda machine: machine.own("CLAUDE_CONFIG_DIR", "", ".claude.json"),
        project=lambda machine: machine.folder / ".mcp.json",
        programs=("claude",),
        then="Start Claude Code anew and type /mcp to see it.",
    ),
    Client(
        id="claude-desktop",
        title="Claude Desktop",
        container="mcpServers",
        stdio=lambda way: way.entry(),
        user=lambda machine: machine.settings("Claude", "claude_desktop_config.json"),
        then="Quit Claude Desktop and start it anew.",
    ),
    Client(
        id="cursor",
        title="Cursor",
        container="mcpServers",
        stdio=lambda way: way.entry(),
        http=lambda way: {"url": way.url, "headers": way.headers(f"${{env:{TOKEN}}}")},
        user=lambda machine: machine.home / ".cursor" / "mcp.json",
        project=lambda machine: machine.folder / ".cursor" / "mcp.json",
        programs=("cursor",),
        then="Start Cursor anew, and switch Doorward on where it lists MCP servers.",
    ),
    Client(
        id="vscode",
        title="VS Code",
        container="servers",
        stdio=lambda way: way.entry(type="stdio"),
        http=lambda way: {"type": "http", "url": way.url, "headers": way.headers(f"${{env:{TOKEN}}}")},
        user=lambda machine: machine.settings("Code", "User", "mcp.json"),
        project=lambda machine: machine.folder / ".vscode" / "mcp.json",
        programs=("code",),
        then="Run the command «MCP: List Servers» in VS Code, and start Doorward there.",
    ),
    Client(
        id="codex",
        title="Codex",
        container="mcp_servers",
        stdio=lambda way: way.entry(),
        http=_codex_http,
        user=lambda machine: machine.own("CODEX_HOME", ".codex", "config.toml"),
        project=lambda machine: machine.folder / ".codex" / "config.toml",
        programs=("codex",),
        toml=True,
        then="Start Codex anew and type /mcp to see it.",
    ),
    Client(
        id="gemini",
        title="Gemini CLI",
        container="mcpServers",
        stdio=lambda way: way.entry(),
        http=lambda way: {"httpUrl": way.url, "headers": way.headers(f"${TOKEN}")},
        user=lambda machine: machine.home / ".gemini" / "settings.json",
        project=lambda machine: machine.folder / ".gemini" / "settings.json",
        programs=("gemini",),
        then="Start Gemini CLI anew and type /mcp to see it.",
    ),
)
GENERIC = "generic"
"""Any other client: the entry is printed, in the form that most of them read."""


def known(id: str) -> Client:
    return next(client for client in CLIENTS if client.id == id)
