"""Recipe drafts: turn the text of a recipe into a policy, or locate the error in it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated

import msgspec
from msgspec import Meta

from doorward import strictjson
from doorward.backends.context import Context
from doorward.edited import jsontext
from doorward.edited.jsontext import Node
from doorward.edited.unreadable import Unreadable
from doorward.errors import BadParams, NotFound
from doorward.recipes import patterns
from doorward.recipes.policy import Policy
from doorward.recipes.recipe import LARGEST, BadRecipe, Recipe, is_recipe_id, parse

_NAMELESS = "draft"
_LINE = re.compile(r"line (\d{1,9}), column (\d{1,9})")
Text = Annotated[
    str, Meta(description="The recipe as JSON; if omitted, the recipe in force with that id", max_length=LARGEST)
]


Idle = Annotated[
    list[str], Meta(description="Patterns of the recipe that match no existing command; they may be typing errors")
]


class Fault(msgspec.Struct, frozen=True):
    """An error in the text of a recipe, with its position for an editor."""

    field: Annotated[str, Meta(description="Path such as strategy.aiCommands.whitelist[2]; empty for the whole text")]
    reason: str
    line: Annotated[int, Meta(description="Line number, starting at 1")]
    column: int


def draft(ctx: Context, id: str, text: str) -> Policy:
    """The policy of this text or, without a text, the policy in force with that id."""
    if text:
        try:
            return drafted(id, text)
        except BadRecipe as error:
            raise BadParams(error.message, hint=error.hint) from error
    policy = ctx.house.recipes.policy(id)
    if policy is not None:
        return policy
    names = ", ".join(one.recipe_id for one in ctx.house.recipes.recipes())
    if not id:
        raise BadParams(f"Give the text of a recipe or the id of a recipe in force: {names}.")
    raise NotFound(f"There is no recipe {id!r}. Recipes: {names}.")


def drafted(id: str, text: str) -> Policy:
    """Parse the text of a recipe to a policy. Without an id, the id in the text is used."""
    name = id or _own_id(text)
    try:
        return Policy(parse(text.encode(errors="surrogatepass"), f"{name or _NAMELESS}.json"))
    except BadRecipe as error:
        if name:
            raise
        raise BadRecipe("that was given", error.field, error.reason) from error


def idle_in(recipe: Recipe, names: Iterable[str]) -> list[str]:
    """Find the patterns of a recipe that match none of these commands. They are valid: the commands may come later."""
    rules = recipe.strategy.ai_commands
    if rules is None:
        return []
    return patterns.idle([*rules.whitelist, *rules.blacklist, *rules.require_approval, *rules.parameter_rules], names)


def fault_in(text: str, error: BadRecipe) -> Fault:
    """Locate the invalid value in the text; the start of the text if it cannot be located."""
    told = _LINE.search(error.reason) if not error.field else None
    if told is not None:
        return Fault(error.field, error.reason, int(told[1]), int(told[2]))
    try:
        place = _place(jsontext.parse(text), error.field)
    except Unreadable:
        place = 0
    before = text[:place]
    return Fault(error.field, error.reason, before.count("\n") + 1, place - before.rfind("\n"))


def _own_id(text: str) -> str:
    try:
        value = strictjson.loads(text, max_bytes=LARGEST)
    except strictjson.NotJson:
        return ""
    own = value.get("recipeId") if isinstance(value, dict) else None
    return own if isinstance(own, str) and is_recipe_id(own) else ""


def _place(node: Node, field: str) -> int:
    """The position of the value with this path, or of its nearest existing parent."""
    place = node.start
    inner = True
    while inner and field:
        inner = False
        for start, name, value in _inside(node):
            rest = _rest(field, name)
            if rest is not None:
                node, place, field, inner = value, start, rest, True
                break
    return place


def _inside(node: Node) -> list[tuple[int, str | int, Node]]:
    named: list[tuple[int, str | int, Node]] = [(one.start, one.key, one.node) for one in node.members or []]
    return named + [(one.start, number, one) for number, one in enumerate(node.elements or [])]


def _rest(field: str, name: str | int) -> str | None:
    """The rest of a path after this step, or None if the path does not begin with it."""
    spelt = f"[{name}]" if isinstance(name, int) else name
    for way in (spelt, f"[{name!r}]", f'["{name}"]'):
        if field.startswith(way) and (len(field) == len(way) or field[len(way)] in ".["):
            return field[len(way) :].removeprefix(".")
    return None
