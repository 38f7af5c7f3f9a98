"""mcp/read and mcp/prompt: what servers have beside tools, for callers that have no method of their own for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta

from doorward.backends.context import Context
from doorward.backends.mcp.calling import away, only_now
from doorward.backends.mcp.family import family
from doorward.command import READS_ONLY, Example, shortened
from doorward.errors import BadParams, NotFound
from doorward.facts import Access, Effects, Safety, Tier
from doorward.registry import Registry
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
) -> Any:
    """Read a resource of an MCP server, such as one that a tool gave a link to.

    It is a call of that server's own command for this, so that every rule, limit and approval of the server holds.
    """
    await _missing(ctx, _addressed(uri, server)[0], READ, "resources")


@read_resource.means
def resource_meant(registry: Registry, params: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]] | None:
    of, own = _addressed(params["uri"], params.get("server", ""))
    return _meant(registry, of, READ, {"uri": own})


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
) -> Any:
    """Get a prompt of an MCP server, filled in.

    It is a call of that server's own command for this, so that every rule, limit and approval of the server holds.
    """
    await _missing(ctx, server, PROMPT, "prompts")


@get_prompt.means
def prompt_meant(registry: Registry, params: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]] | None:
    given = {"arguments": params["arguments"]} if params.get("arguments") else {}
    return _meant(registry, params["server"], PROMPT, {"name": params["name"], **given})


def _addressed(uri: str, server: str) -> tuple[str, str]:
    """The server that has a resource, and the address there."""
    found = unwrapped(uri)
    if found is None and not server:
        raise BadParams("mcp/read: uri must be mcp://SERVER/… as a link has it, or server must be given beside it.")
    return found if found is not None and server in ("", found[0]) else (server, uri)


def _meant(
    registry: Registry, server: str, what: str, params: Mapping[str, Any]
) -> tuple[str, Mapping[str, Any]] | None:
    command = names(server, what).canonical
    return (command, params) if command in registry else None


async def _missing(ctx: Context, server: str, what: str, kind: str) -> None:
    """Say why a server's own command is not there. A server that nobody has started yet is started."""
    upstream = next((one for one in ctx.house.upstreams if one.id == server), None)
    if upstream is not None:
        if upstream.config.enabled:
            await upstream.up()
            ctx.house.upstreams.refresh()
        command = names(server, what).canonical
        if command in ctx.house.registry and ctx.may(command).allowed:
            raise only_now(server)
        away(upstream)
    raise NotFound(f"There is no server {shortened(server, 60)} with {kind} that its operator offers.")
