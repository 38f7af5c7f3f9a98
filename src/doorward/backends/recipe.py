"""Commands recipe/*: list, show, save and remove the recipes that govern rooms."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, Literal, TypedDict

from msgspec import Meta

from doorward import strictjson
from doorward.backends.context import Context
from doorward.backends.recipe_draft import Idle, idle_in
from doorward.command import READS_ONLY, Example, Family, Undo
from doorward.errors import BadParams, Conflict, NotFound
from doorward.facts import Access, Effects, Safety, Tier
from doorward.recipes.recipe import BadRecipe, Recipe, parse
from doorward.store import before_images
from doorward.store.before_images import BeforeImage

family = Family("recipe", category="rooms")

Id = Annotated[str, Meta(description="The recipe's id", pattern=r"^[a-z][a-z0-9-]{0,62}$")]
_LARGEST = 1_000_000


class Named(TypedDict):
    id: str
    name: str
    description: str


class Recipes(TypedDict):
    items: list[Named]
    problems: Annotated[dict[str, str], Meta(description="The error of each invalid file")]


class RecipeText(TypedDict):
    id: str
    recipe: Annotated[Any, Meta(description="The content of the recipe file")]


class InForce(TypedDict):
    id: str
    now: Literal["in force"]
    replaced: Annotated[bool, Meta(description="Whether it replaced a recipe with the same id")]
    idle: Idle


class Removed(TypedDict):
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
async def list_recipes(ctx: Context) -> Recipes:
    """List the recipes with their purposes, and the errors of invalid recipe files."""
    recipes = sorted(ctx.house.recipes.recipes(), key=lambda one: one.recipe_id)
    return {
        "items": [{"id": one.recipe_id, "name": one.display_name, "description": one.description} for one in recipes],
        "problems": ctx.house.recipes.problems,
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
    text = ctx.house.recipes.text(id)
    if text is None:
        raise _missing(ctx, id)
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
    house_wide=True,
    reveals="recipe/show",
)
async def put(
    ctx: Context, id: Id, text: Annotated[str, Meta(description="The recipe as JSON", max_length=_LARGEST)]
) -> InForce:
    """Check a recipe and put it in force. An invalid recipe changes nothing."""
    old = ctx.house.recipes.text(id)
    new = text.encode()
    recipe = _checked(id, new)
    await ctx.store.write(
        before_images.keep(ctx.call, kind="recipe", target=id, before=old, after=_digest(new), at=ctx.house.clock.now())
    )
    await ctx.house.recipes.save(id, new)
    idle = idle_in(recipe, (one.name for one in ctx.house.registry))
    return {"id": id, "now": "in force", "replaced": old is not None, "idle": idle}


@put.shows_effect
async def put_effect(ctx: Context, id: str, text: str) -> dict[str, Any]:
    _checked(id, text.encode())
    old = ctx.house.recipes.text(id)
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
    house_wide=True,
)
async def remove(ctx: Context, id: Id) -> Removed:
    """Remove a recipe that governs no room."""
    old = ctx.house.recipes.text(id)
    if old is None:
        raise _missing(ctx, id)
    _check_unused(ctx, id)
    await ctx.store.write(
        before_images.keep(ctx.call, kind="recipe", target=id, before=old, after="", at=ctx.house.clock.now())
    )
    await ctx.house.recipes.remove(id)
    return {"id": id, "now": "removed"}


@family.undoer("recipe")
async def restore(ctx: Context, images: list[BeforeImage]) -> dict[str, Any]:
    """Restore the previous version of a recipe, unless it has changed since."""
    (image,) = images
    id = image.target
    now = ctx.house.recipes.text(id)
    if (_digest(now) if now is not None else "") != image.after:
        raise Conflict(f"Recipe {id!r} has changed since. Nothing was undone.")
    if image.before is None:
        _check_unused(ctx, id)
    after = _digest(image.before) if image.before is not None else ""
    await ctx.store.write(
        before_images.keep(ctx.call, kind="recipe", target=id, before=now, after=after, at=ctx.house.clock.now()),
        before_images.mark_undone(image.call, ctx.call.id),
    )
    if image.before is None:
        await ctx.house.recipes.remove(id)
        return {"recipe": id, "now": "removed"}
    await ctx.house.recipes.save(id, image.before)
    return {"recipe": id, "now": "as before"}


def _checked(id: str, text: bytes) -> Recipe:
    try:
        return parse(text, f"{id}.json")
    except BadRecipe as error:
        raise BadParams(error.message, hint=error.hint) from error


def _check_unused(ctx: Context, id: str) -> None:
    governed = ctx.house.rooms.governed_by(id)
    if governed:
        names = sorted(room.id for room in governed if room.known_to(ctx.caller))
        if len(names) < len(governed):
            names.append(f"{len(governed) - len(names)} rooms of others")
        raise Conflict(f"Recipe {id!r} governs {', '.join(names)}. Give those rooms another recipe first.")


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def _missing(ctx: Context, id: str) -> NotFound:
    names = ", ".join(sorted(one.recipe_id for one in ctx.house.recipes.recipes()))
    return NotFound(f"There is no recipe {id!r}. Recipes: {names}.")
