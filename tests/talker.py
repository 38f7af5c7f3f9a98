"""A plugin for real processes: a command that connects to the test and does what the test tells it to.

The connection is the proof: it opens when the command runs, and closes when the command has ended, however it ended.
"""

from __future__ import annotations

import asyncio
import json
from typing import Annotated, Any

from msgspec import Meta

from doorward.commands.context import Context
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import Example, Family, NoUndo
from doorward.core.errors import CommandFailed

family = Family("talk", category="test")


@family.command(
    "live",
    tier=Tier.CODE,
    effects=Effects.WRITE,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=600,
    undo=NoUndo("a test"),
    examples=[Example("try it", {"port": 1})],
)
async def live(
    ctx: Context,
    port: Annotated[int, Meta(description="Where the test listens")],
    note: Annotated[str, Meta(description="Anything, to tell one call from another")] = "",
) -> dict[str, Any]:
    """Do what the test says."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=10_000_000)
    said = {"stdout": "", "stderr": ""}
    deaf = False
    try:
        while True:
            try:
                order, *rest = json.loads(await reader.readline())
            except asyncio.CancelledError:
                if not deaf:
                    raise
                continue
            if order == "deaf":
                deaf = True
            elif order in said:
                said[order] += rest[0]
                ctx.execution.write(order, rest[0].encode())
            elif order == "progress":
                ctx.execution.progress(*rest)
            else:
                result = {"argv": ["talk"], "exitCode": rest[0], **said, "seconds": 0.0, "sandbox": "full"}
                if rest[0]:
                    raise CommandFailed(f"talk ended with exit code {rest[0]}.", result=result)
                return result
            writer.write(b"done\n")
    finally:
        writer.close()
