"""Commands shell/info, shell/context and shell/history."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from doorward.commands.catalogue.arguments import normalize_folder
from doorward.commands.context import Context
from doorward.commands.programs.catalogue_command import CatalogueCommand
from doorward.commands.programs.family import (
    PastCall,
    PastCalls,
    SessionId,
    ShellContext,
    ShellInfo,
    ShellSessionFacts,
    StartFolder,
    family,
)
from doorward.commands.programs.runner import find_limits
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.clock import to_iso
from doorward.core.command import READS_ONLY, Example
from doorward.sandbox.program import SandboxProfile
from doorward.sandbox.view import DRAFT_CACHES, WORKSPACE, make_environment
from doorward.store import shell_history


@family.command(
    "history",
    tier=Tier.CODE,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=10,
    undo=READS_ONLY,
    examples=[Example("what did I run last", {"limit": 5})],
    related=["shell/context"],
)
async def history(
    ctx: Context,
    limit: Annotated[int, Meta(description="Maximum number of commands, newest first", ge=1, le=500)] = 10,
    session: SessionId = "",
) -> PastCalls:
    """List your last shell commands and their outcomes, newest first, from the ledger.

    With a session, also list the lines typed in it.
    """
    past: PastCalls = {"items": await list_recent(ctx, limit)}
    if session:
        found = await ctx.services.sessions.read(ctx.caller, ctx.call.room, session)
        past["lines"] = found.history[: -limit - 1 : -1]
    return past


async def list_recent(ctx: Context, limit: int) -> list[PastCall]:
    caller = ctx.caller
    rows = await shell_history.newest(
        ctx.store, caller.tenant, caller.id, caller.on_behalf_of, room=ctx.call.room, limit=limit
    )
    return [
        {
            "call": row["call"],
            "at": to_iso(row["at"] / 1_000_000),
            "command": row["command"],
            "params": msgspec.json.decode(row["params"] or "{}"),
            "status": row["status"],
            "seconds": round(row["duration"] / 1_000_000, 6),
            "note": row["note"],
        }
        for row in rows
    ]


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
async def info(ctx: Context, session: SessionId = "") -> ShellInfo:
    """Show how programs run here: workspace, environment, limits, sandbox and number of commands."""
    house = ctx.services
    profile = ctx.sandbox_terms.profile
    level, limits, book = await house.sandbox.level(), find_limits(house.settings.sandbox, profile), house.catalogue
    shown: ShellInfo = {
        "workspace": WORKSPACE,
        "folder": ".",
        "user": "a separate user of the sandbox, without rights outside it",
        "environment": _describe_environment(ctx),
        "profile": profile,
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
            "network": house.settings.sandbox.network,
        },
        "commands": len(book.entries),
        "notInstalled": [entry.name for entry in book.missing],
        "problem": book.problem or None,
    }
    if session:
        shown["session"] = await _describe_session(ctx, session)
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
) -> ShellContext:
    """Show the context for running a program: who and where you are, and which shell commands you may run here."""
    offered = [one for one in ctx.services.offered(ctx.caller, ctx.call.room) if isinstance(one, CatalogueCommand)]
    shown: ShellContext = {
        "caller": ctx.caller.id,
        "room": ctx.call.room,
        "workspace": WORKSPACE,
        "folder": normalize_folder(folder),
        "commands": [{"command": one.name, "summary": one.summary} for one in offered],
    }
    if include_history:
        shown["history"] = await list_recent(ctx, _RECENT)
    if include_env:
        shown["environment"] = _describe_environment(ctx)
    if session:
        shown["session"] = await _describe_session(ctx, session, _RECENT if include_history else 0)
    return shown


def _describe_environment(ctx: Context) -> dict[str, str]:
    """The environment of bash in this room."""
    shown = make_environment(_TEMPORARY)
    if ctx.sandbox_terms.profile == "build":
        found = ctx.services.sandbox.find_toolchains(SandboxProfile(ctx.call.workspace, name="build"))
        shown |= {"PATH": found.path, **found.environment, **(DRAFT_CACHES if ctx.call.draft else {})}
    return shown


async def _describe_session(ctx: Context, id: str, lines: int = 0) -> ShellSessionFacts:
    """Describe a session. The values of variables are left out, since models read this."""
    found = await ctx.services.sessions.read(ctx.caller, ctx.call.room, id)
    shown: ShellSessionFacts = {
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
