"""The door's own tools. They translate a call into a gate request, and run nothing themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from doorward.doors.mcp.definitions import defined, listed
from doorward.doors.mcp.offers import Offer
from doorward.doors.mcp.results import RESUME
from doorward.names import DESCRIBE_COMMAND, RUN_COMMAND, SEARCH_COMMANDS
from doorward.wire.codes import INVALID_PARAMS
from doorward.wire.frames import WireError
from doorward.wire.shapes import Tool, ToolAnnotations

RUN = RUN_COMMAND
SEARCH = "help/search"
DESCRIBE = "help/describe"
RENAMED = {SEARCH_COMMANDS: SEARCH, DESCRIBE_COMMAND: DESCRIBE}
"""The names of these commands in a short list, where a model must find them at once."""

FEW = (
    "agent/ask",
    "bash",
    "data/list",
    "data/query",
    "execution/output",
    "file/edit",
    "file/list",
    "file/read",
    "file/search",
    "file/write",
    "room/say",
)
"""The commands of a short list besides the search: those that agents need most often."""

RESUMING = Tool(
    name=RESUME,
    title="Run an approved call",
    description="Run a call that waited for a person's approval and is now approved. Pass the ticket from the answer "
    "to that call. The call runs once, exactly as it was approved.",
    input_schema={
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {"ticket": {"type": "string", "description": "The ticket of the approved call", "minLength": 1}},
        "required": ["ticket"],
        "additionalProperties": False,
    },
    annotations=ToolAnnotations(
        read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True
    ),
)
RUNNING = Tool(
    name=RUN,
    title="Run any command",
    description="Run a command that is not in this list. Find it with search_commands and read its parameters with "
    "describe_command.",
    input_schema={
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "command": {"type": "string", "description": "The command name, such as data/list", "minLength": 1},
            "params": {"type": "object", "description": "The command's parameters, by name"},
        },
        "required": ["command"],
        "additionalProperties": False,
    },
    annotations=ToolAnnotations(
        read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True
    ),
)


class Wanted(msgspec.Struct, frozen=True):
    """The gate request for a tool call."""

    command: str
    params: Mapping[str, Any] | None
    ticket: str = ""


def wanted(name: str, arguments: Mapping[str, Any]) -> Wanted:
    if name == RUN:
        _only(name, arguments, ("command", "params"))
        params = arguments.get("params", {})
        if not isinstance(params, dict):
            raise WireError(INVALID_PARAMS, f"{name}: params must be an object.")
        return Wanted(_text(name, arguments, "command"), params)
    if name == RESUME:
        _only(name, arguments, ("ticket",))
        return Wanted("", None, _text(name, arguments, "ticket"))
    return Wanted(RENAMED.get(name, name), arguments)


def few(offer: Offer) -> list[tuple[str, msgspec.Raw]]:
    """The short list: the search, the tools to use its results, and the commands that are needed most often."""
    by_name = {command.name: command for command in offer.commands}
    tools = [defined(by_name[name], offer.policy) for name in FEW if name in by_name]
    tools += [defined(by_name[name], offer.policy, alias) for alias, name in RENAMED.items() if name in by_name]
    return [listed(tool) for tool in (*tools, RUNNING, RESUMING)]


def _only(name: str, arguments: Mapping[str, Any], known: Sequence[str]) -> None:
    for key in arguments:
        if key not in known:
            raise WireError(INVALID_PARAMS, f"{name}: unknown parameter {key[:40]!r}; valid: {', '.join(known)}.")


def _text(name: str, arguments: Mapping[str, Any], key: str) -> str:
    value = arguments.get(key)
    if not isinstance(value, str) or not value:
        raise WireError(INVALID_PARAMS, f"{name}: parameter {key!r} is required and must be a string.")
    return value
