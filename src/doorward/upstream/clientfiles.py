"""Paths of the MCP configuration files of known clients, on each system."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec


class Machine(msgspec.Struct, frozen=True):
    """The facts that paths depend on."""

    platform: str
    home: Path
    folder: Path
    """The project folder: the current one."""
    variables: Mapping[str, str] = {}

    @staticmethod
    def here() -> Machine:
        return Machine(sys.platform, Path.home(), Path.cwd(), dict(os.environ))

    def settings(self, *parts: str) -> Path:
        """A path in the system's folder for application settings."""
        if self.platform == "darwin":
            base = self.home / "Library" / "Application Support"
        elif self.platform == "win32":
            base = Path(self.variables.get("APPDATA") or self.home / "AppData" / "Roaming")
        else:
            base = Path(self.variables.get("XDG_CONFIG_HOME") or self.home / ".config")
        return base.joinpath(*parts)

    def own(self, variable: str, default: str, *parts: str) -> Path:
        """A path in a folder of the home folder, which a variable can override."""
        return Path(self.variables.get(variable) or self.home / default).joinpath(*parts)


class ClientFile(msgspec.Struct, frozen=True, kw_only=True):
    """The configuration files of one client: per user and, if it has one, per project."""

    id: str
    title: str
    container: str
    """The key of the servers in the file."""
    user: Callable[[Machine], Path]
    project: Callable[[Machine], Path] | None = None
    toml: bool = False

    def files(self, machine: Machine) -> list[Path]:
        found = [self.user(machine)] + ([self.project(machine)] if self.project is not None else [])
        return list(dict.fromkeys(found))  # in the home folder both can be the same file


CLIENT_FILES = (
    ClientFile(
        id="claude-code",
        title="Claude Code",
        container="mcpServers",
        user=lambda machine: machine.own("CLAUDE_CONFIG_DIR", "", ".claude.json"),
        project=lambda machine: machine.folder / ".mcp.json",
    ),
    ClientFile(
        id="claude-desktop",
        title="Claude Desktop",
        container="mcpServers",
        user=lambda machine: machine.settings("Claude", "claude_desktop_config.json"),
    ),
    ClientFile(
        id="cursor",
        title="Cursor",
        container="mcpServers",
        user=lambda machine: machine.home / ".cursor" / "mcp.json",
        project=lambda machine: machine.folder / ".cursor" / "mcp.json",
    ),
    ClientFile(
        id="vscode",
        title="VS Code",
        container="servers",
        user=lambda machine: machine.settings("Code", "User", "mcp.json"),
        project=lambda machine: machine.folder / ".vscode" / "mcp.json",
    ),
    ClientFile(
        id="codex",
        title="Codex",
        container="mcp_servers",
        user=lambda machine: machine.own("CODEX_HOME", ".codex", "config.toml"),
        project=lambda machine: machine.folder / ".codex" / "config.toml",
        toml=True,
    ),
    ClientFile(
        id="gemini",
        title="Gemini CLI",
        container="mcpServers",
        user=lambda machine: machine.home / ".gemini" / "settings.json",
        project=lambda machine: machine.folder / ".gemini" / "settings.json",
    ),
    ClientFile(
        id="windsurf",
        title="Windsurf",
        container="mcpServers",
        user=lambda machine: machine.home / ".codeium" / "windsurf" / "mcp_config.json",
    ),
    ClientFile(
        id="zed",
        title="Zed",
        container="context_servers",
        user=lambda machine: _zed(machine),
        project=lambda machine: machine.folder / ".zed" / "settings.json",
    ),
)


def client_file(id: str) -> ClientFile:
    return next(one for one in CLIENT_FILES if one.id == id)


def _zed(machine: Machine) -> Path:
    if machine.platform == "darwin":
        return machine.home / ".config" / "zed" / "settings.json"
    return machine.settings("Zed" if machine.platform == "win32" else "zed", "settings.json")
