"""session/*: the sessions of the shell that somebody has."""

from __future__ import annotations

from typing import Annotated, TypedDict

from msgspec import Meta

from doorward import redact
from doorward.backends.context import Context, Listing, listing
from doorward.backends.session.session import Session
from doorward.clock import iso
from doorward.command import READS_ONLY, Example, Family, NoUndo
from doorward.facts import Access, Effects, Safety, Tier

family = Family("session", category="session shell")

Id = Annotated[str, Meta(description="The session, as session/list shows it", min_length=1, max_length=64)]
_RECENT = 50
_EXAMPLE = {"session": "01k9x2m4q7ab3cde"}


class SessionSummary(TypedDict):
    session: Annotated[str, Meta(description="What to give to go on in it")]
    room: Annotated[str, Meta(description="Where it was opened; empty: outside rooms")]
    cwd: Annotated[str, Meta(description="Where it is in the tree of virtual files")]
    used: Annotated[str, Meta(description="When it was last used")]
    lines: Annotated[int, Meta(description="How many lines its history has")]


class SessionShown(SessionSummary):
    home: Annotated[str, Meta(description="What ~ stands for in it")]
    status: Annotated[int, Meta(description="The exit code of its last line")]
    variables: Annotated[dict[str, str], Meta(description="What was set; what is named like a secret is not shown")]
    aliases: dict[str, str]
    history: Annotated[list[str], Meta(description="Its last lines, oldest first")]
    asked: Annotated[int, Meta(description="How many requests to the keeper it remembers")]
    mounts: Annotated[dict[str, str], Meta(description="The top of its tree of files")]


class SessionEnded(TypedDict):
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
    tells_how_it_stands=True,
)
async def list_(ctx: Context) -> Listing[SessionSummary]:
    """List your own sessions of the shell, the last used first."""
    return listing([_summary(one) for one in await ctx.house.sessions.mine(ctx.caller)])


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
    tells_how_it_stands=True,
)
async def open_(
    ctx: Context,
    session: Annotated[str, Meta(description="The session to go on in; empty: a new one", max_length=64)] = "",
) -> SessionShown:
    """Begin a session of the shell here, or look where one of yours stands; only you can use it.

    What a session remembers is seen by nobody else, so beginning one changes nothing that concerns others.
    """
    if session:
        return await _seen(ctx, session)
    found = await ctx.house.sessions.open(ctx.caller, ctx.call.room)
    await ctx.house.sessions.save(found)
    return _whole(found)


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
    tells_how_it_stands=True,
)
async def show(ctx: Context, session: Id) -> SessionShown:
    """Show what one of your sessions remembers: where it is, its variables, aliases and last lines."""
    return await _seen(ctx, session)


@family.command(
    "end",
    tier=Tier.CODE,
    effects=Effects.READ | Effects.WRITE,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=0,
    timeout=10,
    undo=NoUndo("what a session remembered is gone with it; a new one begins empty"),
    examples=[Example("forget this session", _EXAMPLE)],
    related=["session/list"],
)
async def end(ctx: Context, session: Id) -> SessionEnded:
    """Forget one of your sessions, with its variables, its history and what was said in it."""
    await ctx.house.sessions.end(ctx.caller, session)
    return {"session": session, "ended": True}


async def _seen(ctx: Context, session: str) -> SessionShown:
    return _whole(await ctx.house.sessions.look(ctx.caller, ctx.call.room, session))


def _whole(found: Session) -> SessionShown:
    return {
        **_summary(found),
        "home": found.home,
        "status": found.status,
        "variables": {
            name: redact.HIDDEN if redact.tells_of_a_secret(name) else redact.text(value)
            for name, value in found.env.items()
        },
        "aliases": dict(found.aliases),
        "history": found.history[-_RECENT:],
        "asked": len(found.talk),
        "mounts": found.mounts,
    }


def _summary(session: Session) -> SessionSummary:
    return {
        "session": session.id,
        "room": session.room,
        "cwd": session.cwd,
        "used": iso(session.used_at),
        "lines": len(session.history),
    }
