"""Commands recipe/*: list, show, save and remove the recipes that govern rooms."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Annotated, Any, Literal, TypedDict

import msgspec
from msgspec import Meta

from doorward.commands.context import Context
from doorward.config import jsonc
from doorward.config.jsonc import JsonNode, UnreadableText
from doorward.core import strictjson
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import READS_ONLY, Example, Family, Undo
from doorward.core.errors import BadParams, Conflict, NotFound
from doorward.gate.recipes import policy as patterns
from doorward.gate.recipes.policy import Policy
from doorward.gate.recipes.recipe import MAX_BYTES, BadRecipe, Recipe, is_recipe_id, parse_recipe
from doorward.store import before_images
from doorward.store.before_images import BeforeImage

_NAMELESS = "draft"
_LINE = re.compile(r"line (\d{1,9}), column (\d{1,9})")
DraftText = Annotated[
    str, Meta(description="The recipe as JSON; if omitted, the recipe in force with that id", max_length=MAX_BYTES)
]


UnusedPatterns = Annotated[
    list[str], Meta(description="Patterns of the recipe that match no existing command; they may be typing errors")
]


class RecipeFault(msgspec.Struct, frozen=True):
    """An error in the text of a recipe, with its position for an editor."""

    field: Annotated[str, Meta(description="Path such as strategy.aiCommands.whitelist[2]; empty for the whole text")]
    reason: str
    line: Annotated[int, Meta(description="Line number, starting at 1")]
    column: int


def get_policy(ctx: Context, id: str, text: str) -> Policy:
    """The policy of this text or, without a text, the policy in force with that id."""
    if text:
        try:
            return parse_draft(id, text)
        except BadRecipe as error:
            raise BadParams(error.message, hint=error.hint) from error
    policy = ctx.services.recipes.policy(id)
    if policy is not None:
        return policy
    names = ", ".join(one.recipe_id for one in ctx.services.recipes.recipes())
    if not id:
        raise BadParams(f"Give the text of a recipe or the id of a recipe in force: {names}.")
    raise NotFound(f"There is no recipe {id!r}. Recipes: {names}.")


def parse_draft(id: str, text: str) -> Policy:
    """Parse the text of a recipe to a policy. Without an id, the id in the text is used."""
    name = id or _own_id(text)
    try:
        return Policy(parse_recipe(text.encode(errors="surrogatepass"), f"{name or _NAMELESS}.json"))
    except BadRecipe as error:
        if name:
            raise
        raise BadRecipe("that was given", error.field, error.reason) from error


def find_unused_patterns(recipe: Recipe, names: Iterable[str]) -> list[str]:
    """Find the patterns of a recipe that match none of these commands. They are valid: the commands may come later."""
    rules = recipe.strategy.ai_commands
    if rules is None:
        return []
    return patterns.find_unused(
        [
            *rules.whitelist,
            *rules.blacklist,
            *rules.require_approval,
            *rules.parameter_rules,
            *(one.command for one in rules.allow_without_approval),
        ],
        names,
    )


def locate_fault(text: str, error: BadRecipe) -> RecipeFault:
    """Locate the invalid value in the text; the start of the text if it cannot be located."""
    told = _LINE.search(error.reason) if not error.field else None
    if told is not None:
        return RecipeFault(error.field, error.reason, int(told[1]), int(told[2]))
    try:
        place = _find_position(jsonc.parse_jsonc(text), error.field)
    except UnreadableText:
        place = 0
    before = text[:place]
    return RecipeFault(error.field, error.reason, before.count("\n") + 1, place - before.rfind("\n"))


def _own_id(text: str) -> str:
    try:
        value = strictjson.loads(text, max_bytes=MAX_BYTES)
    except strictjson.NotJson:
        return ""
    own = value.get("recipeId") if isinstance(value, dict) else None
    return own if isinstance(own, str) and is_recipe_id(own) else ""


def _find_position(node: JsonNode, field: str) -> int:
    """The position of the value with this path, or of its nearest existing parent."""
    place = node.start
    inner = True
    while inner and field:
        inner = False
        for start, name, value in _children(node):
            rest = _strip_step(field, name)
            if rest is not None:
                node, place, field, inner = value, start, rest, True
                break
    return place


def _children(node: JsonNode) -> list[tuple[int, str | int, JsonNode]]:
    named: list[tuple[int, str | int, JsonNode]] = [(one.start, one.key, one.node) for one in node.members or []]
    return named + [(one.start, number, one) for number, one in enumerate(node.elements or [])]


def _strip_step(field: str, name: str | int) -> str | None:
    """The rest of a path after this step, or None if the path does not begin with it."""
    spelt = f"[{name}]" if isinstance(name, int) else name
    for way in (spelt, f"[{name!r}]", f'["{name}"]'):
        if field.startswith(way) and (len(field) == len(way) or field[len(way)] in ".["):
            return field[len(way) :].removeprefix(".")
    return None


family = Family("recipe", category="rooms")

Id = Annotated[str, Meta(description="The recipe's id", pattern=r"^[a-z][a-z0-9-]{0,62}$")]
_LARGEST = 1_000_000


class RecipeSummary(TypedDict):
    id: str
    name: str
    description: str


class RecipeList(TypedDict):
    items: list[RecipeSummary]
    problems: Annotated[dict[str, str], Meta(description="The error of each invalid file")]


class RecipeText(TypedDict):
    id: str
    recipe: Annotated[Any, Meta(description="The content of the recipe file")]


class RecipeSaved(TypedDict):
    id: str
    now: Literal["in force"]
    replaced: Annotated[bool, Meta(description="Whether it replaced a recipe with the same id")]
    idle: UnusedPatterns


class RecipeRemoved(TypedDict):
    id: str
    now: Literal["removed"]


@family.command(
    "list",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=5,
    undo=READS_ONLY,
    examples=[Example("which recipes are there", {})],
)
async def list_recipes(ctx: Context) -> RecipeList:
    """List the recipes with their purposes, and the errors of invalid recipe files."""
    recipes = sorted(ctx.services.recipes.recipes(), key=lambda one: one.recipe_id)
    return {
        "items": [{"id": one.recipe_id, "name": one.display_name, "description": one.description} for one in recipes],
        "problems": ctx.services.recipes.problems,
    }


@family.command(
    "show",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=5,
    undo=READS_ONLY,
    examples=[Example("what does the support recipe allow", {"id": "support"})],
    related=["recipe/list"],
)
async def show(ctx: Context, id: Id) -> RecipeText:
    """Show a recipe in the version in force, which is the last valid one."""
    text = ctx.services.recipes.text(id)
    if text is None:
        raise _not_found(ctx, id)
    return {"id": id, "recipe": strictjson.loads(text)}


@family.command(
    "put",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    access=Access.ROOT,
    safety=Safety.DANGEROUS,
    cost=1,
    timeout=10,
    undo=Undo("recipe"),
    examples=[
        Example(
            "a recipe that allows nothing",
            {"id": "quiet", "text": '{"recipeId": "quiet", "displayName": "Quiet", "strategy": {}}'},
        )
    ],
    related=["recipe/list", "recipe/show"],
    humans_only=True,
    server_wide=True,
    reveals="recipe/show",
    widens_access=True,
)
async def put(
    ctx: Context, id: Id, text: Annotated[str, Meta(description="The recipe as JSON", max_length=_LARGEST)]
) -> RecipeSaved:
    """Check a recipe and put it in force. An invalid recipe changes nothing."""
    old = ctx.services.recipes.text(id)
    new = text.encode()
    recipe = _parse_checked(id, new)
    await ctx.store.write(
        before_images.store_image(
            ctx.call, kind="recipe", target=id, before=old, after=_digest(new), at=ctx.services.clock.now()
        )
    )
    await ctx.services.recipes.save(id, new)
    idle = find_unused_patterns(recipe, (one.name for one in ctx.services.registry))
    return {"id": id, "now": "in force", "replaced": old is not None, "idle": idle}


@put.describes_effect
async def put_effect(ctx: Context, id: str, text: str) -> dict[str, Any]:
    _parse_checked(id, text.encode())
    old = ctx.services.recipes.text(id)
    return {"before": strictjson.loads(old) if old is not None else None, "after": strictjson.loads(text)}


@family.command(
    "remove",
    tier=Tier.SYSTEM,
    effects=Effects.DESTROY,
    access=Access.ROOT,
    safety=Safety.DANGEROUS,
    cost=1,
    timeout=10,
    undo=Undo("recipe"),
    examples=[Example("remove an unused recipe", {"id": "quiet"})],
    related=["recipe/list"],
    humans_only=True,
    server_wide=True,
    widens_access=True,
)
async def remove(ctx: Context, id: Id) -> RecipeRemoved:
    """Remove a recipe that governs no room."""
    old = ctx.services.recipes.text(id)
    if old is None:
        raise _not_found(ctx, id)
    _check_unused(ctx, id)
    await ctx.store.write(
        before_images.store_image(ctx.call, kind="recipe", target=id, before=old, after="", at=ctx.services.clock.now())
    )
    await ctx.services.recipes.remove(id)
    return {"id": id, "now": "removed"}


@family.undoer("recipe")
async def restore(ctx: Context, images: list[BeforeImage]) -> dict[str, Any]:
    """Restore the previous version of a recipe, unless it has changed since."""
    (image,) = images
    id = image.target
    now = ctx.services.recipes.text(id)
    if (_digest(now) if now is not None else "") != image.after:
        raise Conflict(f"Recipe {id!r} has changed since. Nothing was undone.")
    if image.before is None:
        _check_unused(ctx, id)
    after = _digest(image.before) if image.before is not None else ""
    await ctx.store.write(
        before_images.store_image(
            ctx.call, kind="recipe", target=id, before=now, after=after, at=ctx.services.clock.now()
        ),
        before_images.mark_undone(image.call, ctx.call.id),
    )
    if image.before is None:
        await ctx.services.recipes.remove(id)
        return {"recipe": id, "now": "removed"}
    await ctx.services.recipes.save(id, image.before)
    return {"recipe": id, "now": "as before"}


def _parse_checked(id: str, text: bytes) -> Recipe:
    try:
        return parse_recipe(text, f"{id}.json")
    except BadRecipe as error:
        raise BadParams(error.message, hint=error.hint) from error


def _check_unused(ctx: Context, id: str) -> None:
    governed = ctx.services.rooms.using_recipe(id)
    if governed:
        names = sorted(room.id for room in governed if room.is_known_to(ctx.caller))
        if len(names) < len(governed):
            names.append(f"{len(governed) - len(names)} rooms of others")
        raise Conflict(f"Recipe {id!r} governs {', '.join(names)}. Give those rooms another recipe first.")


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def _not_found(ctx: Context, id: str) -> NotFound:
    names = ", ".join(sorted(one.recipe_id for one in ctx.services.recipes.recipes()))
    return NotFound(f"There is no recipe {id!r}. Recipes: {names}.")
