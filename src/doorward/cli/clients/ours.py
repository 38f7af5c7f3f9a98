"""What of an entry of ours in a client's configuration is ours: the rest belongs to the person who wrote it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
