"""The tools of the conformance suite that are real commands: they run through the gate and leave a record."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from doorward.commands.context import Context
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import READS_ONLY, Example, Family, NoUndo
from doorward.core.errors import CommandFailed

family = Family("test", category="conformance")

_APART = 0.15
"""Seconds between two pieces of news that shall not go out as one: clients are told at most ten times a second."""

_COMMON: dict[str, Any] = {
    "access": Access.READ,
    "safety": Safety.SAFE,
    "cost": 1,
    "timeout": 60,
    "examples": [Example("try it", {})],
}
_READS = {"tier": Tier.INFORMATION, "effects": Effects.READ, "undo": READS_ONLY, **_COMMON}
_WRITES = {"tier": Tier.CODE, "effects": Effects.WRITE, "undo": NoUndo("it is a test"), **_COMMON}


@family.command("simple_text", **_READS)
async def simple_text(ctx: Context) -> str:
    """Answer with a text."""
    return "A plain text, as asked."


@family.command("error_handling", **_READS)
async def error_handling(ctx: Context) -> str:
    """Fail, always."""
    raise CommandFailed("It was asked to fail, and did.")


@family.command("tool_with_progress", **_READS)
async def tool_with_progress(ctx: Context) -> str:
    """Say three times how far it is."""
    for fraction in (0.0, 0.5, 1.0):
        ctx.execution.progress(fraction)
        await asyncio.sleep(_APART)
    return "Done in three steps."


@family.command("tool_with_logging", **_READS)
async def tool_with_logging(ctx: Context) -> str:
    """Write three lines, which a client that asked for messages gets as such."""
    for line in ("It begins.", "It goes on.", "It ends."):
        ctx.execution.write("stdout", f"{line}\n".encode())
        await asyncio.sleep(_APART)
    return "Wrote three lines."


@family.command("logging_tool", **_READS)
async def logging_tool(ctx: Context) -> str:
    """Write a line, which must not become a message to a client that asked for none."""
    ctx.execution.write("stdout", b"Nobody asked for this.\n")
    return "Wrote a line."


@family.command("trigger_tool_change", **_WRITES)
async def trigger_tool_change(ctx: Context) -> str:
    """Edit the catalogue as a person might: a program comes, or goes again."""
    file = ctx.services.catalogue.file
    catalogue = json.loads(await asyncio.to_thread(file.read_text))
    kept = [entry for entry in catalogue["commands"] if entry["name"] != "comes_and_goes"]
    if len(kept) == len(catalogue["commands"]):
        kept.append({"name": "comes_and_goes", "summary": "Do nothing.", "program": "true"})
    await asyncio.to_thread(file.write_text, json.dumps({**catalogue, "commands": kept}))
    await ctx.services.catalogue.load()
    return "The tools have changed."


@family.command("trigger_prompt_change", **_WRITES)
async def trigger_prompt_change(ctx: Context) -> str:
    """Edit the recipe of the room as a person might: prompts are named after its rules."""
    room = ctx.services.rooms.get(ctx.caller.tenant, ctx.call.room)
    assert room is not None
    file = ctx.services.home / "recipes" / f"{room.recipe}.json"
    recipe = json.loads(await asyncio.to_thread(file.read_text))
    recipe["displayName"] = f"Conformance, {ctx.call.id}"
    await asyncio.to_thread(file.write_text, json.dumps(recipe))
    await ctx.services.recipes.load()
    return "The prompts have changed."
