"""Commands session/*: a caller's shell sessions."""

from __future__ import annotations

from typing import Annotated, TypedDict

from msgspec import Meta

from doorward.commands.context import Context, Listing, make_listing
from doorward.core import redact
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.clock import to_iso
from doorward.core.command import READS_ONLY, Example, Family, NoUndo
from doorward.shell.session import ShellSession

family = Family("session", category="session shell")

SessionIdParameter = Annotated[
    str, Meta(description="The id of the session, from session/list", min_length=1, max_length=64)
]
_RECENT = 50
_EXAMPLE = {"session": "01k9x2m4q7ab3cde"}


class SessionSummary(TypedDict):
    session: Annotated[str, Meta(description="The id, to continue the session")]
    room: Annotated[str, Meta(description="The room it was opened in; empty: outside rooms")]
    cwd: Annotated[str, Meta(description="The current folder in the virtual file tree")]
    used: Annotated[str, Meta(description="Time of the last use")]
    lines: Annotated[int, Meta(description="Number of lines in its history")]


class SessionDetails(SessionSummary):
    home: Annotated[str, Meta(description="The folder that ~ stands for")]
    status: Annotated[int, Meta(description="The exit code of its last line")]
    variables: Annotated[dict[str, str], Meta(description="The variables; values of secret names are hidden")]
    aliases: dict[str, str]
    history: Annotated[list[str], Meta(description="Its last lines, oldest first")]
    asked: Annotated[int, Meta(description="Number of remembered requests to the keeper")]
    mounts: Annotated[dict[str, str], Meta(description="The top-level folders of the virtual file tree")]


class SessionDeleted(TypedDict):
    session: str
    ended: bool


@family.command(
    "list",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=0,
    timeout=10,
    undo=READS_ONLY,
    examples=[Example("which sessions of the shell do I have", {})],
    related=["session/show", "session/end", "shell/script"],
    is_status_poll=True,
)
async def list_(ctx: Context) -> Listing[SessionSummary]:
    """List your own shell sessions, the last used first."""
    return make_listing([_summary(one) for one in await ctx.services.sessions.list_own(ctx.caller)])


@family.command(
    "open",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=0,
    timeout=10,
    undo=READS_ONLY,
    examples=[Example("begin a session of the shell", {})],
    related=["session/list", "shell/script"],
    is_status_poll=True,
)
async def open_(
    ctx: Context,
    session: Annotated[str, Meta(description="The id of the session to show; empty: a new one", max_length=64)] = "",
) -> SessionDetails:
    """Open a new shell session here, or show one of yours; only you can use it.

    Nobody else sees what a session remembers, so opening one changes nothing for others.
    """
    if session:
        return await _show(ctx, session)
    found = await ctx.services.sessions.open(ctx.caller, ctx.call.room)
    await ctx.services.sessions.save(found)
    return _details(found)


@family.command(
    "show",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=0,
    timeout=10,
    undo=READS_ONLY,
    examples=[Example("what does this session remember", _EXAMPLE)],
    related=["session/list", "shell/history"],
    is_status_poll=True,
)
async def show(ctx: Context, session: SessionIdParameter) -> SessionDetails:
    """Show one of your sessions: its folder, variables, aliases and last lines."""
    return await _show(ctx, session)


@family.command(
    "end",
    tier=Tier.CODE,
    effects=Effects.READ | Effects.WRITE,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=0,
    timeout=10,
    undo=NoUndo("the content of a session is deleted with it; a new one starts empty"),
    examples=[Example("forget this session", _EXAMPLE)],
    related=["session/list"],
)
async def end(ctx: Context, session: SessionIdParameter) -> SessionDeleted:
    """Delete one of your sessions, with its variables, history and conversation."""
    await ctx.services.sessions.delete(ctx.caller, session)
    return {"session": session, "ended": True}


async def _show(ctx: Context, session: str) -> SessionDetails:
    return _details(await ctx.services.sessions.read(ctx.caller, ctx.call.room, session))


def _details(found: ShellSession) -> SessionDetails:
    return {
        **_summary(found),
        "home": found.home,
        "status": found.status,
        "variables": {
            name: redact.HIDDEN if redact.is_secret_name(name) else redact.text(value)
            for name, value in found.env.items()
        },
        "aliases": dict(found.aliases),
        "history": found.history[-_RECENT:],
        "asked": len(found.talk),
        "mounts": found.mounts,
    }


def _summary(session: ShellSession) -> SessionSummary:
    return {
        "session": session.id,
        "room": session.room,
        "cwd": session.cwd,
        "used": to_iso(session.used_at),
        "lines": len(session.history),
    }
