"""Narrow rules: the calls that an answer "for this session" or "always" covers, computed from one call.

A rule names one command and says for every parameter of the call what it must be. The same rule is shown to the person
who decides, checked for later calls, and written to the recipe.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from doorward.config import jsonc
from doorward.config.jsonc import JsonNode
from doorward.core.command import Command
from doorward.core.errors import BadParams
from doorward.core.escape_invisible import escape_invisible
from doorward.gate.recipes.policy import changes_access_lists, find_guarded_change
from doorward.gate.recipes.recipe import Allowance

RuleName = Literal["exact", "folder", "prefix"]

_BASH = "bash"
_SCRIPT = "command"
_LARGEST = 20_000
"""The most characters of a rule. A longer call can be approved only once."""
_PREFIX_WORDS = 2
_WORD = r"(?:(?:\.?[A-Za-z0-9_/=:@%+,-])+\.?|\.)"
"""A word that no shell changes, without `..`."""
_SIMPLE = re.compile(rf"{_WORD}(?: {_WORD})+", re.ASCII)
_RESERVED = "bg case coproc do done elif else esac fg fi for function if in select then time trap until while"
_WRAPPERS = (
    ". ash bash builtin command dash env eval exec find ionice nice nohup parallel setsid sh source stdbuf sudo timeout"
    " xargs zsh"
)
_RUN_OTHERS = frozenset((*_RESERVED.split(), *_WRAPPERS.split()))
"""Reserved words of the shell, and commands that run the command in their arguments: no prefix of theirs is narrow."""
_GLOB_SIGNS = re.compile(r"[*?\[\]{}\\]")


class NarrowRule(msgspec.Struct, frozen=True):
    """One rule that a person can choose."""

    name: RuleName
    allowance: Allowance

    @property
    def text(self) -> str:
        """The rule as a sentence part, with invisible characters escaped."""
        parts = [_describe(name, rule) for name, rule in self.allowance.params.items()]
        return escape_invisible(f"{self.allowance.command} where {' and '.join(parts) or 'no parameter is given'}")


def find_narrow_rules(command: Command, params: Mapping[str, Any]) -> list[NarrowRule]:
    """Return the rules that this call offers, the narrowest first; none if the call is too long for a rule."""
    free = {name: {"type": _json_type(params[name])} for name in command.content_parameters if name in params}
    declared = list(command.schema["properties"])
    names = sorted(params, key=lambda name: declared.index(name) if name in declared else len(declared))
    exact = {name: free.get(name) or {"const": params[name]} for name in names}
    offered = [NarrowRule("exact", Allowance(command.name, exact))]
    folder = _find_folder(command, params)
    if folder:
        inside = {**exact, command.path_parameter: {"glob": f"{folder}/**"}}
        offered.append(NarrowRule("folder", Allowance(command.name, inside)))
    prefix = _find_prefix(params.get(_SCRIPT)) if command.name == _BASH else ""
    if prefix:
        begins = {**exact, _SCRIPT: {"pattern": _prefix_pattern(prefix)}}
        offered.append(NarrowRule("prefix", Allowance(command.name, begins)))
    return [one for one in offered if len(json.dumps(one.allowance.params)) <= _LARGEST]


def explain_unliftable(command: Command, params: Mapping[str, Any], kind: str) -> str:
    """Say why no answer of a person can cover later calls like this one; empty if one can."""
    if command.facts.widens_access:
        return f"{command.name} can widen what somebody may do, so each call is asked about."
    if command.approves_effect:
        return f"An approval of {command.name} is for the difference that it shows, so each one is asked about."
    if kind != "human" and find_guarded_change(command, params) is not None:
        return "The call changes a path that decides what runs outside the sandbox, so each such call is asked about."
    if kind != "human" and changes_access_lists(command, params):
        return "The call sets who may read or change a record, so each such call is asked about."
    return ""


def add_allowance(text: bytes, allowance: Allowance) -> bytes:
    """Add an allowance to the text of a valid recipe, unless it is there. The rest of the text keeps its form."""
    entry = {"command": allowance.command, "params": allowance.params}
    written = text.decode()
    root = jsonc.parse_jsonc(written)
    commands = _member(_member(root, "strategy"), "aiCommands")
    if commands is None:
        raise BadParams("The recipe has no strategy.aiCommands, so nothing in it asks for approval.")
    listed = _member(commands, "allowWithoutApproval")
    if listed is None:
        return jsonc.insert_member(written, commands, "allowWithoutApproval", [entry], 2).encode()
    if entry in json.loads(written[listed.start : listed.end]):
        return text
    return jsonc.append_element(written, listed, entry, 3).encode()


def _member(node: JsonNode | None, key: str) -> JsonNode | None:
    found = node.find_member(key) if node is not None else None
    return found.node if found is not None else None


def _find_folder(command: Command, params: Mapping[str, Any]) -> str:
    """The folder of the path that the call names, if it is below the workspace and a glob can name it."""
    path = params.get(command.path_parameter) if command.path_parameter else None
    if not isinstance(path, str) or path.startswith("/") or ".." in path.split("/") or "\0" in path:
        return ""
    folder = posixpath.dirname(posixpath.normpath(path))
    return "" if _GLOB_SIGNS.search(folder) else folder


def _find_prefix(script: Any) -> str:
    """The first words of a script that is one simple command of plain words; empty for any other script."""
    if not isinstance(script, str) or _SIMPLE.fullmatch(script) is None:
        return ""
    words = script.split(" ")[:_PREFIX_WORDS]
    return "" if words[0] in _RUN_OTHERS or "=" in words[0] else " ".join(words)


def _prefix_pattern(prefix: str) -> str:
    """An expression for a command that begins with these words and goes on with plain words only."""
    literal = re.sub(r"([.+])", r"[\1]", prefix)
    return f"^{literal}(?: {_WORD})*$"


def _json_type(value: Any) -> str:
    kinds = {str: "string", list: "array", dict: "object", bool: "boolean", int: "integer", float: "number"}
    return kinds.get(type(value), "null")


def _describe(name: str, rule: Mapping[str, Any]) -> str:
    if "const" in rule:
        return f"{name} is {json.dumps(rule['const'], ensure_ascii=False)}"
    if "glob" in rule:
        return f"{name} is anything in {rule['glob'].removesuffix('**')}"
    if "pattern" in rule:
        prefix = rule["pattern"].removeprefix("^").partition("(?:")[0]
        words = re.sub(r"\[([.+])\]", r"\1", prefix)
        return f"{name} begins with the words {json.dumps(words)} and continues with plain words only"
    return f"{name} is any {'text' if rule['type'] == 'string' else rule['type']}"
