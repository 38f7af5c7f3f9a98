"""mcp/call, and what every call of an upstream tool does once it has passed the gate."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, TypedDict, cast

from msgspec import Meta

from doorward.backends.context import Context
from doorward.backends.mcp.family import ServerId, family
from doorward.backends.mcp.questions import asked
from doorward.command import Blocks, Example, NoUndo
from doorward.errors import CommandFailed, NotFound
from doorward.facts import Access, Effects, Safety, Tier
from doorward.upstream.addressing import relinked
from doorward.upstream.answering import Hooks

if TYPE_CHECKING:
    from doorward.upstream.offering import ToolOffer


class Called(TypedDict, total=False):
    """A tool's answer is of its server's making, so nothing more can be said of it."""

    content: Annotated[Any, Meta(description="What the tool gave: texts, images, sounds, links, resources")]
    structuredContent: Annotated[Any, Meta(description="The same for programs, where the server gives that")]


@family.command(
    "call",
    tier=Tier.SYSTEM,
    effects=Effects.READ | Effects.WRITE | Effects.DESTROY | Effects.OPEN_WORLD,
    access=Access.READ,
    safety=Safety.CAUTION,
    cost=1,
    timeout=86_400,
    undo=NoUndo("what a server of others did cannot be taken back from here"),
    examples=[
        Example("what time is it, by the server called time", {"server": "time", "tool": "get_current_time"}),
        Example("add two numbers there", {"server": "time", "tool": "add", "arguments": {"a": 1, "b": 2}}),
    ],
    related=["mcp/tools"],
    house_wide=True,
)
async def call_tool(
    ctx: Context,
    server: ServerId,
    tool: Annotated[str, Meta(description="The tool's name at its server", min_length=1, max_length=256)],
    arguments: Annotated[dict[str, Any], Meta(description="What the tool is given; mcp/tools shows its schema")] = {},  # noqa: B006
) -> Called:
    """Call a tool of an upstream MCP server by its own name.

    It runs as the command that the tool is here, so that every rule, limit and approval of that very tool holds.
    """
    ctx.house.upstreams.get(server)
    await ctx.house.upstreams.look(server)
    offers = ctx.house.upstreams.of(server)
    found = next((offer.names.canonical for offer in offers if offer.definition.name == tool), None)
    if found is None or not (ctx.may(found).allowed or ctx.caller.kind == "human"):
        names = [offer.definition.name for offer in offers if ctx.may(offer.names.canonical).allowed]
        raise NotFound(
            f"The server {server} has no tool {tool[:60]!r} for you; it has: {', '.join(names[:20]) or 'none'}."
        )
    ctx.execution.transparent = True
    outcome = await ctx.house.ask(ctx.call, found, arguments)
    if outcome.status == "done":
        return cast("Called", outcome.result)
    if outcome.status == "parked":
        raise CommandFailed(
            f"{found} waits for a person's approval, ticket {outcome.ticket}; nothing was called yet.",
            hint="Once it is approved, resume that call by itself with its ticket.",
            result={"ticket": outcome.ticket, "command": found, "call": outcome.call},
        )
    raise CommandFailed(outcome.message, hint=outcome.hint, result=outcome.result)


async def called(ctx: Context, offer: ToolOffer, params: Mapping[str, Any]) -> Blocks:
    """What the server answers, as it came. An answer that calls itself an error is a failure with the same content."""
    server = offer.upstream.id
    result = await offer.upstream.call(offer.definition, params, hooks_for(ctx, server), offer.timeout)
    blocks = Blocks(content=relinked(server, result.content), structured_content=result.structured)
    if result.is_error:
        raise CommandFailed(
            f"The tool {offer.definition.name} of server {offer.upstream.id} answered that it failed.", result=blocks
        )
    return blocks


def hooks_for(ctx: Context, server: str) -> Hooks:
    """How a call hears of what goes on at its server, and answers what the server asks meanwhile."""
    execution = ctx.execution
    return Hooks(
        progress=execution.progress,
        log=functools.partial(execution.log, server),
        ask=functools.partial(asked, ctx),
    )
