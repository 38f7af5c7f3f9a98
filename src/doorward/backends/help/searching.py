"""The command help/search: find commands for a purpose."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from msgspec import Meta

from doorward.backends.context import Context, Listing
from doorward.backends.help.family import Offered, as_clause, family
from doorward.command import READS_ONLY, Example, shortened
from doorward.errors import BadParams, NotFound
from doorward.facts import Access, Effects, Safety, Tier

_FEW, _MANY = 5, 100
"""The default limits: for a query, and for a whole namespace."""
_MOST_FOUND = 100
"""The maximum number of hits. Later hits are not close to the query."""

Ranking = Literal["words", "words and meaning", "name"]


class Found(TypedDict):
    command: str
    summary: str
    usage: Annotated[str, Meta(description="Its parameters on one line")]
    score: Annotated[float, Meta(description="Relevance from 0 to 1")]
    reason: Annotated[str, Meta(description="Which words of the query match; empty without a query")]


class Finds(Listing[Found]):
    total: Annotated[int, Meta(description="The total number of results; at most 100 for a query")]
    next: Annotated[int | None, Meta(description="The offset of the next page; null on the last page")]
    ranking: Annotated[Ranking, Meta(description="The sort order")]


@family.command(
    "search",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=5,
    undo=READS_ONLY,
    examples=[
        Example("how do I read a file", {"query": "read a file"}),
        Example("which commands are there for files", {"namespace": "file"}),
    ],
    related=["help/describe", "help/suggest"],
)
async def search(
    ctx: Context,
    query: Annotated[str, Meta(description="What you want to do, in a few words", max_length=500)] = "",
    limit: Annotated[
        int, Meta(description="Maximum number of commands; 0 means 5, or 100 without a query", ge=0, le=100)
    ] = 0,
    namespace: Annotated[
        str,
        Meta(description="Only this namespace, such as mcp/github; without a query, all of it", max_length=100),
    ] = "",
    offset: Annotated[int, Meta(description="Offset from `next` of the previous page", ge=0, le=1_000_000)] = 0,
) -> Finds:
    """Find commands for a purpose among those you may run here, best first."""
    within = namespace.strip("/")
    if not query.strip() and not within:
        raise BadParams("help/search needs a query or a namespace. Both are empty.")
    ranking: Ranking = "name"
    if query.strip():
        await ctx.house.index.ready()
        if within and not _there(ctx, within):
            raise _nothing_there(ctx, namespace)
        hits = ctx.house.index.hits(query, Offered(ctx, within), _MOST_FOUND, ctx.caller.tenant, meaning=True)
        found = [(hit.command, hit.score, hit.why) for hit in hits]
        ranking = ctx.house.index.ranking
    else:
        found = [(name, 1.0, "") for name in _within(ctx, within)]
        if not found:
            raise _nothing_there(ctx, namespace)
    end = offset + (limit or (_FEW if query.strip() else _MANY))
    return {
        "items": [_found(ctx, *one) for one in found[offset:end]],
        "total": len(found),
        "next": end if end < len(found) else None,
        "ranking": ranking,
    }


def _within(ctx: Context, within: str) -> list[str]:
    inside = sorted(one.name for one in ctx.house.registry if one.name.startswith(f"{within}/"))
    return [name for name in inside if ctx.may(name).allowed]


def _there(ctx: Context, within: str) -> bool:
    return any(one.name.startswith(f"{within}/") and ctx.may(one.name).allowed for one in ctx.house.registry)


def _nothing_there(ctx: Context, namespace: str) -> NotFound:
    offered = ctx.house.offered(ctx.caller, ctx.call.room)
    return NotFound(f"There is no namespace {shortened(namespace)} for you here. {as_clause(offered)}.")


def _found(ctx: Context, name: str, score: float, why: str) -> Found:
    command = ctx.house.registry[name]
    return {"command": name, "summary": command.summary, "usage": command.usage, "score": score, "reason": why}
