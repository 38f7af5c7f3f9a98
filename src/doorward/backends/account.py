"""user/invite, user/password, user/link and user/sessions: how people come in without a token."""

from __future__ import annotations

from typing import Annotated, TypedDict

from msgspec import Meta

from doorward.backends.context import Context, Listing, listing
from doorward.clock import iso
from doorward.command import READS_ONLY, Example, Family, NoUndo
from doorward.errors import NotPermitted
from doorward.facts import Access, Effects, Safety, Tier
from doorward.rooms.passwords import LONGEST
from doorward.rooms.people import LOCAL, OWNER

family = Family("user", category="people")

_TERMINAL = "terminal"
"""The door that the operating system guards: whoever owns the home folder needs no old password there."""


class Invitation(TypedDict):
    passcode: Annotated[str, Meta(description="What to give when registering; shown this once")]
    tenant: Annotated[str, Meta(description="The only tenant it is good for; empty for any new one")]
    expiresAt: str


class Changed(TypedDict):
    user: str
    sessionsEnded: Annotated[int, Meta(description="How many logins are over because of it")]


class NewLink(TypedDict):
    token: Annotated[str, Meta(description="The code of the link, shown this once")]
    path: Annotated[str, Meta(description="What to open behind this server's address; it holds the code")]
    expiresAt: str


class SessionFacts(TypedDict):
    """A browser that is logged in."""

    id: str
    browser: Annotated[str, Meta(description="What the browser calls itself")]
    createdAt: str
    expiresAt: str


class Ended(TypedDict):
    ended: Annotated[str, Meta(description="The id of the session that is over")]


@family.command(
    "invite",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    access=Access.ROOT,
    safety=Safety.DANGEROUS,
    cost=1,
    timeout=5,
    undo=NoUndo("whoever has the passcode may use it until it expires"),
    examples=[Example("let somebody register the tenant acme", {"tenant": "acme", "hours": 24})],
    related=["user/create"],
    humans_only=True,
    house_wide=True,
)
async def invite(
    ctx: Context,
    tenant: Annotated[
        str,
        Meta(
            description="The only tenant it is good for; left out, any new one",
            pattern=r"^([a-z0-9][a-z0-9._@-]{0,62})?$",
        ),
    ] = "",
    hours: Annotated[float, Meta(description="How long it can be used", gt=0, le=720)] = 72,
) -> Invitation:
    """Make a passcode with which somebody may register one new tenant over the network, once."""
    passcode, expires = await ctx.house.accounts.invite(ctx.caller.id, tenant, hours * 3_600)
    return {"passcode": passcode, "tenant": tenant, "expiresAt": iso(expires)}


@family.command(
    "password",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    access=Access.READ,
    safety=Safety.CAUTION,
    cost=1,
    timeout=30,
    undo=NoUndo("the old password is kept nowhere; set it again"),
    examples=[Example("log in with this from now on", {"password": "four words make one"})],
    related=["user/list"],
    humans_only=True,
    secret=["password", "current"],
)
async def password(
    ctx: Context,
    password: Annotated[str, Meta(description="The new password, of at least 12 characters", max_length=LONGEST)],
    current: Annotated[str, Meta(description="The one it replaces, if there is one", max_length=LONGEST)] = "",
    user: Annotated[str, Meta(description="Somebody else of your tenant; only for root", max_length=63)] = "",
) -> Changed:
    """Set your password, with which you log in over the network, and end all your logins."""
    caller = ctx.caller
    target = ctx.house.people.known(caller.tenant, user or caller.id)
    other = target.id != caller.id
    if other and caller.access < Access.ROOT:
        raise NotPermitted("Only root may set the passwords of others.")
    if (target.tenant, target.id) == (LOCAL, OWNER) and other:
        raise NotPermitted("Only the owner of this house sets the owner's password.")
    if caller.access < target.access or caller.rooms is not None:
        raise NotPermitted("A token that reaches less far than its user cannot set that user's password.")
    at_terminal = (caller.tenant, caller.id, ctx.call.door) == (LOCAL, OWNER, _TERMINAL)
    ended = await ctx.house.accounts.set_password(target, password, current=None if other or at_terminal else current)
    return {"user": target.id, "sessionsEnded": ended}


@family.command(
    "link",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    access=Access.READ,
    safety=Safety.CAUTION,
    cost=1,
    timeout=5,
    undo=NoUndo("whoever has the link may use it until it expires; a new password ends what came of it"),
    examples=[Example("log my browser in", {})],
    related=["user/sessions"],
    humans_only=True,
)
async def link(ctx: Context) -> NewLink:
    """Make a link that logs one browser in to the console as you, once."""
    caller, browsers = ctx.caller, ctx.house.browsers
    if caller.access < ctx.house.people.known(caller.tenant, caller.id).access or caller.rooms is not None:
        raise NotPermitted("A token that reaches less far than its user cannot log a browser in as that user.")
    code = browsers.link(caller.tenant, caller.id)
    expires = ctx.house.clock.now() + browsers.link_seconds
    return {"token": code, "path": f"/console/#login={code}", "expiresAt": iso(expires)}


@family.command(
    "sessions",
    tier=Tier.SYSTEM,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=5,
    undo=READS_ONLY,
    examples=[Example("where am I logged in", {})],
    related=["user/logout"],
    humans_only=True,
    tells_how_it_stands=True,
)
async def sessions(ctx: Context) -> Listing[SessionFacts]:
    """List the browsers that are logged in to the console as you, newest first."""
    mine = sorted(ctx.house.browsers.of(ctx.caller.tenant, ctx.caller.id), key=lambda one: -one.created_at)
    return listing(
        [
            {
                "id": one.id,
                "browser": one.agent,
                "createdAt": iso(one.created_at),
                "expiresAt": iso(one.expires_at),
            }
            for one in mine
        ]
    )


@family.command(
    "logout",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    access=Access.READ,
    safety=Safety.CAUTION,
    cost=1,
    timeout=5,
    undo=NoUndo("a session that is over is not kept; log in again"),
    examples=[Example("log the browser I lost out", {"id": "01k9x2m4q7ab3cde"})],
    related=["user/sessions"],
    humans_only=True,
)
async def logout(
    ctx: Context, id: Annotated[str, Meta(description="The session, as user/sessions lists it", max_length=64)]
) -> Ended:
    """Log one of your browsers out."""
    await ctx.house.browsers.end(ctx.caller.tenant, ctx.caller.id, id)
    return {"ended": id}
