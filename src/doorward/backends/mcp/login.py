"""mcp/login and mcp/logout: a person vouches for Doorward at an upstream server, or takes that back."""

from __future__ import annotations

import asyncio
from typing import Annotated, TypedDict

from msgspec import Meta

from doorward.backends.context import Context
from doorward.backends.mcp.family import ServerId, family
from doorward.command import Example, NoUndo
from doorward.errors import BadParams
from doorward.facts import Access, Effects, Safety, Tier
from doorward.upstream.config import ServerConfig


class LoggedIn(TypedDict):
    server: str
    state: Annotated[str, Meta(description="How the server is doing with what the login brought")]
    problem: Annotated[str, Meta(description="What is not as it should be all the same; empty when nothing is")]


@family.command(
    "login",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE | Effects.OPEN_WORLD,
    access=Access.ROOT,
    safety=Safety.CAUTION,
    cost=5,
    timeout=600,
    undo=NoUndo("what another server gave out is withdrawn there; mcp/logout forgets it here"),
    examples=[Example("log in at the server search", {"server": "search"})],
    related=["mcp/logout", "mcp/servers"],
    humans_only=True,
    house_wide=True,
)
async def log_in(ctx: Context, server: ServerId) -> LoggedIn:
    """Have a person log in at an upstream server: says which page to open, and waits for the browser to come back.

    The token is kept for Doorward's own calls, readable by the owner only; nobody is shown it.
    """
    config = _remote(ctx, server)

    async def show(page: str) -> None:
        ctx.execution.say(
            "stderr", f"To log in at {server}, open this page in a browser on this machine:\n\n{page}\n\n".encode()
        )
        ctx.execution.progress(None, "waiting for the browser to come back")

    await ctx.house.remote.log_in(config, show)
    upstream = await ctx.house.upstreams.restart(server)
    return {"server": server, "state": upstream.state, "problem": upstream.problem}


class LoggedOut(TypedDict):
    server: str
    forgotten: Annotated[bool, Meta(description="Whether there was a token to forget; without a login there is none")]


@family.command(
    "logout",
    tier=Tier.SYSTEM,
    effects=Effects.DESTROY,
    access=Access.ROOT,
    safety=Safety.CAUTION,
    cost=1,
    timeout=60,
    undo=NoUndo("tokens are not kept twice; mcp/login brings new ones"),
    examples=[Example("log out of the server search", {"server": "search"})],
    related=["mcp/login"],
    humans_only=True,
    house_wide=True,
)
async def log_out(ctx: Context, server: ServerId) -> LoggedOut:
    """Forget what a login at an upstream server brought. Other programs of yours stay logged in there."""
    config = _remote(ctx, server)
    forgotten = await asyncio.to_thread(ctx.house.remote.log_out, config)
    if forgotten:
        await ctx.house.upstreams.restart(server)
    return {"server": server, "forgotten": forgotten}


def _remote(ctx: Context, server: str) -> ServerConfig:
    config = ctx.house.upstreams.get(server).config
    if config.transport != "http":
        raise BadParams(
            f"The server {server!r} is a process on this machine; one logs in only at servers with a `url`."
        )
    return config
