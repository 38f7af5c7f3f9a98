"""Commands mcp/login and mcp/logout: log Doorward in to a remote upstream server, or out of it."""

from __future__ import annotations

import asyncio
from typing import Annotated, TypedDict

from msgspec import Meta

from doorward.commands.context import Context
from doorward.commands.servers.family import ServerId, family
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import Example, NoUndo
from doorward.core.errors import BadParams
from doorward.upstream.config import ServerConfig


class LoginResult(TypedDict):
    server: str
    state: Annotated[str, Meta(description="The state of the server after the login")]
    problem: Annotated[str, Meta(description="The current problem of the server; empty if there is none")]


@family.command(
    "login",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE | Effects.OPEN_WORLD,
    access=Access.ROOT,
    safety=Safety.CAUTION,
    cost=5,
    timeout=600,
    undo=NoUndo("mcp/logout deletes the token here; revoke it on the other server"),
    examples=[Example("log in to the server search", {"server": "search"})],
    related=["mcp/logout", "mcp/servers"],
    humans_only=True,
    server_wide=True,
    widens_access=True,
)
async def log_in(ctx: Context, server: ServerId) -> LoginResult:
    """Log in to an upstream MCP server: show the page to open in a browser, and wait for the login.

    Doorward stores the token for its own calls. Only the owner can read it, and it is never shown.
    """
    config = _remote_config(ctx, server)

    async def show(page: str) -> None:
        ctx.execution.write(
            "stderr", f"To log in to {server}, open this page in a browser on this machine:\n\n{page}\n\n".encode()
        )
        ctx.execution.progress(None, "waiting for the login in the browser")

    await ctx.services.remote.log_in(config, show)
    upstream = await ctx.services.upstreams.restart(server)
    return {"server": server, "state": upstream.state, "problem": upstream.problem}


class LogoutResult(TypedDict):
    server: str
    forgotten: Annotated[bool, Meta(description="Whether a token was deleted; false if there was no login")]


@family.command(
    "logout",
    tier=Tier.SYSTEM,
    effects=Effects.DESTROY,
    access=Access.ROOT,
    safety=Safety.CAUTION,
    cost=1,
    timeout=60,
    undo=NoUndo("the token is deleted; log in again with mcp/login"),
    examples=[Example("log out of the server search", {"server": "search"})],
    related=["mcp/login"],
    humans_only=True,
    server_wide=True,
)
async def log_out(ctx: Context, server: ServerId) -> LogoutResult:
    """Log out of an upstream MCP server and delete the token. Your other programs stay logged in there."""
    config = _remote_config(ctx, server)
    forgotten = await asyncio.to_thread(ctx.services.remote.log_out, config)
    if forgotten:
        await ctx.services.upstreams.restart(server)
    return {"server": server, "forgotten": forgotten}


def _remote_config(ctx: Context, server: str) -> ServerConfig:
    config = ctx.services.upstreams.get(server).config
    if config.transport != "http":
        raise BadParams(
            f"The server {server!r} is a process on this machine. You can log in only to servers with a `url`."
        )
    return config
