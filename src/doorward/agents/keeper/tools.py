"""The keeper's three tools, offered to models instead of hundreds of commands, and the check for quoted calls.

The answer reports every call as one of these three, so that programs can read all answers the same way.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from doorward.agents.calls.parsed import ParsedCall
from doorward.agents.models.model import ToolSpec
from doorward.agents.quotations import QUOTED_CALL, QuotationCheck
from doorward.core import strictjson
from doorward.core.command import shorten
from doorward.core.errors import BadParams
from doorward.core.names import RUN_COMMAND, normalise

ToolName = Literal["run_command", "read_file", "write_file"]

_PATH = {"type": "string", "description": "The file, such as notes.txt, ~/list.md or /data/rooms/general"}
TOOLS = (
    ToolSpec(
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
    ToolSpec(
        "read_file",
        "Read a file.",
        {"type": "object", "properties": {"path": _PATH}, "required": ["path"], "additionalProperties": False},
        reads_only=True,
    ),
    ToolSpec(
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
READ_COMMANDS = frozenset(("file/read", "vfs/read"))
WRITE_COMMANDS = frozenset(("file/write", "vfs/write"))
_PARAMS_KEYS = ("params", "parameters", "arguments", "args", "input")
"""The keys under which models put the parameters of a named command."""
_TOOL_MENTION = re.compile(
    r"""["']?(?:name|tool|tool_name|function)["']?\s*:\s*["'](?:run_command|read_file|write_file)["']"""
)
_TOOL_NAMES: Mapping[str, ToolName] = {
    "run_command": "run_command",
    "read_file": "read_file",
    "write_file": "write_file",
}


class ShellLine(msgspec.Struct, frozen=True):
    """A line for the session shell."""

    text: str


class NamedCommand(msgspec.Struct, frozen=True):
    """One command by name, in any spelling."""

    name: str
    params: Mapping[str, Any]


class FileRead(msgspec.Struct, frozen=True):
    path: str


class FileWrite(msgspec.Struct, frozen=True):
    path: str
    content: str


ToolIntent = ShellLine | NamedCommand | FileRead | FileWrite


def interpret_call(wanted: ParsedCall) -> ToolIntent:
    """Interpret a call of one of the three tools, or of a command directly. Raises BadParams if it is not valid."""
    ours = _TOOL_NAMES.get(normalise(wanted.name))
    given: Mapping[str, Any] = dict(wanted.args) if wanted.args is not None else wanted.params or {}
    if ours is None:
        return NamedCommand(wanted.name, given)
    if ours == "read_file":
        return FileRead(_require_text(ours, given, "path"))
    if ours == "write_file":
        return FileWrite(_require_text(ours, given, "path"), _require_text(ours, given, "content"))
    line = _require_text(ours, given, "command").strip()
    if not line:
        raise BadParams("run_command: `command` is empty. Give a line, or the name of a command.")
    key = next((one for one in _PARAMS_KEYS if one in given), "")
    if key:
        return NamedCommand(line, _require_object(key, given[key]))
    return ShellLine(line)


def as_tool_call(command: str, params: Mapping[str, Any]) -> tuple[ToolName, dict[str, Any]]:
    """Express a command call as one of the three tools."""
    if command in READ_COMMANDS and isinstance(params.get("path"), str):
        return "read_file", {"path": params["path"]}
    if command in WRITE_COMMANDS and isinstance(params.get("path"), str):
        return "write_file", {"path": params["path"], "content": params.get("content", "")}
    return "run_command", {"command": command, "params": dict(params)}


def _require_text(tool: str, given: Mapping[str, Any], name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str):
        known = ", ".join(next(one for one in TOOLS if one.name == tool).schema["properties"])
        raise BadParams(f"{tool}: `{name}` is required, as text; valid: {known}; given {shorten(dict(given))}.")
    return value


def _require_object(key: str, value: Any) -> Mapping[str, Any]:
    """Return parameters as an object. Some models write the object as JSON text."""
    if isinstance(value, str):
        try:
            value = strictjson.loads(value) if value.strip() else {}
        except strictjson.NotJson as error:
            raise BadParams(f"run_command: `{key}` must be a JSON object; {error}; given {shorten(value)}.") from error
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise BadParams(f"run_command: `{key}` must be a JSON object; given {shorten(value)}.")
    return value


def mentions_tool_call(prose: str) -> bool:
    """Whether prose contains something that looks like a call of these tools but was not parsed as one."""
    return _TOOL_MENTION.search(prose) is not None


_TRUSTED_PREFIXES = ("help/",)
"""Results with text of Doorward itself: models are meant to copy calls from them."""
_SERVER_PREFIX = "mcp/"
"""The prefix of commands of other servers, whose descriptions come from those servers."""


def reasons_not_to_run(
    quotations: QuotationCheck, calls: Sequence[ParsedCall], said: Sequence[str], results: Sequence[str]
) -> list[str]:
    """Return for each call the reason not to run it, or "". `said` is text of people, `results` is command output."""
    foreign = [text for text in results if _SERVER_PREFIX in text or not text.startswith(_TRUSTED_PREFIXES)]
    reasons = quotations.reasons_not_to_run(map(_inner_call, calls), (*said, *foreign))
    shown = [" ".join(text.split()) for text in foreign]
    return [
        reason or (QUOTED_CALL if _appears_in(call, shown) else "") for reason, call in zip(reasons, calls, strict=True)
    ]


def server_descriptions(instructions: str) -> list[str]:
    """Return the descriptions that other servers give of their commands, from the instructions of a prompt."""
    return [line for line in instructions.splitlines() if line.startswith(f"- {_SERVER_PREFIX}")]


def _inner_call(wanted: ParsedCall) -> ParsedCall:
    """Return the command call that a tool call runs, if it is a single one."""
    try:
        what = interpret_call(wanted)
    except BadParams:
        return wanted
    if isinstance(what, NamedCommand):
        return ParsedCall(name=what.name, params=what.params) if wanted.args is None else wanted
    if isinstance(what, ShellLine):
        try:
            name, *words = shlex.split(what.text)
        except ValueError:
            return wanted
        pairs = [word.removeprefix("--").partition("=") for word in words if word.startswith("--")]
        if name and len(pairs) == len(words):
            return ParsedCall(name=name, args=tuple((key, value or "true") for key, _, value in pairs))
    return wanted


def _appears_in(wanted: ParsedCall, shown: Sequence[str]) -> bool:
    """Whether a line of more than one word appears literally in the output of a command."""
    try:
        what = interpret_call(wanted)
    except BadParams:
        return False
    if not isinstance(what, ShellLine):
        return False
    line = " ".join(what.text.split())
    return " " in line and any(line in text for text in shown)
