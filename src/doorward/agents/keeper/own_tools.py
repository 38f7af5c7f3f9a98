"""The three tools of the keeper: what a model that knows no house is offered instead of hundreds of commands.

Whatever a model calls, the answer shows it as one of these, so that a program reads every answer in one way.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from doorward import strictjson
from doorward.agents.calls.wanted import Wanted
from doorward.agents.models.model import Tool
from doorward.command import shortened
from doorward.errors import BadParams
from doorward.names import RUN_COMMAND, folded

Name = Literal["run_command", "read_file", "write_file"]

_PATH = {"type": "string", "description": "The file, such as notes.txt, ~/list.md or /data/rooms/general"}
TOOLS = (
    Tool(
        RUN_COMMAND,
        "Run a line in the session, such as `ls -l | wc -l` or `data/list --collection=rooms`, or one command by its "
        "name together with its parameters.",
        {
            "type": "object",
            "properties": {
                "command": {"type": "string", "description": "The line, or the name of one command"},
                "params": {"type": "object", "description": "The parameters of that one command; leave out for a line"},
            },
            "required": ["command"],
            "additionalProperties": False,
        },
    ),
    Tool(
        "read_file",
        "Read a file.",
        {"type": "object", "properties": {"path": _PATH}, "required": ["path"], "additionalProperties": False},
        reads_only=True,
    ),
    Tool(
        "write_file",
        "Write a file, which is made or replaced.",
        {
            "type": "object",
            "properties": {"path": _PATH, "content": {"type": "string", "description": "All that it shall hold"}},
            "required": ["path", "content"],
            "additionalProperties": False,
        },
    ),
)
READS = frozenset(("file/read", "vfs/read"))
WRITES = frozenset(("file/write", "vfs/write"))
_PARAMS = ("params", "parameters", "arguments", "args", "input")
"""How models call the parameters of a command that they name."""
_SHOWN = re.compile(
    r"""["']?(?:name|tool|tool_name|function)["']?\s*:\s*["'](?:run_command|read_file|write_file)["']"""
)
_OURS: Mapping[str, Name] = {"run_command": "run_command", "read_file": "read_file", "write_file": "write_file"}


class Line(msgspec.Struct, frozen=True):
    """A line for the session shell."""

    text: str


class Named(msgspec.Struct, frozen=True):
    """One command by its name, in whatever spelling."""

    name: str
    params: Mapping[str, Any]


class Reads(msgspec.Struct, frozen=True):
    path: str


class Writes(msgspec.Struct, frozen=True):
    path: str
    content: str


Meant = Line | Named | Reads | Writes


def meant(wanted: Wanted) -> Meant:
    """What a model wants, whether it calls a tool of ours or a command; BadParams when that cannot be known."""
    ours = _OURS.get(folded(wanted.name))
    given: Mapping[str, Any] = dict(wanted.args) if wanted.args is not None else wanted.params or {}
    if ours is None:
        return Named(wanted.name, given)
    if ours == "read_file":
        return Reads(_text(ours, given, "path"))
    if ours == "write_file":
        return Writes(_text(ours, given, "path"), _text(ours, given, "content"))
    line = _text(ours, given, "command").strip()
    if not line:
        raise BadParams("run_command: `command` is empty; give a line, or the name of a command.")
    key = next((one for one in _PARAMS if one in given), "")
    if key:
        return Named(line, _object(key, given[key]))
    return Line(line)


def called(command: str, params: Mapping[str, Any]) -> tuple[Name, dict[str, Any]]:
    """A call of a command as one of the three tools."""
    if command in READS and isinstance(params.get("path"), str):
        return "read_file", {"path": params["path"]}
    if command in WRITES and isinstance(params.get("path"), str):
        return "write_file", {"path": params["path"], "content": params.get("content", "")}
    return "run_command", {"command": command, "params": dict(params)}


def _text(tool: str, given: Mapping[str, Any], name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str):
        known = ", ".join(next(one for one in TOOLS if one.name == tool).schema["properties"])
        raise BadParams(f"{tool}: `{name}` must be there, as text; valid: {known}; given {shortened(dict(given))}.")
    return value


def _object(key: str, value: Any) -> Mapping[str, Any]:
    """Parameters as an object, also where a model wrote that as text."""
    if isinstance(value, str):
        try:
            value = strictjson.loads(value) if value.strip() else {}
        except strictjson.NotJson as error:
            raise BadParams(
                f"run_command: `{key}` must be a JSON object; {error}; given {shortened(value)}."
            ) from error
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise BadParams(f"run_command: `{key}` must be a JSON object; given {shortened(value)}.")
    return value


def shows_a_call(prose: str) -> bool:
    """Whether words without a call hold what looks like one of ours, in a place where none is read."""
    return _SHOWN.search(prose) is not None
