"""A recipe: what AIs may do in a room, read from one JSON file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

import msgspec

from doorward import strictjson
from doorward.command import shortened
from doorward.edited.badfile import BadFile
from doorward.edited.slots import SLOT, slot_faults
from doorward.facts import Role, Tier
from doorward.recipes import rules
from doorward.recipes.schema import Fault, first_fault

LARGEST = 1_000_000
"""The largest recipe file, in bytes."""

_ID = re.compile(r"[a-z][a-z0-9-]{0,62}")
_AI_COMMANDS = ("strategy", "aiCommands")


class BadRecipe(BadFile):
    """A recipe file that is not valid. The message names file, field and reason."""

    what = "recipe"
    hint_of = "recipe.schema.json describes every field."


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Base of all parts of a recipe. `recipe.schema.json` describes each field."""


class Visual(_Part, frozen=True):
    screenshot_only: bool = False
    no_clicks: bool = False


class ApprovalRule(_Part, frozen=True):
    timeout_seconds: float = 30.0
    approvers: tuple[str, ...] = ()
    quorum: int = 1


class AiCommands(_Part, frozen=True):
    enabled: bool = False
    whitelist: tuple[str, ...] = ()
    blacklist: tuple[str, ...] = ()
    tiers: tuple[Tier, ...] = ()
    require_approval: dict[str, bool | ApprovalRule] = {}
    max_commands_per_response: int = 3
    max_commands_per_minute: int = 10
    max_actions_per_second: float | None = None
    visual: Visual = Visual()
    timeout_seconds: float | None = None
    parameter_rules: dict[str, dict[str, dict[str, Any]]] = {}


class Strategy(_Part, frozen=True):
    conversation_pattern: str = ""
    ai_commands: AiCommands | None = None


class Phrase(_Part, frozen=True):
    """A request as people phrase it, and its command. `{name}` in it is a slot that the parameters use."""

    says: str
    command: str
    params: dict[str, Any] = {}


class Recipe(_Part, frozen=True, kw_only=True):
    recipe_id: str
    display_name: str
    description: str = ""
    strategy: Strategy
    phrases: tuple[Phrase, ...] = ()


def is_recipe_id(text: str) -> bool:
    return _ID.fullmatch(text) is not None


def parse(text: bytes, file: str) -> Recipe:
    """Parse and check one recipe. `file` is its current or future name or path."""
    if not text.strip():
        raise BadRecipe(file, "", "the file is empty; valid: one JSON object")
    try:
        value = strictjson.loads(text, max_bytes=LARGEST)
    except strictjson.NotJson as error:
        raise BadRecipe(file, "", str(error)) from error
    fault = first_fault(value) or next(_deeper_faults(value, PurePath(file).stem), None)
    if fault is not None:
        raise BadRecipe(file, fault.field, fault.reason)
    # Not strict, because the schema counts 3.0 as an integer.
    return msgspec.convert(value, Recipe, strict=False)


def _deeper_faults(value: dict[str, Any], stem: str) -> Iterator[Fault]:
    """Check what the schema cannot express. The value fits the schema already."""
    if value["recipeId"] != stem:
        reason = f"it must be the file's name without .json, {shortened(stem)}; given {shortened(value['recipeId'])}"
        yield Fault(("recipeId",), reason)
    for number, phrase in enumerate(value.get("phrases", ())):
        yield from _slot_faults(phrase, ("phrases", number))
    commands = value["strategy"].get("aiCommands", {})
    for pattern, terms in commands.get("requireApproval", {}).items():
        if terms is not True:
            yield from _quorum_faults(terms, (*_AI_COMMANDS, "requireApproval", pattern))
    for pattern, by_parameter in commands.get("parameterRules", {}).items():
        for parameter, rule in by_parameter.items():
            yield from rules.faults(rule, (*_AI_COMMANDS, "parameterRules", pattern, parameter))


def _slot_faults(phrase: dict[str, Any], path: tuple[str | int, ...]) -> Iterator[Fault]:
    """Find ambiguous slots, and slots in the parameters that the phrase does not have."""
    yield from slot_faults(phrase["says"], (*path, "says"))
    said = set(SLOT.findall(phrase["says"]))
    wanted = set(SLOT.findall(msgspec.json.encode(phrase.get("params", {})).decode()))
    for name in sorted(wanted - said):
        valid = ", ".join(f"{{{one}}}" for one in sorted(said)) or "none, since says has no slots"
        yield Fault((*path, "params"), f"the slot {{{name}}} is not in says; valid: {valid}")


def _quorum_faults(terms: dict[str, Any], path: tuple[str | int, ...]) -> Iterator[Fault]:
    approvers = terms.get("approvers", [])
    quorum = terms.get("quorum", 1)
    if approvers and not set(approvers) & set(Role) and quorum > len(approvers):
        yield Fault(
            (*path, "quorum"),
            f"{len(approvers)} named approvers can never give {quorum} approvals; valid: at most {len(approvers)}",
        )
