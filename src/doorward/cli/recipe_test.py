"""The expectations of `doorward recipe test`, which are checked without a server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import click
import msgspec

from doorward.commands.catalogue.parser import parse_catalogue
from doorward.commands.catalogue.watched_catalogue import CATALOGUE_FILE, shipped_catalogue
from doorward.commands.families import build_registry
from doorward.commands.programs.catalogue_command import build_commands
from doorward.config.settings import Settings
from doorward.core import strictjson
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import READS_ONLY, Command, Example, Family
from doorward.core.errors import BadParams, UnknownCommand
from doorward.core.escape_invisible import escape_invisible
from doorward.core.model import Caller, Kind
from doorward.core.registry import Registry
from doorward.gate.authorizer import judge_call
from doorward.gate.recipes.policy import Policy, PolicyDecision
from doorward.gate.recipes.recipe import Recipe
from doorward.rooms.people import LOCAL, OWNER

_UPSTREAM = "mcp/"


class Expectation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One call and the decision that the recipe should make about it."""

    command: str
    expect: PolicyDecision
    params: dict[str, Any] = {}
    kind: Kind = "ai"
    access: Literal["read", "edit", "full", "root"] = "root"
    tier: Tier | None = None
    """The tier of a command that only a server knows, such as a tool of another MCP server."""


def read_expectations(file: Path) -> list[Expectation]:
    """Read expectations: a list, or an object with the list `tests`."""
    try:
        value = strictjson.loads(file.read_bytes())
    except strictjson.NotJson as error:
        raise click.ClickException(f"{file.name}: {error}") from error
    listed = value.get("tests") if isinstance(value, dict) else value
    if not isinstance(listed, list) or not listed:
        raise click.ClickException(f"{file.name}: no expectations; valid: a list of them, or an object with tests.")
    found = []
    for number, one in enumerate(listed, 1):
        try:
            found.append(msgspec.convert(one, Expectation))
        except msgspec.ValidationError as error:
            raise click.ClickException(f"{file.name}, test {number}: {error}.") from error
    return found


def find_failures(recipe: Recipe, expectations: list[Expectation]) -> Iterator[str]:
    """Describe each expectation that the recipe does not meet: what was expected, what was decided, by which rule."""
    enforced = msgspec.structs.replace(recipe, strategy=msgspec.structs.replace(recipe.strategy, mode="enforce"))
    policy, registry = Policy(enforced), _build_offline_registry()
    for number, one in enumerate(expectations, 1):
        told = escape_invisible(f"test {number}: {one.command} {msgspec.json.encode(one.params).decode()}", lines=False)
        try:
            command = _find_command(registry, one)
        except BadParams as error:
            yield f"{told}: {error.message}"
            continue
        caller = Caller(LOCAL, "tester", one.kind, Access[one.access.upper()], OWNER if one.kind != "human" else "")
        got = judge_call(caller, policy, command, one.params)
        if got.decision != one.expect:
            yield f"{told}: expected {one.expect}, got {got.decision} ({got.rule})"


def _build_offline_registry() -> Registry:
    """The built-in commands and the programs of the shipped catalogue, whether they are installed here or not."""
    registry = build_registry([])
    entries = parse_catalogue(shipped_catalogue(), CATALOGUE_FILE)
    registry.replace("catalogue", *build_commands(entries, Settings()))
    return registry


def _find_command(registry: Registry, one: Expectation) -> Command:
    try:
        command = registry.resolve(one.command, ())
    except UnknownCommand:
        if one.tier is None:
            raise BadParams(
                f"There is no command {one.command!r} without a server. For a tool of another server, give its tier."
            ) from None
        return _stand_in(one.command, one.tier, one.params)
    command.check(one.params)
    return command


def _stand_in(name: str, tier: Tier, params: Mapping[str, Any]) -> Command:
    """A command with the facts that recipes look at. Every tool of another server asks first."""
    area, _, verb = name.rpartition("/")

    @Family(area, category="test").command(
        verb,
        tier=tier,
        effects=Effects.READ,
        access=Access.READ,
        safety=Safety.SAFE,
        cost=1,
        timeout=1,
        undo=READS_ONLY,
        examples=[Example("an expectation", {})],
    )
    async def stand_in(ctx: Any) -> None:
        """Stand in for a command of another server."""

    stand_in.schema = {"type": "object", "properties": {key: {} for key in params}}
    stand_in.asks_first = name.startswith(_UPSTREAM)
    return stand_in
