"""The MCP configuration files of known clients, and Doorward's own entry in them."""

from __future__ import annotations

import ipaddress
import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any
from urllib.parse import SplitResult, urlsplit

import msgspec


class ClientMachine(msgspec.Struct, frozen=True):
    """The facts that paths depend on."""

    platform: str
    home: Path
    folder: Path
    """The project folder: the current one."""
    variables: Mapping[str, str] = {}

    @staticmethod
    def current() -> ClientMachine:
        return ClientMachine(sys.platform, Path.home(), Path.cwd(), dict(os.environ))

    def settings_path(self, *parts: str) -> Path:
        """A path in the system's folder for application settings."""
        if self.platform == "darwin":
            base = self.home / "Library" / "Application Support"
        elif self.platform == "win32":
            base = Path(self.variables.get("APPDATA") or self.home / "AppData" / "Roaming")
        else:
            base = Path(self.variables.get("XDG_CONFIG_HOME") or self.home / ".config")
        return base.joinpath(*parts)

    def home_path(self, variable: str, default: str, *parts: str) -> Path:
        """A path in a folder of the home folder, which a variable can override."""
        return Path(self.variables.get(variable) or self.home / default).joinpath(*parts)


class ClientConfigFile(msgspec.Struct, frozen=True, kw_only=True):
    """The configuration files of one client: per user and, if it has one, per project."""

    id: str
    title: str
    container: str
    """The key of the servers in the file."""
    user: Callable[[ClientMachine], Path]
    project: Callable[[ClientMachine], Path] | None = None
    toml: bool = False

    def files(self, machine: ClientMachine) -> list[Path]:
        found = [self.user(machine)] + ([self.project(machine)] if self.project is not None else [])
        return list(dict.fromkeys(found))  # in the home folder both can be the same file


CLIENT_CONFIG_FILES = (
    ClientConfigFile(
        id="claude-code",
        title="Claude Code",
        container="mcpServers",
        user=lambda machine: machine.home_path("CLAUDE_CONFIG_DIR", "", ".claude.json"),
        project=lambda machine: machine.folder / ".mcp.json",
    ),
    ClientConfigFile(
        id="claude-desktop",
        title="Claude Desktop",
        container="mcpServers",
        user=lambda machine: machine.settings_path("Claude", "claude_desktop_config.json"),
    ),
    ClientConfigFile(
        id="cursor",
        title="Cursor",
        container="mcpServers",
        user=lambda machine: machine.home / ".cursor" / "mcp.json",
        project=lambda machine: machine.folder / ".cursor" / "mcp.json",
    ),
    ClientConfigFile(
        id="vscode",
        title="VS Code",
        container="servers",
        user=lambda machine: machine.settings_path("Code", "User", "mcp.json"),
        project=lambda machine: machine.folder / ".vscode" / "mcp.json",
    ),
    ClientConfigFile(
        id="codex",
        title="Codex",
        container="mcp_servers",
        user=lambda machine: machine.home_path("CODEX_HOME", ".codex", "config.toml"),
        project=lambda machine: machine.folder / ".codex" / "config.toml",
        toml=True,
    ),
    ClientConfigFile(
        id="gemini",
        title="Gemini CLI",
        container="mcpServers",
        user=lambda machine: machine.home / ".gemini" / "settings.json",
        project=lambda machine: machine.folder / ".gemini" / "settings.json",
    ),
    ClientConfigFile(
        id="windsurf",
        title="Windsurf",
        container="mcpServers",
        user=lambda machine: machine.home / ".codeium" / "windsurf" / "mcp_config.json",
    ),
    ClientConfigFile(
        id="zed",
        title="Zed",
        container="context_servers",
        user=lambda machine: _zed_path(machine),
        project=lambda machine: machine.folder / ".zed" / "settings.json",
    ),
)


def find_client_file(id: str) -> ClientConfigFile:
    return next(one for one in CLIENT_CONFIG_FILES if one.id == id)


def _zed_path(machine: ClientMachine) -> Path:
    if machine.platform == "darwin":
        return machine.home / ".config" / "zed" / "settings.json"
    return machine.settings_path("Zed" if machine.platform == "win32" else "zed", "settings.json")


TOKEN_VARIABLE = "DOORWARD_TOKEN"  # noqa: S105 - the name of a variable

_RUNNERS = frozenset(("uvx", "pipx"))
"""Programs that run a package without installing it."""
_PATH = re.compile(r"/mcp/[a-z0-9][a-z0-9_-]*")


def is_doorward_entry(entry: Any, server: str = "") -> bool:
    """Whether an entry starts Doorward or connects to it. `server` is the URL of this home's server."""
    if not isinstance(entry, dict):
        return False
    command, args = entry.get("command"), entry.get("args")
    if isinstance(command, str) and isinstance(args, list):
        name = PureWindowsPath(command).stem if "\\" in command else PurePosixPath(command).stem
        if name in _RUNNERS:
            return ["doorward", "mcp"] in [args[at : at + 2] for at in range(len(args))]
        return (name == "doorward" and "mcp" in args) or args[:3] == ["-m", "doorward", "mcp"]
    address = entry.get("url") or entry.get("httpUrl")
    if not isinstance(address, str):
        return False
    try:
        parts = urlsplit(address)
        return bool(_PATH.fullmatch(parts.path)) and (_uses_doorward_token(entry) or _is_own_address(parts, server))
    except ValueError:
        return False


def _uses_doorward_token(entry: Mapping[str, Any]) -> bool:
    headers = entry.get("headers") or entry.get("http_headers")
    shown = headers.get("Authorization") if isinstance(headers, dict) else None
    return entry.get("bearer_token_env_var") == TOKEN_VARIABLE or (isinstance(shown, str) and TOKEN_VARIABLE in shown)


def _is_own_address(parts: SplitResult, server: str) -> bool:
    """Whether the URL is on this machine, or is the one that Doorward would write."""
    if server and parts.netloc == urlsplit(server).netloc:
        return True
    try:
        return ipaddress.ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return parts.hostname == "localhost"
