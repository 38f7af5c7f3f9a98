"""A recipe: what AIs may do in a room, read from one JSON file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any, Literal

import msgspec

from doorward.config.files import BadFile
from doorward.config.published_schema import SLOT, find_slot_faults
from doorward.core import strictjson
from doorward.core.classification import Role, Tier
from doorward.core.command import shorten
from doorward.core.host_rules import parse_rule
from doorward.gate.recipes import parameter_rules as rules
from doorward.gate.recipes.schema import SchemaFault, first_fault

MAX_BYTES = 1_000_000
"""The largest recipe file, in bytes."""

_ID = re.compile(r"[a-z][a-z0-9-]{0,62}")
_AI_COMMANDS = ("strategy", "aiCommands")


class BadRecipe(BadFile):
    """A recipe file that is not valid. The message names file, field and reason."""

    noun = "recipe"
    default_hint = "recipe.schema.json describes every field."


class _RecipePart(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Base of all parts of a recipe. `recipe.schema.json` describes each field."""


class Visual(_RecipePart, frozen=True):
    screenshot_only: bool = False
    no_clicks: bool = False


class ApprovalRule(_RecipePart, frozen=True):
    timeout_seconds: float | None = None
    approvers: tuple[str, ...] = ()
    quorum: int = 1
    hold_seconds: float | None = None


class Allowance(_RecipePart, frozen=True):
    """Calls that need no approval: of one command, with exactly these parameters, each by its rule."""

    command: str
    params: dict[str, dict[str, Any]]


class AiCommands(_RecipePart, frozen=True):
    enabled: bool = False
    whitelist: tuple[str, ...] = ()
    blacklist: tuple[str, ...] = ()
    tiers: tuple[Tier, ...] = ()
    require_approval: dict[str, bool | ApprovalRule] = {}
    allow_without_approval: tuple[Allowance, ...] = ()
    max_commands_per_response: int = 3
    max_commands_per_minute: int = 10
    max_actions_per_second: float | None = None
    visual: Visual = Visual()
    timeout_seconds: float | None = None
    parameter_rules: dict[str, dict[str, dict[str, Any]]] = {}
    tool_list: tuple[str, ...] = ()


class AskedNetwork(_RecipePart, frozen=True):
    """Programs reach these hosts, and a person is asked about others."""

    hosts: tuple[str, ...]
    others: Literal["ask"]


class SandboxTerms(_RecipePart, frozen=True):
    profile: Literal["tool", "build"] = "tool"
    network: Literal["none", "ask", "all"] | tuple[str, ...] | AskedNetwork = "none"


class Strategy(_RecipePart, frozen=True):
    conversation_pattern: str = ""
    ai_commands: AiCommands | None = None
    mode: Literal["enforce", "observe"] = "enforce"
    changes: Literal["direct", "draft"] = "direct"
    sandbox: SandboxTerms = SandboxTerms()


class Phrase(_RecipePart, frozen=True):
    """A request as people phrase it, and its command. `{name}` in it is a slot that the parameters use."""

    says: str
    command: str
    params: dict[str, Any] = {}


class Recipe(_RecipePart, frozen=True, kw_only=True):
    recipe_id: str
    display_name: str
    description: str = ""
    strategy: Strategy
    phrases: tuple[Phrase, ...] = ()


def is_recipe_id(text: str) -> bool:
    return _ID.fullmatch(text) is not None


def parse_recipe(text: bytes, file: str) -> Recipe:
    """Parse and check one recipe. `file` is its current or future name or path."""
    if not text.strip():
        raise BadRecipe(file, "", "the file is empty; valid: one JSON object")
    try:
        value = strictjson.loads(text, max_bytes=MAX_BYTES)
    except strictjson.NotJson as error:
        raise BadRecipe(file, "", str(error)) from error
    fault = first_fault(value) or next(_find_faults(value, PurePath(file).stem), None)
    if fault is not None:
        raise BadRecipe(file, fault.field, fault.reason)
    # Not strict, because the schema counts 3.0 as an integer.
    return msgspec.convert(value, Recipe, strict=False)


def _find_faults(value: dict[str, Any], stem: str) -> Iterator[SchemaFault]:
    """Check what the schema cannot express. The value fits the schema already."""
    if value["recipeId"] != stem:
        reason = f"it must be the file's name without .json, {shorten(stem)}; given {shorten(value['recipeId'])}"
        yield SchemaFault(("recipeId",), reason)
    for number, phrase in enumerate(value.get("phrases", ())):
        yield from _find_slot_faults(phrase, ("phrases", number))
    network = value["strategy"].get("sandbox", {}).get("network", ())
    inside = ("hosts",) if isinstance(network, dict) else ()
    hosts = network["hosts"] if isinstance(network, dict) else () if isinstance(network, str) else network
    for number, host in enumerate(hosts):
        try:
            parse_rule(host)
        except ValueError as error:
            yield SchemaFault(("strategy", "sandbox", "network", *inside, number), f"{error}; given {shorten(host)}")
    commands = value["strategy"].get("aiCommands", {})
    for pattern, terms in commands.get("requireApproval", {}).items():
        if terms is not True:
            yield from _find_quorum_faults(terms, (*_AI_COMMANDS, "requireApproval", pattern))
    for number, allowance in enumerate(commands.get("allowWithoutApproval", ())):
        for parameter, rule in allowance["params"].items():
            path = (*_AI_COMMANDS, "allowWithoutApproval", number, "params", parameter)
            yield from rules.find_faults(rule, path)
    for pattern, by_parameter in commands.get("parameterRules", {}).items():
        for parameter, rule in by_parameter.items():
            yield from rules.find_faults(rule, (*_AI_COMMANDS, "parameterRules", pattern, parameter))


def _find_slot_faults(phrase: dict[str, Any], path: tuple[str | int, ...]) -> Iterator[SchemaFault]:
    """Find ambiguous slots, and slots in the parameters that the phrase does not have."""
    yield from find_slot_faults(phrase["says"], (*path, "says"))
    said = set(SLOT.findall(phrase["says"]))
    wanted = set(SLOT.findall(msgspec.json.encode(phrase.get("params", {})).decode()))
    for name in sorted(wanted - said):
        valid = ", ".join(f"{{{one}}}" for one in sorted(said)) or "none, since says has no slots"
        yield SchemaFault((*path, "params"), f"the slot {{{name}}} is not in says; valid: {valid}")


def _find_quorum_faults(terms: dict[str, Any], path: tuple[str | int, ...]) -> Iterator[SchemaFault]:
    approvers = terms.get("approvers", [])
    quorum = terms.get("quorum", 1)
    if approvers and not set(approvers) & set(Role) and quorum > len(approvers):
        yield SchemaFault(
            (*path, "quorum"),
            f"{len(approvers)} named approvers can never give {quorum} approvals; valid: at most {len(approvers)}",
        )
