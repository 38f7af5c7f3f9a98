"""help/accept and help/forget: what people took of what was suggested to them, where the house may learn from it.

Only people teach it: what an agent takes is its own guess, and a house that learnt from guesses would come to believe
them.
"""

from __future__ import annotations

from typing import Annotated, TypedDict

from msgspec import Meta

from doorward.backends.context import Context
from doorward.backends.help.family import family
from doorward.command import Example, NoUndo
from doorward.errors import NotPermitted
from doorward.facts import Access, Effects, Safety, Tier
from doorward.rooms.people import LOCAL


class Learned(TypedDict):
    learned: bool
    why: Annotated[str, Meta(description="What is remembered now, or why nothing is")]


class Forgotten(TypedDict):
    forgotten: Annotated[int, Meta(description="How many questions with their command are forgotten now")]


@family.command(
    "accept",
    tier=Tier.APPLICATION,
    effects=Effects.READ | Effects.WRITE,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=5,
    undo=NoUndo("help/forget takes it back"),
    examples=[Example("that was what I wanted", {"query": "show big files", "command": "file/list"})],
    related=["help/suggest", "help/forget"],
    humans_only=True,
)
async def accept(
    ctx: Context,
    query: Annotated[str, Meta(description="What was asked for", min_length=1, max_length=2_000)],
    command: Annotated[str, Meta(description="The command that was taken for it", min_length=1, max_length=200)],
) -> Learned:
    """Say that a suggested command was the right one, so that it comes first next time, where that is switched on."""
    found = ctx.house.registry.resolve(command, (), private=ctx.caller.tenant == LOCAL)
    ruling = ctx.may(found.name)
    if not ruling.allowed:
        raise NotPermitted(ruling.reason, rule=ruling.rule)
    if not ctx.house.accepted.learns:
        return {"learned": False, "why": "Nothing is learned here: the setting search.learn is off."}
    await ctx.house.index.ready()
    stems = ctx.house.index.known_words(query)
    if not stems:
        return {"learned": False, "why": "Nothing is learned of it: the query has no word that any command has."}
    await ctx.house.accepted.take(ctx.caller.tenant, stems, found.name)
    return {"learned": True, "why": f"{found.name} goes before others when the like is asked for."}


@family.command(
    "forget",
    tier=Tier.APPLICATION,
    effects=Effects.READ | Effects.WRITE,
    access=Access.EDIT,
    safety=Safety.CAUTION,
    cost=1,
    timeout=5,
    undo=NoUndo("what was learned is gone, and comes back by being accepted again"),
    examples=[Example("forget what people here took", {})],
    related=["help/accept"],
    humans_only=True,
)
async def forget(
    ctx: Context,
    command: Annotated[
        str, Meta(description="Only what was taken as this command; empty for all", max_length=200)
    ] = "",
) -> Forgotten:
    """Forget what was learned from accepted suggestions by the people of your tenant."""
    name = ctx.house.registry.resolve(command, (), private=ctx.caller.tenant == LOCAL).name if command else ""
    return {"forgotten": await ctx.house.accepted.forget(ctx.caller.tenant, name)}
