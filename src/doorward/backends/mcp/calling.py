"""mcp/call, and what every call of an upstream tool does once it has passed the gate."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from doorward.backends.context import Context
from doorward.backends.mcp.family import ServerId, family
from doorward.backends.mcp.questions import asked
from doorward.command import Blocks, Command, Example, NoUndo, shortened
from doorward.errors import CommandFailed, NotFound, Unreachable
from doorward.facts import Access, Effects, Safety, Tier
from doorward.registry import Registry
from doorward.upstream.addressing import relinked
from doorward.upstream.answering import Hooks
from doorward.upstream.naming import AREA, Tool

if TYPE_CHECKING:
    from doorward.upstream.offering import ToolOffer
    from doorward.upstream.upstream import Upstream

_MOST_NAMED = 20


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
) -> Any:
    """Call a tool of an upstream MCP server by its own name.

    It is a call of the command that the tool is here, so that every rule, limit and approval of that very tool holds.
    """
    upstream = ctx.house.upstreams.get(server)
    await ctx.house.upstreams.look(server)
    offers = [offer for offer in ctx.house.upstreams.of(server) if ctx.may(offer.names.canonical).allowed]
    if any(offer.definition.name == tool for offer in offers):
        raise only_now(server)
    away(upstream)
    names = [offer.definition.name for offer in offers]
    raise NotFound(f"The server {server} has no tool {shortened(tool, 60)} for you; it has: {some(names)}.")


@call_tool.means
def tool_meant(registry: Registry, params: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]] | None:
    """The command that a tool is here. Most often its name follows from the tool's; where names were shared, it is
    looked for."""
    wanted = Tool(params["server"], params["tool"])
    likely = f"{AREA}/{wanted.server}/{wanted.tool}"
    if likely in registry and _is(registry[likely], wanted):
        found = likely
    else:
        found = next((command.name for command in registry if _is(command, wanted)), "")
    return (found, params.get("arguments", {})) if found else None


def _is(command: Command, wanted: Tool) -> bool:
    if command.category != f"{AREA}/{wanted.server}" or command.unlisted:
        return False
    offer: ToolOffer | None = getattr(command, "offer", None)
    return offer is not None and offer.tool == wanted


def only_now(server: str) -> Unreachable:
    """What a call is told that came before its server had ever said what it has; by now the server did."""
    return Unreachable(
        f"The server {server} was still starting, and is there by now; nothing was called.",
        hint="Send the same call again.",
        retry_after=0.0,
    )


def away(upstream: Upstream) -> None:
    """Say why nothing can be had of a server, where it is away: what it has is not known then, or not all of it."""
    absence = upstream.away()
    if absence is not None:
        raise absence


def some(names: Sequence[str]) -> str:
    """Names with commas between, as many as one does well to read, and how many more there are."""
    more = f" and {len(names) - _MOST_NAMED} more, see mcp/tools" if len(names) > _MOST_NAMED else ""
    return f"{', '.join(names[:_MOST_NAMED])}{more}" if names else "none"


async def called(ctx: Context, offer: ToolOffer, params: Mapping[str, Any]) -> Blocks:
    """What the server answers, as it came. An answer that calls itself an error is a failure with the same content."""
    server = offer.upstream.id
    hooks = hooks_for(ctx, server)
    result = await offer.upstream.call(offer.definition, params, hooks, offer.timeout)
    blocks = Blocks(content=relinked(server, result.content), structured_content=result.structured)
    if result.is_error:
        raise CommandFailed(
            f"The tool {offer.definition.name} of server {offer.upstream.id} answered that it failed.",
            hint=" ".join(hooks.remarks),
            result=blocks,
        )
    return blocks


def hooks_for(ctx: Context, server: str) -> Hooks:
    """How a call hears of what goes on at its server, and answers what the server asks meanwhile."""
    execution, caller = ctx.execution, ctx.caller
    return Hooks(
        progress=execution.progress,
        log=functools.partial(execution.log, server),
        ask=functools.partial(asked, ctx),
        person=(caller.tenant, caller.on_behalf_of or caller.id),
    )
