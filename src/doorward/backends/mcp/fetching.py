"""Commands mcp/read and mcp/prompt: resources and prompts, for callers without MCP methods of their own for them."""

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
    examples=[Example("read a resource that a tool linked to", {"uri": "mcp://notes/note:///today"})],
    related=["mcp/prompt"],
    house_wide=True,
)
async def read_resource(
    ctx: Context,
    uri: Annotated[
        str, Meta(description="The resource's URI, such as mcp://SERVER/… in a link", min_length=1, max_length=8192)
    ],
    server: Server = "",
) -> Any:
    """Read a resource of an upstream MCP server, such as one that a tool linked to.

    It runs as the server's own read command, so all rules, limits and approvals of the server apply.
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
    examples=[Example("get the review prompt", {"server": "notes", "name": "review", "arguments": {"file": "a.py"}})],
    related=["mcp/read"],
    house_wide=True,
)
async def get_prompt(
    ctx: Context,
    server: Server,
    name: Annotated[str, Meta(description="The prompt's name on its server", min_length=1, max_length=256)],
    arguments: Annotated[dict[str, str] | None, Meta(description="The prompt's arguments by name")] = None,
) -> Any:
    """Get a prompt of an upstream MCP server, with its arguments filled in.

    It runs as the server's own prompt command, so all rules, limits and approvals of the server apply.
    """
    await _missing(ctx, server, PROMPT, "prompts")


@get_prompt.means
def prompt_meant(registry: Registry, params: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]] | None:
    given = {"arguments": params["arguments"]} if params.get("arguments") else {}
    return _meant(registry, params["server"], PROMPT, {"name": params["name"], **given})


def _addressed(uri: str, server: str) -> tuple[str, str]:
    """The server of a resource, and the URI on that server."""
    found = unwrapped(uri)
    if found is None and not server:
        raise BadParams("mcp/read: give uri as mcp://SERVER/…, as in a link, or give server as well.")
    return found if found is not None and server in ("", found[0]) else (server, uri)


def _meant(
    registry: Registry, server: str, what: str, params: Mapping[str, Any]
) -> tuple[str, Mapping[str, Any]] | None:
    command = names(server, what).canonical
    return (command, params) if command in registry else None


async def _missing(ctx: Context, server: str, what: str, kind: str) -> None:
    """Raise the error for a missing command of a server. A server that has not been started yet is started first."""
    upstream = next((one for one in ctx.house.upstreams if one.id == server), None)
    if upstream is not None:
        if upstream.config.enabled:
            await upstream.up()
            ctx.house.upstreams.refresh()
        command = names(server, what).canonical
        if command in ctx.house.registry and ctx.may(command).allowed:
            raise only_now(server)
        away(upstream)
    raise NotFound(f"There is no server {shortened(server, 60)} that offers {kind}.")
