"""Command names: the canonical form, the form on the wire, and the spellings that models produce."""

from __future__ import annotations

import functools
import hashlib
import re

CANONICAL = re.compile(r"[a-z][a-z0-9_-]*(?:/[a-z0-9][a-z0-9_.-]*){0,2}")
WIRE = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,47}")
_SEPARATORS = re.compile(r"[/._\-:\s]+")
_WIRE_MAX = 48

RESUME_APPROVED, RUN_COMMAND = "resume_approved", "run_command"
SEARCH_COMMANDS, DESCRIBE_COMMAND = "search_commands", "describe_command"
DOOR_TOOLS = frozenset((RESUME_APPROVED, RUN_COMMAND, SEARCH_COMMANDS, DESCRIBE_COMMAND))
"""The names of the doors' own tools. No tool of an upstream server can have one of them."""


def is_canonical(name: str) -> bool:
    return len(name) <= 200 and CANONICAL.fullmatch(name) is not None


def wire_name(canonical: str) -> str:
    """The name for MCP and function-calling APIs: `data/list` becomes `data_list`.

    The registry maps it back and refuses two commands with one wire name. A name that is too long is cut and gets a
    hash, so that it stays distinct.
    """
    name = canonical.replace("/", "_").replace(".", "_")
    if len(name) <= _WIRE_MAX:
        return name
    mark = hashlib.sha256(canonical.encode()).hexdigest()[:8]
    return f"{name[: _WIRE_MAX - 9]}_{mark}"


@functools.lru_cache(4096)
def normalise(name: str) -> str:
    """Normalise the spelling of a name: `Data.List`, `data__list` and `data-list` become the same."""
    return _SEPARATORS.sub("_", name.strip().lower()).strip("_")


def to_camel(name: str) -> str:
    """The wire form of a parameter name: `old_string` becomes `oldString`."""
    head, *rest = name.rstrip("_").split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in rest)
