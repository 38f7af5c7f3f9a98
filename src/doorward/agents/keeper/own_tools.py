"""The keeper's three tools, offered to models instead of hundreds of commands.

The answer reports every call as one of these three, so that programs can read all answers the same way.
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
        "Write a file. It is created or replaced.",
        {
            "type": "object",
            "properties": {"path": _PATH, "content": {"type": "string", "description": "The complete new content"}},
            "required": ["path", "content"],
            "additionalProperties": False,
        },
    ),
)
READS = frozenset(("file/read", "vfs/read"))
WRITES = frozenset(("file/write", "vfs/write"))
_PARAMS = ("params", "parameters", "arguments", "args", "input")
"""The keys under which models put the parameters of a named command."""
_SHOWN = re.compile(
    r"""["']?(?:name|tool|tool_name|function)["']?\s*:\s*["'](?:run_command|read_file|write_file)["']"""
)
_OURS: Mapping[str, Name] = {"run_command": "run_command", "read_file": "read_file", "write_file": "write_file"}


class Line(msgspec.Struct, frozen=True):
    """A line for the session shell."""

    text: str


class Named(msgspec.Struct, frozen=True):
    """One command by name, in any spelling."""

    name: str
    params: Mapping[str, Any]


class Reads(msgspec.Struct, frozen=True):
    path: str


class Writes(msgspec.Struct, frozen=True):
    path: str
    content: str


Meant = Line | Named | Reads | Writes


def meant(wanted: Wanted) -> Meant:
    """Interpret a call of one of the three tools, or of a command directly. Raises BadParams if it is not valid."""
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
        raise BadParams("run_command: `command` is empty. Give a line, or the name of a command.")
    key = next((one for one in _PARAMS if one in given), "")
    if key:
        return Named(line, _object(key, given[key]))
    return Line(line)


def called(command: str, params: Mapping[str, Any]) -> tuple[Name, dict[str, Any]]:
    """Express a command call as one of the three tools."""
    if command in READS and isinstance(params.get("path"), str):
        return "read_file", {"path": params["path"]}
    if command in WRITES and isinstance(params.get("path"), str):
        return "write_file", {"path": params["path"], "content": params.get("content", "")}
    return "run_command", {"command": command, "params": dict(params)}


def _text(tool: str, given: Mapping[str, Any], name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str):
        known = ", ".join(next(one for one in TOOLS if one.name == tool).schema["properties"])
        raise BadParams(f"{tool}: `{name}` is required, as text; valid: {known}; given {shortened(dict(given))}.")
    return value


def _object(key: str, value: Any) -> Mapping[str, Any]:
    """Return parameters as an object. Some models write the object as JSON text."""
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
    """Whether prose contains something that looks like a call of these tools but was not parsed as one."""
    return _SHOWN.search(prose) is not None
