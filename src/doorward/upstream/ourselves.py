"""Recognizes Doorward's own entry in an MCP client's configuration."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any
from urllib.parse import SplitResult, urlsplit

TOKEN = "DOORWARD_TOKEN"  # noqa: S105 - the name of a variable

_PATH = re.compile(r"/mcp/[a-z0-9][a-z0-9_-]*")


def is_ours(entry: Any, server: str = "") -> bool:
    """Whether an entry starts Doorward or connects to it. `server` is the URL of this home's server."""
    if not isinstance(entry, dict):
        return False
    command, args = entry.get("command"), entry.get("args")
    if isinstance(command, str) and isinstance(args, list):
        name = PureWindowsPath(command).stem if "\\" in command else PurePosixPath(command).stem
        return (name == "doorward" and "mcp" in args) or args[:3] == ["-m", "doorward", "mcp"]
    address = entry.get("url") or entry.get("httpUrl")
    if not isinstance(address, str):
        return False
    try:
        parts = urlsplit(address)
        return bool(_PATH.fullmatch(parts.path)) and (_shows_our_token(entry) or _is_near(parts, server))
    except ValueError:
        return False


def _shows_our_token(entry: Mapping[str, Any]) -> bool:
    headers = entry.get("headers") or entry.get("http_headers")
    shown = headers.get("Authorization") if isinstance(headers, dict) else None
    return entry.get("bearer_token_env_var") == TOKEN or (isinstance(shown, str) and TOKEN in shown)


def _is_near(parts: SplitResult, server: str) -> bool:
    """Whether the URL is on this machine, or is the one that Doorward would write."""
    if server and parts.netloc == urlsplit(server).netloc:
        return True
    try:
        return ipaddress.ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return parts.hostname == "localhost"
