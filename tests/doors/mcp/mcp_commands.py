"""Commands that only these tests have: they end, fail, hang, write and count when told to."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from msgspec import Meta

from doorward.commands.context import Context
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import READS_ONLY, Example, Family, NoUndo
from doorward.core.errors import CommandFailed, TooFast

family = Family("probe", category="probes")
_FACTS: dict[str, Any] = {"access": Access.READ, "safety": Safety.SAFE, "cost": 1, "timeout": 60}
_READS = {"tier": Tier.INFORMATION, "effects": Effects.READ, "undo": READS_ONLY, **_FACTS}
_WRITES = {"tier": Tier.CODE, "undo": NoUndo("it is a test"), **_FACTS}

Words = Annotated[str, Meta(description="Some words", max_length=2_000_000)]


@family.command("echo", **_READS, examples=[Example("say hello", {"text": "hello"})])
async def echo(ctx: Context, text: Words) -> dict[str, str]:
    """Give a text back."""
    return {"text": text}


@family.command("number", **_READS, examples=[Example("a number", {})])
async def number(ctx: Context) -> int:
    """Give a number, which is no object."""
    return 42


@family.command("fail", **_READS, examples=[Example("fail", {})])
async def fail(ctx: Context) -> dict[str, str]:
    """Fail."""
    raise CommandFailed("It went wrong.", hint="Try another.")


@family.command("refuse", **_READS, examples=[Example("refuse", {})])
async def refuse(ctx: Context) -> dict[str, str]:
    """Say that it is too early."""
    raise TooFast("Too early.", retry_after=7.0)


@family.command("hang", **_READS, examples=[Example("hang", {})])
async def hang(ctx: Context) -> dict[str, str]:
    """Never end by itself."""
    ctx.execution.write("stdout", b"it hangs\n")
    await asyncio.Event().wait()
    return {}


@family.command("talk", **_READS, examples=[Example("talk", {"lines": 3})])
async def talk(ctx: Context, lines: Annotated[int, Meta(description="How many lines", ge=1, le=100_000)]) -> str:
    """Write lines, and say how far it is."""
    for at in range(lines):
        ctx.execution.write("stdout", f"line {at}\n".encode())
        ctx.execution.progress((at + 1) / lines, f"at {at + 1}")
        await asyncio.sleep(0)
    return "done"


@family.command("write", **_WRITES, effects=Effects.WRITE, examples=[Example("write", {})])
async def write(ctx: Context) -> dict[str, bool]:
    """Change something that is not there."""
    return {"written": True}


@family.command("wreck", **_WRITES, effects=Effects.DESTROY | Effects.OPEN_WORLD, examples=[Example("wreck", {})])
async def wreck(ctx: Context) -> dict[str, bool]:
    """Destroy something that is not there."""
    return {"wrecked": True}
