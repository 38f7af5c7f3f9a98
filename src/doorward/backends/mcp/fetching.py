"""mcp/read and mcp/prompt: what servers have beside tools, for callers that have no method of their own for it."""

from __future__ import annotations

from typing import Annotated, Any, cast

from msgspec import Meta

from doorward.backends.context import Context
from doorward.backends.mcp.calling import Called
from doorward.backends.mcp.family import family
from doorward.command import READS_ONLY, Example
from doorward.errors import BadParams, CommandFailed, NotFound
from doorward.facts import Access, Effects, Safety, Tier
from doorward.upstream.addressing import unwrapped
from doorward.upstream.readable import PROMPT, READ, names

_LONGEST = 86_400
Server = Annotated[str, Meta(description="The server's id", max_length=60)]


@family.command(
    "read",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=_LONGEST,
    undo=READS_ONLY,
    examples=[Example("read what a tool gave a link to", {"uri": "mcp://notes/note:///today"})],
    related=["mcp/prompt"],
    house_wide=True,
)
async def read_resource(
    ctx: Context,
    uri: Annotated[
        str, Meta(description="Its address: mcp://SERVER/… as a link has it", min_length=1, max_length=8192)
    ],
    server: Server = "",
) -> Called:
    """Read a resource of an MCP server, such as one that a tool gave a link to.

    It runs as that server's own command for this, so that every rule, limit and approval of the server holds.
    """
    found = unwrapped(uri)
    if found is None and not server:
        raise BadParams("mcp/read: uri must be mcp://SERVER/… as a link has it, or server must be given beside it.")
    of, own = found if found is not None and server in ("", found[0]) else (server, uri)
    return await _asked(ctx, of, READ, {"uri": own}, "resources")


@family.command(
    "prompt",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=_LONGEST,
    undo=READS_ONLY,
    examples=[Example("the prompt for a review", {"server": "notes", "name": "review", "arguments": {"file": "a.py"}})],
    related=["mcp/read"],
    house_wide=True,
)
async def get_prompt(
    ctx: Context,
    server: Server,
    name: Annotated[str, Meta(description="The prompt's name at its server", min_length=1, max_length=256)],
    arguments: Annotated[dict[str, str] | None, Meta(description="Its arguments, as texts by name")] = None,
) -> Called:
    """Get a prompt of an MCP server, filled in.

    It runs as that server's own command for this, so that every rule, limit and approval of the server holds.
    """
    params = {"name": name, **({"arguments": arguments} if arguments else {})}
    return await _asked(ctx, server, PROMPT, params, "prompts")


async def _asked(ctx: Context, server: str, what: str, params: dict[str, Any], kind: str) -> Called:
    """The same by the server's own command, inside this one. A server that nobody has started yet is started."""
    command = names(server, what).canonical
    upstream = next((one for one in ctx.house.upstreams if one.id == server and one.config.enabled), None)
    if upstream is not None and command not in ctx.house.registry:
        await upstream.up()
        ctx.house.upstreams.refresh()
    if command not in ctx.house.registry:
        raise NotFound(f"There is no server {server[:60]!r} with {kind} that its operator offers.")
    ctx.execution.transparent = True
    outcome = await ctx.house.ask(ctx.call, command, params)
    if outcome.status == "done":
        return cast("Called", outcome.result)
    if outcome.status == "parked":
        raise CommandFailed(
            f"{command} waits for a person's approval, ticket {outcome.ticket}; nothing was read yet.",
            hint="Once it is approved, resume that call by itself with its ticket.",
            result={"ticket": outcome.ticket, "command": command, "call": outcome.call},
        )
    raise CommandFailed(outcome.message, hint=outcome.hint, result=outcome.result)
