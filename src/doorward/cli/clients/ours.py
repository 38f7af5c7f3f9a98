"""Updates Doorward's entry in a client's configuration, keeping what the person added to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_ADDRESSED = ("url", "httpUrl", "bearer_token_env_var")
"""Keys for HTTP entries. Those that the new entry does not use are removed."""
_SHARED = {"env": "DOORWARD_HOME", "headers": "Authorization", "http_headers": "Authorization"}
"""Keys that hold one value of ours beside the person's own."""
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
"""Keys that apply only to stdio or only to HTTP entries."""


def merged(there: Mapping[str, Any], entry: Mapping[str, Any]) -> dict[str, Any]:
    """Merge the new entry into the existing one. The person's additions stay, unless they no longer apply."""
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
    """Return the arguments a person added, such as `--as reviewer`: all after `mcp` except the room."""
    rest, added = args[args.index("mcp") + 1 :] if "mcp" in args else [], []
    while rest:
        one, *rest = rest
        if one == "--room":
            rest = rest[1:]
        elif not (isinstance(one, str) and one.startswith("--room=")):
            added.append(one)
    return added
