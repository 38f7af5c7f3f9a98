"""user/* and token/*: who may act here, and the tokens that prove it."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypedDict

import msgspec
from msgspec import Meta

from doorward.backends.context import Context, Listing, listing
from doorward.clock import iso
from doorward.command import READS_ONLY, Example, Family, NoUndo, Undo
from doorward.errors import BadParams, Conflict, NotFound, NotPermitted
from doorward.facts import Access, Effects, Safety, Tier
from doorward.model import KEEPER, Kind
from doorward.rooms.people import LOCAL, OWNER, User
from doorward.store import before_images
from doorward.store.before_images import BeforeImage
from doorward.store.sqlite import Statement

family = Family("user", category="people")
tokens = Family("token", category="people")

Id = Annotated[str, Meta(description="The user's id", min_length=1, max_length=63)]
Level = Annotated[Literal["read", "edit", "full", "root"], Meta(description="How far the access reaches")]
KindOf = Annotated[Literal["human", "ai", "service"], Meta(description="A person, an AI, or a program")]

_encode = msgspec.json.Encoder().encode


class UserFacts(TypedDict):
    """A user."""

    id: str
    name: str
    kind: Kind
    access: str
    active: Annotated[bool, Meta(description="Whether they may act at all")]
    tenant: str


class TokenFacts(TypedDict):
    """A token, without the token itself."""

    id: str
    name: str
    user: str
    kind: Kind
    access: str
    rooms: Annotated[list[str] | str, Meta(description="The rooms it is good for, or all")]
    expiresAt: str
    revoked: bool


class NewToken(TypedDict):
    id: str
    token: Annotated[str, Meta(description="The token itself, shown this once")]
    expiresAt: str


class Revoked(TypedDict):
    revoked: Annotated[str, Meta(description="The id of the token that is worthless now")]


@family.command(
    "list",
    tier=Tier.SYSTEM,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=5,
    undo=READS_ONLY,
    examples=[Example("who is there", {})],
)
async def list_users(ctx: Context) -> Listing[UserFacts]:
    """List the users of your tenant with their access."""
    users = sorted(ctx.house.people.of(ctx.caller.tenant), key=lambda user: user.id)
    return listing([_shown(user) for user in users])


@family.command(
    "create",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    access=Access.ROOT,
    safety=Safety.DANGEROUS,
    cost=1,
    timeout=5,
    undo=Undo("user"),
    examples=[Example("let anna edit", {"id": "anna", "access": "edit"})],
    related=["user/list", "user/change"],
    humans_only=True,
)
async def create(
    ctx: Context,
    id: Id,
    access: Level = "read",
    kind: KindOf = "human",
    name: Annotated[str, Meta(description="What to call them; by default the id", max_length=100)] = "",
    tenant: Annotated[str, Meta(description="Another tenant; only for the house's owner", max_length=63)] = "",
) -> UserFacts:
    """Add a user to your tenant (the house's owner: to any tenant)."""
    user = User(_tenant(ctx, tenant), id, name or id, kind, Access[access.upper()])
    await ctx.house.people.add(user, _keep(ctx, None, user))
    return _shown(user)


@create.shows_effect
async def create_effect(
    ctx: Context, id: str, access: str = "read", kind: Kind = "human", name: str = "", tenant: str = ""
) -> dict[str, Any]:
    user = User(_tenant(ctx, tenant), id, name or id, kind, Access[access.upper()])
    ctx.house.people.check_new(user)
    return {"before": None, "after": _shown(user)}


@family.command(
    "change",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    access=Access.ROOT,
    safety=Safety.DANGEROUS,
    cost=1,
    timeout=5,
    undo=Undo("user"),
    examples=[Example("anna may only read from now on", {"id": "anna", "access": "read"})],
    related=["user/list"],
    humans_only=True,
)
async def change(
    ctx: Context,
    id: Id,
    access: Annotated[Literal["read", "edit", "full", "root"] | None, Meta(description="The new access")] = None,
    active: Annotated[bool | None, Meta(description="Whether they may act at all")] = None,
) -> UserFacts:
    """Change how far a user's access reaches, or whether they may act at all."""
    old, new = _changed(ctx, id, access, active)
    await ctx.house.people.change(new, _keep(ctx, old, new))
    return _shown(new)


@change.shows_effect
async def change_effect(ctx: Context, id: str, access: str | None = None, active: bool | None = None) -> dict[str, Any]:
    old, new = _changed(ctx, id, access, active)
    return {"before": _shown(old), "after": _shown(new)}


def _changed(ctx: Context, id: str, access: str | None, active: bool | None) -> tuple[User, User]:
    old = ctx.house.people.known(ctx.caller.tenant, id)
    new = msgspec.structs.replace(
        old,
        access=old.access if access is None else Access[access.upper()],
        active=old.active if active is None else active,
    )
    if (new.tenant, new.id) == (LOCAL, OWNER) and new != old:
        raise Conflict("The owner of this house keeps root access; nobody else could give it back.")
    return old, new


@family.undoer("user")
async def restore(ctx: Context, images: list[BeforeImage]) -> dict[str, Any]:
    """Bring a user back to what they were, unless they changed since."""
    (image,) = images
    tenant, _, id = image.target.partition("/")
    now = ctx.house.people.get(tenant, id)
    if _after(now) != image.after:
        raise Conflict(f"User {id!r} changed since; nothing was undone.")
    done = before_images.mark_undone(image.call, ctx.call.id)
    before = msgspec.json.decode(image.before, type=User) if image.before is not None else None
    if before is None and now is not None:
        forgotten, forget = ctx.house.accounts.forgetting(tenant, id)
        await ctx.house.people.remove(tenant, id, done, _keep(ctx, now, None), *forgotten, then=forget)
        return {"user": id, "now": "removed"}
    if before is None:
        raise Conflict(f"User {id!r} is gone; nothing was undone.")
    put = ctx.house.people.change if now is not None else ctx.house.people.add
    await put(before, done, _keep(ctx, now, before))
    return {"user": id, "now": "as before"}


@tokens.command(
    "list",
    tier=Tier.SYSTEM,
    effects=Effects.READ,
    access=Access.FULL,
    safety=Safety.SAFE,
    cost=1,
    timeout=5,
    undo=READS_ONLY,
    examples=[Example("which tokens are there", {})],
)
async def list_tokens(ctx: Context) -> Listing[TokenFacts]:
    """List the tokens of your tenant: whose they are and until when; never the tokens themselves."""
    found = sorted(ctx.house.tokens.of(ctx.caller.tenant), key=lambda token: token.id)
    return listing(
        [
            {
                "id": token.id,
                "name": token.name,
                "user": token.user,
                "kind": token.kind,
                "access": token.access.label,
                "rooms": list(token.rooms) if token.rooms is not None else "all",
                "expiresAt": iso(token.expires_at),
                "revoked": token.revoked_at is not None,
            }
            for token in found
        ]
    )


@tokens.command(
    "create",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    access=Access.FULL,
    safety=Safety.DANGEROUS,
    cost=1,
    timeout=5,
    undo=NoUndo("revoke it with token/revoke"),
    examples=[Example("a token for an assistant in room general", {"name": "assistant", "rooms": ["general"]})],
    related=["token/list", "token/revoke"],
    humans_only=True,
)
async def create_token(
    ctx: Context,
    name: Annotated[
        str,
        Meta(
            description="What the token is for; an agent acts under this name", pattern=r"^[a-z0-9][a-z0-9._-]{0,62}$"
        ),
    ],
    user: Annotated[str, Meta(description="Whose token it is; by default yours", max_length=63)] = "",
    kind: KindOf = "ai",
    access: Level = "edit",
    rooms: Annotated[
        list[str] | None, Meta(description="The rooms it is good for; by default all of its user's")
    ] = None,
    days: Annotated[float, Meta(description="How long it lasts", gt=0, le=366)] = 30,
    tenant: Annotated[str, Meta(description="Another tenant; only for the house's owner", max_length=63)] = "",
) -> NewToken:
    """Make a token that an agent or program shows to act for a user. It is shown this once."""
    owner = ctx.house.people.known(_tenant(ctx, tenant), user or ctx.caller.id)
    if owner.id != ctx.caller.id and ctx.caller.access < Access.ROOT:
        raise BadParams("Only root may make tokens for others.")
    if kind != "human" and (named := ctx.house.people.get(owner.tenant, name)) and named.kind == "human":
        raise BadParams(f"{name!r} is a person; an agent cannot carry a person's name.")
    if kind != "human" and ctx.house.personas.get(owner.tenant, name) is not None:
        raise BadParams(f"{name!r} is a persona of this house; no other agent can carry its name.")
    if kind != "human" and name == KEEPER:
        raise BadParams(f"{KEEPER!r} is the name of the house's own keeper; no other agent can carry it.")
    for room in rooms or ():
        found = ctx.house.rooms.known(owner.tenant, room)
        if found.direct and owner.id not in found.members:
            raise ctx.house.rooms.unknown(owner.tenant, room)
    level = Access[access.upper()]
    if level > ctx.caller.access:
        raise NotPermitted(f"Your own access is {ctx.caller.access.label}; you cannot make a token with {level.label}.")
    mine = ctx.caller.rooms
    if mine is not None and (rooms is None or not set(rooms) <= set(mine)):
        raise NotPermitted(f"You act in {', '.join(mine)} only, and can make tokens for no other rooms.")
    token, text = await ctx.house.tokens.issue(
        owner,
        name=name,
        kind=kind,
        access=level,
        rooms=None if rooms is None else tuple(rooms),
        days=days,
    )
    return {"id": token.id, "token": text, "expiresAt": iso(token.expires_at)}


@tokens.command(
    "revoke",
    tier=Tier.SYSTEM,
    effects=Effects.DESTROY,
    access=Access.FULL,
    safety=Safety.CAUTION,
    cost=1,
    timeout=5,
    undo=NoUndo("a revoked token stays revoked; make a new one"),
    examples=[Example("this token is lost", {"id": "01k9x2m4q7ab3cde"})],
    related=["token/list"],
)
async def revoke(ctx: Context, id: Annotated[str, Meta(description="The token's id", max_length=64)]) -> Revoked:
    """Make a token worthless at once."""
    if ctx.house.tokens.get(ctx.caller.tenant, id) is None:
        raise NotFound(f"There is no token {id!r} of your tenant.", hint="See those there are: token/list")
    await ctx.house.tokens.revoke(ctx.caller.tenant, id)
    return {"revoked": id}


def _tenant(ctx: Context, tenant: str) -> str:
    if tenant and tenant != ctx.caller.tenant and (ctx.caller.tenant, ctx.caller.id) != (LOCAL, OWNER):
        raise NotPermitted("Only the owner of this house makes users and tokens of other tenants.")
    return tenant or ctx.caller.tenant


def _keep(ctx: Context, old: User | None, new: User | None) -> Statement:
    user = old or new
    if user is None:
        raise TypeError("a user that never was cannot be kept")
    return before_images.keep(
        ctx.call,
        kind="user",
        target=f"{user.tenant}/{user.id}",
        before=_encode(old) if old is not None else None,
        after=_after(new),
        at=ctx.house.clock.now(),
    )


def _after(user: User | None) -> str:
    return "" if user is None else _encode(user).decode()


def _shown(user: User) -> UserFacts:
    return {
        "id": user.id,
        "name": user.name,
        "kind": user.kind,
        "access": user.access.label,
        "active": user.active,
        "tenant": user.tenant,
    }
