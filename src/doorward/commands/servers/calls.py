"""The command mcp/call, and the call of an upstream tool once it has passed the gate."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from doorward.commands.context import Context
from doorward.commands.servers.elicitation import ask_people
from doorward.commands.servers.family import ServerId, family
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import Blocks, Command, Example, NoUndo, shorten
from doorward.core.errors import CommandFailed, NotFound, Unreachable
from doorward.core.registry import Registry
from doorward.upstream.calls import CallHooks
from doorward.upstream.resources import wrap_content_uris
from doorward.upstream.tool_names import AREA, ToolKey

if TYPE_CHECKING:
    from doorward.upstream.tool_offers import ToolOffer
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
    undo=NoUndo("Doorward cannot undo what an upstream server did"),
    examples=[
        Example("get the current time from the server time", {"server": "time", "tool": "get_current_time"}),
        Example("add two numbers", {"server": "time", "tool": "add", "arguments": {"a": 1, "b": 2}}),
    ],
    related=["mcp/tools"],
    server_wide=True,
)
async def call_tool(
    ctx: Context,
    server: ServerId,
    tool: Annotated[str, Meta(description="The tool's name on its server", min_length=1, max_length=256)],
    arguments: Annotated[dict[str, Any], Meta(description="The tool's arguments; mcp/tools shows their schema")] = {},  # noqa: B006
) -> Any:
    """Call a tool of an upstream MCP server by its own name.

    The call runs as the tool's own command, so all rules, limits and approvals of that tool apply.
    """
    upstream = ctx.services.upstreams.get(server)
    await ctx.services.upstreams.discover(server)
    offers = [
        offer for offer in ctx.services.upstreams.offers_of(server) if ctx.get_ruling(offer.names.canonical).allowed
    ]
    if any(offer.definition.name == tool for offer in offers):
        raise just_started(server)
    raise_if_away(upstream)
    names = [offer.definition.name for offer in offers]
    raise NotFound(f"The server {server} has no tool {shorten(tool, 60)} for you. Tools: {join_names(names)}.")


@call_tool.aliases
def resolve_tool(registry: Registry, params: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]] | None:
    """Find the command of a tool. Its name usually follows from the tool's name; after a name clash, search for it."""
    wanted = ToolKey(params["server"], params["tool"])
    likely = f"{AREA}/{wanted.server}/{wanted.tool}"
    if likely in registry and _is_tool(registry[likely], wanted):
        found = likely
    else:
        found = next((command.name for command in registry if _is_tool(command, wanted)), "")
    return (found, params.get("arguments", {})) if found else None


def _is_tool(command: Command, wanted: ToolKey) -> bool:
    if command.category != f"{AREA}/{wanted.server}" or command.unlisted:
        return False
    offer: ToolOffer | None = getattr(command, "offer", None)
    return offer is not None and offer.key == wanted


def just_started(server: str) -> Unreachable:
    """The error for a call that came before its server had listed its tools. By now it has."""
    return Unreachable(
        f"The server {server} was still starting, so nothing was called. It is ready now.",
        hint="Send the same call again.",
        retry_after=0.0,
    )


def raise_if_away(upstream: Upstream) -> None:
    """Raise the error of a server that is away. Its tools are then unknown or incomplete."""
    absence = upstream.unavailable_error()
    if absence is not None:
        raise absence


def join_names(names: Sequence[str]) -> str:
    """Join names with commas, up to a readable number, and add how many more there are."""
    more = f" and {len(names) - _MOST_NAMED} more, see mcp/tools" if len(names) > _MOST_NAMED else ""
    return f"{', '.join(names[:_MOST_NAMED])}{more}" if names else "none"


async def call_upstream_tool(ctx: Context, offer: ToolOffer, params: Mapping[str, Any]) -> Blocks:
    """Call the tool and return the server's answer unchanged. An error answer raises CommandFailed with its content."""
    server = offer.upstream.id
    hooks = make_hooks(ctx, server)
    result = await offer.upstream.call(offer.definition, params, hooks, offer.timeout)
    blocks = Blocks(content=wrap_content_uris(server, result.content), structured_content=result.structured)
    if result.is_error:
        raise CommandFailed(
            f"The tool {offer.definition.name} of server {offer.upstream.id} returned an error.",
            hint=" ".join(hooks.remarks),
            result=blocks,
        )
    return blocks


def make_hooks(ctx: Context, server: str) -> CallHooks:
    """The hooks of a call: they receive progress and logs, and answer questions of the server."""
    execution, caller = ctx.execution, ctx.caller
    return CallHooks(
        progress=execution.progress,
        log=functools.partial(execution.log, server),
        ask=functools.partial(ask_people, ctx),
        person=(caller.tenant, caller.on_behalf_of or caller.id),
    )
