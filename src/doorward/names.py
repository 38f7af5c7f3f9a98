"""Command names: what is canonical, what each door writes on the wire, and what models misspell."""

from __future__ import annotations

import hashlib
import re

CANONICAL = re.compile(r"[a-z][a-z0-9_-]*(?:/[a-z0-9][a-z0-9_.-]*){0,2}")
WIRE = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,47}")
_WIRE_MAX = 48

RESUME_APPROVED, RUN_COMMAND = "resume_approved", "run_command"
SEARCH_COMMANDS, DESCRIBE_COMMAND = "search_commands", "describe_command"
OF_DOORS = frozenset((RESUME_APPROVED, RUN_COMMAND, SEARCH_COMMANDS, DESCRIBE_COMMAND))
"""What doors call the tools that they have beside the commands; no tool of a server can have such a name."""


def is_canonical(name: str) -> bool:
    return len(name) <= 200 and CANONICAL.fullmatch(name) is not None


def wire_name(canonical: str) -> str:
    """The name for MCP and function-calling APIs: `data/list` becomes `data_list`.

    The registry holds the way back and refuses two commands with one wire name. A name too long for the wire
    keeps its beginning and gets a hash of the whole, so that it stays distinct.
    """
    name = canonical.replace("/", "_").replace(".", "_")
    if len(name) <= _WIRE_MAX:
        return name
    mark = hashlib.sha256(canonical.encode()).hexdigest()[:8]
    return f"{name[: _WIRE_MAX - 9]}_{mark}"


def folded(name: str) -> str:
    """What all spellings of one name have in common: `Data.List`, `data__list` and `data-list` meet here."""
    return re.sub(r"[/._\-:\s]+", "_", name.strip().lower()).strip("_")


def camel(name: str) -> str:
    """`old_string` as parameters are written on the wire: `oldString`."""
    head, *rest = name.rstrip("_").split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in rest)
