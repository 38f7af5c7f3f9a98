"""The command recipe/infer: write a recipe from the calls that were recorded in a room."""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, TypedDict

from msgspec import Meta

from doorward.commands.context import Context
from doorward.commands.ledger_walk import LedgerWalk
from doorward.commands.recipe import parse_draft
from doorward.commands.room import get_visible_room
from doorward.core import strictjson
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import READS_ONLY, Example, Family
from doorward.core.errors import NotFound
from doorward.gate.recipes.inference import RecipeInference

family = Family("recipe", category="rooms")

_DAY = 86_400 * 1_000_000
_SECONDS = 60


class InferredRecipe(TypedDict):
    recipe: Annotated[Any, Meta(description="The recipe, which is not in force yet")]
    room: str
    calls: Annotated[int, Meta(description="The number of calls it is written from")]
    complete: Annotated[bool, Meta(description="Whether the whole time span was read")]


@family.command(
    "infer",
    tier=Tier.SYSTEM,
    effects=Effects.READ,
    access=Access.FULL,
    safety=Safety.SAFE,
    cost=5,
    timeout=120,
    undo=READS_ONLY,
    examples=[Example("a recipe for what agents did in general", {"inRoom": "general", "days": 7})],
    related=["recipe/diff", "recipe/preview", "recipe/put"],
    humans_only=True,
    is_status_poll=True,
)
async def infer(
    ctx: Context,
    in_room: Annotated[str, Meta(description="The room whose calls are read", min_length=1, max_length=63)],
    days: Annotated[float, Meta(description="How many days back", gt=0, le=3660)] = 7,
    id: Annotated[
        str, Meta(description="The id of the recipe; by default the room's name and -observed", max_length=63)
    ] = "",
) -> InferredRecipe:
    """Write a recipe that allows what agents really ran in a room. Nothing is put in force.

    Commands that ran are on the whitelist, in the folder that their paths share; what a person approved, or would have
    been asked about, still needs approval.
    """
    room = get_visible_room(ctx, in_room)
    current = ctx.services.recipes.text(room.recipe)
    if current is None:
        raise NotFound(f"The recipe {room.recipe!r} of the room {room.id} is missing.")
    inference = RecipeInference({one.name: one for one in ctx.services.registry}.get)
    now = ctx.services.clock.wall_us()
    walk = LedgerWalk(ctx, inference.add, [room.id], (now - int(days * _DAY), now + 1), _SECONDS)
    await walk.run()
    if not inference.calls:
        raise NotFound(f"No agent ran a command in the room {room.id} in the last {days:g} days.")
    name = id or _to_id(f"{room.id}-observed")
    described = f"Written from {inference.calls} calls of agents in the room {room.id} in {days:g} days."
    recipe = inference.build(strictjson.loads(current), name, f"From the ledger of {room.id}", described)
    parse_draft(name, json.dumps(recipe))
    return {"recipe": recipe, "room": room.id, "calls": inference.calls, "complete": walk.reached <= walk.span[0]}


def _to_id(text: str) -> str:
    """A recipe id as near to the text as the form of ids allows."""
    plain = re.sub(r"[^a-z0-9-]+", "-", text.lower()).strip("-")
    return (plain if plain[:1].isalpha() else f"r-{plain}")[:63]
