"""The MCP clients that `doorward connect` supports, and the format of Doorward's entry for each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import msgspec

from doorward.core.errors import BadParams
from doorward.upstream.client_files import TOKEN_VARIABLE, ClientConfigFile, ClientMachine, find_client_file

Scope = Literal["user", "project"]


class StdioEntry(msgspec.Struct, frozen=True):
    """An entry that starts Doorward as a program (stdio)."""

    command: str
    args: list[str]
    env: dict[str, str] = {}

    def entry(self, **first: Any) -> dict[str, Any]:
        return {**first, "command": self.command, "args": self.args, **({"env": self.env} if self.env else {})}


class HttpEntry(msgspec.Struct, frozen=True):
    """An entry that connects over HTTP. The token comes from a variable, unless the person wants it in the file."""

    url: str
    token: str = ""

    def headers(self, variable: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token or variable}"}


class McpClientConfig(msgspec.Struct, frozen=True, kw_only=True):
    place: ClientConfigFile
    stdio: Callable[[StdioEntry], dict[str, Any]]
    http: Callable[[HttpEntry], dict[str, Any]] | None = None
    programs: tuple[str, ...] = ()
    """Executables whose presence shows that the client is installed."""
    then: str
    """What to do next, for the person."""

    @property
    def id(self) -> str:
        return self.place.id

    @property
    def title(self) -> str:
        return self.place.title

    @property
    def container(self) -> str:
        return self.place.container

    @property
    def toml(self) -> bool:
        return self.place.toml

    @property
    def user(self) -> Callable[[ClientMachine], Path]:
        return self.place.user

    @property
    def project(self) -> Callable[[ClientMachine], Path] | None:
        return self.place.project

    def file(self, scope: Scope, machine: ClientMachine) -> Path:
        if scope == "user":
            return self.user(machine)
        if self.project is None:
            raise BadParams(f"{self.title} has no per-project configuration; omit --scope project.")
        return self.project(machine)

    def entry(self, way: StdioEntry | HttpEntry) -> dict[str, Any]:
        if isinstance(way, StdioEntry):
            return self.stdio(way)
        if self.http is None:
            raise BadParams(f"{self.title} does not support HTTP servers in this file; omit --http.")
        return self.http(way)


def _codex_http(way: HttpEntry) -> dict[str, Any]:
    if way.token:
        return {"url": way.url, "http_headers": way.headers("")}
    return {"url": way.url, "bearer_token_env_var": TOKEN_VARIABLE}


CLIENTS = (
    McpClientConfig(
        place=find_client_file("claude-code"),
        stdio=lambda way: way.entry(type="stdio"),
        http=lambda way: {"type": "http", "url": way.url, "headers": way.headers(f"${{{TOKEN_VARIABLE}}}")},
        programs=("claude",),
        then="Restart Claude Code and type /mcp to see it.",
    ),
    McpClientConfig(
        place=find_client_file("claude-desktop"),
        stdio=lambda way: way.entry(),
        then="Quit and restart Claude Desktop.",
    ),
    McpClientConfig(
        place=find_client_file("cursor"),
        stdio=lambda way: way.entry(),
        http=lambda way: {"url": way.url, "headers": way.headers(f"${{env:{TOKEN_VARIABLE}}}")},
        programs=("cursor",),
        then="Restart Cursor and enable Doorward in its list of MCP servers.",
    ),
    McpClientConfig(
        place=find_client_file("vscode"),
        stdio=lambda way: way.entry(type="stdio"),
        http=lambda way: {"type": "http", "url": way.url, "headers": way.headers(f"${{env:{TOKEN_VARIABLE}}}")},
        programs=("code",),
        then="Run the command «MCP: List Servers» in VS Code and start Doorward there.",
    ),
    McpClientConfig(
        place=find_client_file("codex"),
        stdio=lambda way: way.entry(),
        http=_codex_http,
        programs=("codex",),
        then="Restart Codex and type /mcp to see it.",
    ),
    McpClientConfig(
        place=find_client_file("gemini"),
        stdio=lambda way: way.entry(),
        http=lambda way: {"httpUrl": way.url, "headers": way.headers(f"${TOKEN_VARIABLE}")},
        programs=("gemini",),
        then="Restart Gemini CLI and type /mcp to see it.",
    ),
)
GENERIC = "generic"
"""Any other client: the entry is printed in the most common format."""


def find_client(id: str) -> McpClientConfig:
    return next(client for client in CLIENTS if client.id == id)
