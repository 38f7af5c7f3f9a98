"""user/invite and user/password: how people come in without a token."""

from __future__ import annotations

from typing import Annotated, TypedDict

from msgspec import Meta

from doorward.backends.context import Context
from doorward.clock import iso
from doorward.command import Example, Family, NoUndo
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
