"""A look at a server over a connection of its own, which is ended again."""

from __future__ import annotations

import msgspec

from doorward.upstream.config import ServerConfig
from doorward.upstream.upstream import Make, Upstream


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """What was found."""

    ok: bool
    problem: str
    calls_itself: str = ""
    protocol_version: str = ""
    tools: tuple[str, ...] = ()
    resources: int = 0
    prompts: int = 0
    log: tuple[str, ...] = ()


async def tried(config: ServerConfig, make: Make) -> Trial:
    """Start a server that nobody else knows, look what it offers, and leave nothing of it.

    One that is disabled is tried as well, so that people can see whether it works before they enable it.
    """
    if config.lacks:
        return Trial(ok=False, problem=config.lacks)
    upstream = Upstream(msgspec.structs.replace(config, enabled=True), make, Upstream.changed, ())
    server = upstream.server
    try:
        await upstream.up()
        return Trial(
            ok=server.state == "ready",
            problem=upstream.problem if server.state == "ready" else _why_not(upstream),
            calls_itself=upstream.calls_itself,
            protocol_version=server.info.protocol,
            tools=tuple(one.name for one in server.definitions),
            resources=len(server.resources) + len(server.resource_templates),
            prompts=len(server.prompts),
            log=server.log[-20:],
        )
    finally:
        await server.stop()


def _why_not(upstream: Upstream) -> str:
    """Why it is not ready; one that says nothing may not even have ended when the time for it is over."""
    seconds = upstream.config.start_seconds
    silent = (
        f"The server {upstream.id} did not say within {seconds:g} seconds what it can do. If it needs longer to start,"
        " give it a larger startSeconds."
    )
    return upstream.problem or upstream.server.stats().last_error or silent
