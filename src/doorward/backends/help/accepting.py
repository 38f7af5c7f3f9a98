"""Commands help/accept and help/forget: learn from accepted suggestions, if the setting search.learn is on.

Only people can teach the search. An agent accepts its own guesses, and learning from guesses would reinforce them.
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
    why: Annotated[str, Meta(description="What was learned, or why nothing was learned")]


class Forgotten(TypedDict):
    forgotten: Annotated[int, Meta(description="The number of forgotten pairs of query and command")]


@family.command(
    "accept",
    tier=Tier.APPLICATION,
    effects=Effects.READ | Effects.WRITE,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=5,
    undo=NoUndo("forget it with help/forget"),
    examples=[Example("accept a suggestion", {"query": "show big files", "command": "file/list"})],
    related=["help/suggest", "help/forget"],
    humans_only=True,
)
async def accept(
    ctx: Context,
    query: Annotated[str, Meta(description="The query of the suggestion", min_length=1, max_length=2_000)],
    command: Annotated[str, Meta(description="The command that was right for it", min_length=1, max_length=200)],
) -> Learned:
    """Accept a suggested command, so that it ranks first next time. This needs the setting search.learn."""
    found = ctx.house.registry.resolve(command, (), private=ctx.caller.tenant == LOCAL)
    ruling = ctx.may(found.name)
    if not ruling.allowed:
        raise NotPermitted(ruling.reason, rule=ruling.rule)
    if not ctx.house.accepted.learns:
        return {"learned": False, "why": "Nothing was learned: the setting search.learn is off."}
    await ctx.house.index.ready()
    stems = ctx.house.index.known_words(query)
    if not stems:
        return {"learned": False, "why": "Nothing was learned: the query has no word that occurs in a command."}
    await ctx.house.accepted.take(ctx.caller.tenant, stems, found.name)
    return {"learned": True, "why": f"{found.name} ranks first for similar queries."}


@family.command(
    "forget",
    tier=Tier.APPLICATION,
    effects=Effects.READ | Effects.WRITE,
    access=Access.EDIT,
    safety=Safety.CAUTION,
    cost=1,
    timeout=5,
    undo=NoUndo("accept the suggestions again to relearn them"),
    examples=[Example("forget all accepted suggestions", {})],
    related=["help/accept"],
    humans_only=True,
)
async def forget(
    ctx: Context,
    command: Annotated[str, Meta(description="Only suggestions of this command; empty for all", max_length=200)] = "",
) -> Forgotten:
    """Forget the accepted suggestions of your tenant."""
    name = ctx.house.registry.resolve(command, (), private=ctx.caller.tenant == LOCAL).name if command else ""
    return {"forgotten": await ctx.house.accepted.forget(ctx.caller.tenant, name)}
