"""Test connections: start a server separately, see what it offers, and stop it."""

from __future__ import annotations

import msgspec

from doorward.upstream.config import ServerConfig
from doorward.upstream.upstream import Make, Upstream


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a test connection."""

    ok: bool
    problem: str
    calls_itself: str = ""
    protocol_version: str = ""
    tools: tuple[str, ...] = ()
    resources: int = 0
    prompts: int = 0
    log: tuple[str, ...] = ()


async def tried(config: ServerConfig, make: Make) -> Trial:
    """Start a separate instance of a server, see what it offers, and stop it.

    This works for disabled servers too, so that people can test one before they enable it.
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
    """Why it is not ready. A silent server may not even have ended when its time is over."""
    seconds = upstream.config.start_seconds
    silent = (
        f"The server {upstream.id} did not start within {seconds:g} seconds. If it needs longer to start, set a larger"
        " startSeconds."
    )
    return upstream.problem or upstream.server.stats().last_error or silent
