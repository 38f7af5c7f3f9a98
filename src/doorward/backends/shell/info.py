"""Commands shell/info and shell/context."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from doorward.backends.context import Context
from doorward.backends.shell.catalogue_command import CatalogueCommand
from doorward.backends.shell.family import SessionId, StartFolder, family
from doorward.backends.shell.history import recent
from doorward.backends.shell.shapes import Info, InSession, Surroundings
from doorward.catalogue.paths import folder_inside
from doorward.command import READS_ONLY, Example
from doorward.facts import Access, Effects, Safety, Tier
from doorward.sandbox.view import WORKSPACE, environment

_TEMPORARY = "/tmp"  # noqa: S108 - the path inside the sandbox, where each program has its own
_RECENT = 10


@family.command(
    "info",
    tier=Tier.CODE,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=30,
    undo=READS_ONLY,
    examples=[Example("where do programs run, and with which limits", {})],
    related=["shell/context", "system/status"],
)
async def info(ctx: Context, session: SessionId = "") -> Info:
    """Show how programs run here: workspace, environment, limits, sandbox and number of commands."""
    house = ctx.house
    level, limits, book = await house.sandbox.level(), house.settings.sandbox, house.catalogue
    shown: Info = {
        "workspace": WORKSPACE,
        "folder": ".",
        "user": "a separate user of the sandbox, without rights outside it",
        "environment": environment(_TEMPORARY),
        "sandbox": level.word,
        "missing": list(level.missing),
        "limits": {
            "seconds": limits.wall_seconds,
            "cpuSeconds": limits.cpu_seconds,
            "memoryBytes": limits.memory_bytes,
            "processes": limits.processes,
            "fileBytes": limits.file_bytes,
            "descriptors": limits.descriptors,
            "outputBytes": limits.output_bytes,
            "network": limits.network,
        },
        "commands": len(book.entries),
        "notInstalled": [entry.name for entry in book.missing],
        "problem": book.problem or None,
    }
    if session:
        shown["session"] = await _in_session(ctx, session)
    return shown


@family.command(
    "context",
    tier=Tier.CODE,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=30,
    undo=READS_ONLY,
    examples=[Example("what can I run here, and what did I run last", {"includeHistory": True})],
    related=["shell/info", "shell/history", "help/search"],
)
async def context(
    ctx: Context,
    include_history: Annotated[bool, Meta(description="Include your last shell commands")] = True,
    include_env: Annotated[bool, Meta(description="Include the environment of programs")] = False,
    folder: StartFolder = ".",
    session: SessionId = "",
) -> Surroundings:
    """Show the context for running a program: who and where you are, and which shell commands you may run here."""
    offered = [one for one in ctx.house.offered(ctx.caller, ctx.call.room) if isinstance(one, CatalogueCommand)]
    shown: Surroundings = {
        "caller": ctx.caller.id,
        "room": ctx.call.room,
        "workspace": WORKSPACE,
        "folder": folder_inside(folder),
        "commands": [{"command": one.name, "summary": one.summary} for one in offered],
    }
    if include_history:
        shown["history"] = await recent(ctx, _RECENT)
    if include_env:
        shown["environment"] = environment(_TEMPORARY)
    if session:
        shown["session"] = await _in_session(ctx, session, _RECENT if include_history else 0)
    return shown


async def _in_session(ctx: Context, id: str, lines: int = 0) -> InSession:
    """Describe a session. The values of variables are left out, since models read this."""
    found = await ctx.house.sessions.look(ctx.caller, ctx.call.room, id)
    shown: InSession = {
        "session": found.id,
        "cwd": found.cwd,
        "home": found.home,
        "status": found.status,
        "variables": sorted(found.env),
        "aliases": dict(found.aliases),
    }
    if lines:
        shown["lines"] = found.history[: -lines - 1 : -1]
    return shown
