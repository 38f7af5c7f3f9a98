"""Parses `mcp-servers.json`. A file with an error is refused as a whole, with the field and the reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from doorward import redact, strictjson
from doorward.command import shortened
from doorward.edited.published import Fault, field
from doorward.errors import Unusable
from doorward.upstream.config import ServerConfig, Servers
from doorward.upstream.entry import BadEntry, as_id, server
from doorward.upstream.schema import first_fault

LARGEST = 4_000_000
"""Size limit of the file in bytes."""
APPROVAL, DISCOVERY = "MCP_TOOL_APPROVAL", "MCP_AUTO_DISCOVERY"
"""Environment variables that override the file."""

_PRIVATE = ("env", "headers", "auth", "url")
"""Fields whose values are never quoted in messages."""
_MARK = b"\xef\xbb\xbf"
_SWITCH = {"true": True, "1": True, "false": False, "0": False}


class BadServers(Unusable):
    """An invalid server file; the message names the file, the field and the reason."""

    def __init__(self, file: str, field: str, reason: str) -> None:
        where = f" at {field}" if field else ""
        stop = "" if reason.endswith((".", "?")) else "."
        super().__init__(
            f"The server file {file} is not valid{where}: {reason}{stop}",
            hint="docs/SERVERS.md and mcp-servers.schema.json describe every field.",
        )
        self.file = file
        self.field = field
        self.reason = reason


def switched(environment: Mapping[str, str], name: str, otherwise: bool) -> bool:
    """Read a boolean environment variable; raises Unusable when it is invalid."""
    given = environment.get(name, "")
    if not given:
        return otherwise
    if given.lower() not in _SWITCH:
        raise Unusable(f"{name} is not valid; valid: true, false, 1 or 0; given {shortened(given)}.")
    return _SWITCH[given.lower()]


def parse(text: bytes, name: str, environment: Mapping[str, str]) -> Servers:
    """Parse and check a server file called `name`, and expand its variables."""
    whole = checked(text, name)
    found: dict[str, ServerConfig] = {}
    for id, path, raw in entries(whole):
        try:
            one = server(raw, id, path, environment)
        except BadEntry as error:
            raise BadServers(name, error.fault.field, redact.text(error.fault.reason)) from error
        if id in found:
            raise BadServers(name, field(path), _taken(id, path, found[id]))
        found[id] = one
    return Servers(
        servers=tuple(found.values()),
        approval_required=switched(environment, APPROVAL, whole.get("toolApprovalRequired", True)),
        auto_discovery=switched(environment, DISCOVERY, whole.get("autoDiscoveryEnabled", False)),
        sub_agent=whole.get("subAgentEnabled", False),
    )


def checked(text: bytes, name: str) -> dict[str, Any]:
    """Parse the file as JSON and check it against the schema."""
    if not text.strip():
        raise BadServers(name, "", 'the file is empty; valid: {"servers": [...]}')
    if text.startswith(_MARK):
        raise BadServers(name, "", "it starts with a byte order mark; save it as UTF-8 without one")
    try:
        whole = strictjson.loads(text, max_bytes=LARGEST)
    except strictjson.NotJson as error:
        raise BadServers(name, "", str(error)) from error
    fault = first_fault(whole)
    if fault is not None:
        raise BadServers(name, fault.field, _unquoted(fault, whole))
    if "servers" in whole and "mcpServers" in whole:
        raise BadServers(name, "mcpServers", "the file has servers as well; valid: one of the two forms")
    return dict(whole)


def entries(whole: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str | int, ...], Mapping[str, Any]]]:
    """Yield each server's id, path in the file and fields. In a map, the name makes the id."""
    for place, raw in enumerate(whole.get("servers", ())):
        yield raw["id"], ("servers", place), raw
    for key, raw in whole.get("mcpServers", {}).items():
        yield as_id(key), ("mcpServers", key), {"name": key, **raw}


def _taken(id: str, path: Sequence[str | int], other: ServerConfig) -> str:
    if path[0] == "servers":
        return f"the id {id!r} is used twice; each server needs its own"
    return f"this name and {shortened(other.name)} make the same id, {id!r}; give one of them another name"


def _unquoted(fault: Fault, whole: Any) -> str:
    """The reason, without the value when it may be a secret."""
    if not any(step in _PRIVATE for step in fault.path):
        return redact.text(fault.reason)
    value = whole
    try:
        for step in fault.path:
            value = value[step]
    except (KeyError, IndexError, TypeError):
        return redact.text(fault.reason)
    return redact.text(fault.reason.replace(shortened(value), "a private value"))
