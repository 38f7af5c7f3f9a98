"""A look at a server over a connection of its own, which is ended again."""

from __future__ import annotations

import msgspec

from doorward.upstream.upstream import Upstream


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """What was found."""

    ok: bool
    problem: str
    calls_itself: str
    protocol_version: str
    tools: tuple[str, ...]
    resources: int
    prompts: int
    log: tuple[str, ...]


async def tried(upstream: Upstream) -> Trial:
    """Start a server that nobody else knows, look what it offers, and leave nothing of it."""
    server = upstream.server
    try:
        await upstream.up()
        return Trial(
            ok=server.state == "ready",
            problem=upstream.problem,
            calls_itself=upstream.calls_itself,
            protocol_version=server.info.protocol,
            tools=tuple(one.name for one in server.definitions),
            resources=len(server.resources) + len(server.resource_templates),
            prompts=len(server.prompts),
            log=server.log[-20:],
        )
    finally:
        await server.stop()
