"""Environment variables that override settings of the line door."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from doorward.config.settings import LineSettings
from doorward.core.errors import Unusable

_PORT = "USHELL_MCP_PORT"
_SWITCHES = {"USHELL_MCP_ENABLED": "enabled", "USHELL_MCP_DEBUG": "debug"}
_NUMBERS = {
    _PORT: ("port", int, "a port, 0 to 65535"),
    "USHELL_MCP_MAX_CLIENTS": ("clients", int, "a whole number from 1 to 10000"),
    "USHELL_MCP_TIMEOUT": ("idle_seconds", float, "seconds, more than 0 and at most 86400"),
    "USHELL_MCP_CMD_TIMEOUT": ("call_seconds", float, "seconds, more than 0 and at most 86400"),
    "USHELL_MCP_RATE_LIMIT": ("calls", int, "a whole number of calls in 10 seconds, at least 1"),
}
_AUDIT_LOG = "USHELL_MCP_AUDIT_LOG"
VARIABLES = (*_SWITCHES, *_NUMBERS, _AUDIT_LOG)


def apply_environment(line: LineSettings, environment: Mapping[str, str]) -> LineSettings:
    """The settings with the environment's overrides. An empty variable counts as unset."""
    changes: dict[str, Any] = {}
    for name in VARIABLES:
        given = environment.get(name, "").strip()
        if not given:
            continue
        if name in _SWITCHES:
            changes[_SWITCHES[name]] = _parse_switch(name, given)
        elif name == _AUDIT_LOG:
            changes["audit_log"] = given
        else:
            field, kind, valid = _NUMBERS[name]
            changes[field] = _parse_number(name, given, field, kind, valid)
    if "calls" in changes:
        changes["calls_seconds"] = 10.0
    return msgspec.structs.replace(line, **changes)


def other_port_hint(line: LineSettings, environment: Mapping[str, str]) -> str:
    """The hint for choosing another port, without the number: the variable if it set the port, else the setting."""
    if environment.get(_PORT, "").strip() == str(line.port):
        return f"set the environment variable {_PORT} to"
    return "doorward.toml, [line] port ="


def _parse_switch(name: str, given: str) -> bool:
    if given not in ("0", "1"):
        raise Unusable(f"The environment variable {name} must be 0 or 1; given {given[:80]!r}.", hint=f"Unset {name}.")
    return given == "1"


def _parse_number(name: str, given: str, field: str, kind: type, valid: str) -> Any:
    """Parse a number and check it against the type of the setting."""
    try:
        if not given.isascii() or "_" in given:
            raise ValueError
        value = kind(given)
        msgspec.convert({field: value}, LineSettings)
    except ValueError as error:  # msgspec.ValidationError is one as well
        raise Unusable(
            f"The environment variable {name} must be {valid}; given {given[:80]!r}.", hint=f"Change or unset {name}."
        ) from error
    return value
