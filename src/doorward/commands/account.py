"""Commands for logins without a token: user/invite, user/password, user/link, user/sessions and user/logout."""

from __future__ import annotations

from typing import Annotated, TypedDict

from msgspec import Meta

from doorward.commands.context import Context, Listing, make_listing
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.clock import to_iso
from doorward.core.command import READS_ONLY, Example, Family, NoUndo
from doorward.core.errors import NotPermitted
from doorward.rooms.accounts.passwords import MAX_LENGTH
from doorward.rooms.people import LOCAL, OWNER

family = Family("user", category="people")

_TERMINAL = "terminal"
"""The terminal door. The operating system guards it: the owner of the home folder needs no old password there."""


class Invitation(TypedDict):
    passcode: Annotated[str, Meta(description="The passcode for registering; shown only once")]
    tenant: Annotated[str, Meta(description="The tenant that may be registered; empty for any new tenant")]
    expiresAt: str


class PasswordChanged(TypedDict):
    user: str
    sessionsEnded: Annotated[int, Meta(description="The number of logins that were ended")]


class LoginLink(TypedDict):
    token: Annotated[str, Meta(description="The login code; shown only once")]
    path: Annotated[str, Meta(description="The path to open on this server; it contains the code")]
    expiresAt: str


class BrowserSessionFacts(TypedDict):
    """A browser that is logged in."""

    id: str
    browser: Annotated[str, Meta(description="The browser's user agent")]
    createdAt: str
    expiresAt: str


class SessionEnded(TypedDict):
    ended: Annotated[str, Meta(description="The id of the ended session")]


@family.command(
    "invite",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    access=Access.ROOT,
    safety=Safety.DANGEROUS,
    cost=1,
    timeout=5,
    undo=NoUndo("the passcode can be used until it expires"),
    examples=[Example("let somebody register the tenant acme", {"tenant": "acme", "hours": 24})],
    related=["user/create"],
    humans_only=True,
    server_wide=True,
    widens_access=True,
)
async def invite(
    ctx: Context,
    tenant: Annotated[
        str,
        Meta(
            description="The tenant that may be registered; any new tenant if omitted",
            pattern=r"^([a-z0-9][a-z0-9._@-]{0,62})?$",
        ),
    ] = "",
    hours: Annotated[float, Meta(description="Hours until the passcode expires", gt=0, le=720)] = 72,
) -> Invitation:
    """Create a passcode that lets someone register one new tenant over the network, once."""
    passcode, expires = await ctx.services.accounts.create_invitation(ctx.caller.id, tenant, hours * 3_600)
    return {"passcode": passcode, "tenant": tenant, "expiresAt": to_iso(expires)}


@family.command(
    "password",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    access=Access.READ,
    safety=Safety.CAUTION,
    cost=1,
    timeout=30,
    undo=NoUndo("the old password is not stored; set it again"),
    examples=[Example("set my password", {"password": "four words make one"})],
    related=["user/list"],
    humans_only=True,
    secret=["password", "current"],
    widens_access=True,
)
async def password(
    ctx: Context,
    password: Annotated[str, Meta(description="The new password, at least 12 characters", max_length=MAX_LENGTH)],
    current: Annotated[str, Meta(description="Your current password, if you have one", max_length=MAX_LENGTH)] = "",
    user: Annotated[str, Meta(description="Another user of your tenant; root only", max_length=63)] = "",
) -> PasswordChanged:
    """Set the password you log in with over the network, and end all your logins."""
    caller = ctx.caller
    target = ctx.services.people.require(caller.tenant, user or caller.id)
    other = target.id != caller.id
    if other and caller.access < Access.ROOT:
        raise NotPermitted("Only root may set the password of another user.")
    if (target.tenant, target.id) == (LOCAL, OWNER) and other:
        raise NotPermitted("Only the owner of this server may set the owner's password.")
    if caller.access < target.access or caller.rooms is not None:
        raise NotPermitted("A token with less access than its user cannot set that user's password.")
    at_terminal = (caller.tenant, caller.id, ctx.call.door) == (LOCAL, OWNER, _TERMINAL)
    ended = await ctx.services.accounts.set_password(
        target, password, current=None if other or at_terminal else current
    )
    return {"user": target.id, "sessionsEnded": ended}


@family.command(
    "link",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    access=Access.READ,
    safety=Safety.CAUTION,
    cost=1,
    timeout=5,
    undo=NoUndo("the link can be used until it expires; a new password ends the logins made with it"),
    examples=[Example("log my browser in", {})],
    related=["user/sessions"],
    humans_only=True,
    widens_access=True,
)
async def link(ctx: Context) -> LoginLink:
    """Create a link that logs one browser in to the console as you, once."""
    caller, browsers = ctx.caller, ctx.services.browsers
    if caller.access < ctx.services.people.require(caller.tenant, caller.id).access or caller.rooms is not None:
        raise NotPermitted("A token with less access than its user cannot log a browser in as that user.")
    code = browsers.create_link(caller.tenant, caller.id)
    expires = ctx.services.clock.now() + browsers.link_seconds
    return {"token": code, "path": f"/console/#login={code}", "expiresAt": to_iso(expires)}


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
    is_status_poll=True,
)
async def sessions(ctx: Context) -> Listing[BrowserSessionFacts]:
    """List the browsers that are logged in to the console as you, newest first."""
    mine = sorted(ctx.services.browsers.of_user(ctx.caller.tenant, ctx.caller.id), key=lambda one: -one.created_at)
    return make_listing(
        [
            {
                "id": one.id,
                "browser": one.agent,
                "createdAt": to_iso(one.created_at),
                "expiresAt": to_iso(one.expires_at),
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
    undo=NoUndo("an ended session is deleted; log in again"),
    examples=[Example("log out a lost browser", {"id": "01k9x2m4q7ab3cde"})],
    related=["user/sessions"],
    humans_only=True,
)
async def logout(
    ctx: Context, id: Annotated[str, Meta(description="The id of the session, from user/sessions", max_length=64)]
) -> SessionEnded:
    """Log one of your browsers out."""
    await ctx.services.browsers.end(ctx.caller.tenant, ctx.caller.id, id)
    return {"ended": id}
