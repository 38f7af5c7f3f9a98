"""Which entry of a client's configuration is ours, and what of it: the rest belongs to the person who wrote it."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any
from urllib.parse import SplitResult, urlsplit

from doorward.cli.clients.known import TOKEN

_ADDRESSED = ("url", "httpUrl", "bearer_token_env_var")
"""Keys that we write in one of several ways: those of the other ways go."""
_SHARED = {"env": "DOORWARD_HOME", "headers": "Authorization", "http_headers": "Authorization"}
"""The keys that hold one value of ours beside those that a person put there."""
_OF_ONE_KIND = (
    "type",
    "command",
    "args",
    "env",
    "envFile",
    "env_vars",
    "cwd",
    "headers",
    "http_headers",
    "env_http_headers",
)
"""Keys that mean something only to a program that is started, or only to an address."""
_PATH = re.compile(r"/mcp/[a-z0-9][a-z0-9_-]*")


def is_ours(entry: Any, server: str = "") -> bool:
    """Whether an entry starts Doorward, or leads to one. `server` is the address of this home's own server."""
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


def merged(there: Mapping[str, Any], entry: Mapping[str, Any]) -> dict[str, Any]:
    """An entry of ours brought up to date: what the person added stays, unless it has no meaning any more."""
    gone = {*_ADDRESSED} - entry.keys()
    if ("command" in there) != ("command" in entry):
        gone |= {*_OF_ONE_KIND}
    kept = {key: value for key, value in there.items() if key not in gone}
    for key, value in _SHARED.items():
        held = kept.get(key)
        if isinstance(held, dict) and value in held:
            kept[key] = {name: one for name, one in held.items() if name != value}
            if not kept[key]:
                del kept[key]
    for key, value in entry.items():
        held = kept.get(key)
        kept[key] = {**held, **value} if key in _SHARED and isinstance(held, dict) else value
    if "args" in entry and "command" in there:
        kept["args"] = [*entry["args"], *_added(there["args"])]
    return kept


def _added(args: list[Any]) -> list[Any]:
    """What a person added to the command line, such as `--as reviewer`: all behind `mcp` except the room."""
    rest, added = args[args.index("mcp") + 1 :] if "mcp" in args else [], []
    while rest:
        one, *rest = rest
        if one == "--room":
            rest = rest[1:]
        elif not (isinstance(one, str) and one.startswith("--room=")):
            added.append(one)
    return added


def _shows_our_token(entry: Mapping[str, Any]) -> bool:
    headers = entry.get("headers") or entry.get("http_headers")
    shown = headers.get("Authorization") if isinstance(headers, dict) else None
    return entry.get("bearer_token_env_var") == TOKEN or (isinstance(shown, str) and TOKEN in shown)


def _is_near(parts: SplitResult, server: str) -> bool:
    """On this machine, or at the address that we would write."""
    if server and parts.netloc == urlsplit(server).netloc:
        return True
    try:
        return ipaddress.ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return parts.hostname == "localhost"
