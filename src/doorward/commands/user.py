"""Commands user/* and token/*: manage users and their tokens."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypedDict

import msgspec
from msgspec import Meta

from doorward.commands.context import Context, Listing, make_listing
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.clock import to_iso
from doorward.core.command import READS_ONLY, Example, Family, NoUndo, Undo
from doorward.core.errors import BadParams, Conflict, NotFound, NotPermitted
from doorward.core.model import KEEPER, Kind
from doorward.rooms.people import LOCAL, OWNER, User
from doorward.store import before_images
from doorward.store.before_images import BeforeImage
from doorward.store.sqlite import Statement

family = Family("user", category="people")
token_family = Family("token", category="people")

Id = Annotated[str, Meta(description="The user's id", min_length=1, max_length=63)]
AccessLevel = Annotated[Literal["read", "edit", "full", "root"], Meta(description="The access level")]
CallerKind = Annotated[Literal["human", "ai", "service"], Meta(description="A person, an AI, or a program")]

_encode = msgspec.json.Encoder().encode


class UserFacts(TypedDict):
    """A user."""

    id: str
    name: str
    kind: Kind
    access: str
    active: Annotated[bool, Meta(description="Whether the user may act; false blocks the user")]
    tenant: str


class TokenFacts(TypedDict):
    """A token, without the token itself."""

    id: str
    name: str
    user: str
    kind: Kind
    access: str
    rooms: Annotated[list[str] | str, Meta(description="The rooms it is limited to, or all")]
    expiresAt: str
    revoked: bool


class NewToken(TypedDict):
    id: str
    token: Annotated[str, Meta(description="The token itself; shown only once")]
    expiresAt: str


class TokenRevoked(TypedDict):
    revoked: Annotated[str, Meta(description="The id of the revoked token")]


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
    """List the users of your tenant with their access levels."""
    users = sorted(ctx.services.people.of_tenant(ctx.caller.tenant), key=lambda user: user.id)
    return make_listing([_describe(user) for user in users])


@family.command(
    "create",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    access=Access.ROOT,
    safety=Safety.DANGEROUS,
    cost=1,
    timeout=5,
    undo=Undo("user"),
    examples=[Example("add anna with edit access", {"id": "anna", "access": "edit"})],
    related=["user/list", "user/change"],
    humans_only=True,
    widens_access=True,
)
async def create(
    ctx: Context,
    id: Id,
    access: AccessLevel = "read",
    kind: CallerKind = "human",
    name: Annotated[str, Meta(description="The displayed name; the id by default", max_length=100)] = "",
    tenant: Annotated[str, Meta(description="Another tenant; for the server's owner only", max_length=63)] = "",
) -> UserFacts:
    """Add a user to your tenant. The server's owner can add users to any tenant."""
    user = User(_tenant(ctx, tenant), id, name or id, kind, Access[access.upper()])
    await ctx.services.people.add(user, _keep_before_image(ctx, None, user))
    return _describe(user)


@create.describes_effect
async def create_effect(
    ctx: Context, id: str, access: str = "read", kind: Kind = "human", name: str = "", tenant: str = ""
) -> dict[str, Any]:
    user = User(_tenant(ctx, tenant), id, name or id, kind, Access[access.upper()])
    ctx.services.people.check_new(user)
    return {"before": None, "after": _describe(user)}


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
    widens_access=True,
)
async def change(
    ctx: Context,
    id: Id,
    access: Annotated[Literal["read", "edit", "full", "root"] | None, Meta(description="The new access level")] = None,
    active: Annotated[bool | None, Meta(description="Whether the user may act; false blocks the user")] = None,
) -> UserFacts:
    """Change a user's access level, or block or unblock the user."""
    old, new = _with_changes(ctx, id, access, active)
    await ctx.services.people.change(new, _keep_before_image(ctx, old, new))
    return _describe(new)


@change.describes_effect
async def change_effect(ctx: Context, id: str, access: str | None = None, active: bool | None = None) -> dict[str, Any]:
    old, new = _with_changes(ctx, id, access, active)
    return {"before": _describe(old), "after": _describe(new)}


def _with_changes(ctx: Context, id: str, access: str | None, active: bool | None) -> tuple[User, User]:
    old = ctx.services.people.require(ctx.caller.tenant, id)
    new = msgspec.structs.replace(
        old,
        access=old.access if access is None else Access[access.upper()],
        active=old.active if active is None else active,
    )
    if (new.tenant, new.id) == (LOCAL, OWNER) and new != old:
        raise Conflict("The owner of this server must keep root access; nobody else could restore it.")
    return old, new


@family.undoer("user")
async def restore(ctx: Context, images: list[BeforeImage]) -> dict[str, Any]:
    """Restore the previous version of a user, unless it has changed since."""
    (image,) = images
    tenant, _, id = image.target.partition("/")
    now = ctx.services.people.get(tenant, id)
    if _after_mark(now) != image.after:
        raise Conflict(f"User {id!r} has changed since. Nothing was undone.")
    done = before_images.mark_undone(image.call, ctx.call.id)
    before = msgspec.json.decode(image.before, type=User) if image.before is not None else None
    if before is None and now is not None:
        forgotten, forget = ctx.services.accounts.deletion_statements(tenant, id)
        await ctx.services.people.remove(tenant, id, done, _keep_before_image(ctx, now, None), *forgotten, then=forget)
        return {"user": id, "now": "removed"}
    if before is None:
        raise Conflict(f"User {id!r} no longer exists. Nothing was undone.")
    put = ctx.services.people.change if now is not None else ctx.services.people.add
    await put(before, done, _keep_before_image(ctx, now, before))
    return {"user": id, "now": "as before"}


@token_family.command(
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
    """List the tokens of your tenant with owner and expiry. The tokens themselves are never shown."""
    found = sorted(ctx.services.tokens.of_tenant(ctx.caller.tenant), key=lambda token: token.id)
    return make_listing(
        [
            {
                "id": token.id,
                "name": token.name,
                "user": token.user,
                "kind": token.kind,
                "access": token.access.label,
                "rooms": list(token.rooms) if token.rooms is not None else "all",
                "expiresAt": to_iso(token.expires_at),
                "revoked": token.revoked_at is not None,
            }
            for token in found
        ]
    )


@token_family.command(
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
    widens_access=True,
)
async def create_token(
    ctx: Context,
    name: Annotated[
        str,
        Meta(description="The token's name; an agent acts under this name", pattern=r"^[a-z0-9][a-z0-9._-]{0,62}$"),
    ],
    user: Annotated[str, Meta(description="The user the token acts for; you by default", max_length=63)] = "",
    kind: CallerKind = "ai",
    access: AccessLevel = "edit",
    rooms: Annotated[
        list[str] | None, Meta(description="The rooms it is limited to; all rooms of its user by default")
    ] = None,
    days: Annotated[float, Meta(description="Days until it expires", gt=0, le=366)] = 30,
    tenant: Annotated[str, Meta(description="Another tenant; for the server's owner only", max_length=63)] = "",
) -> NewToken:
    """Create a token that lets an agent or program act for a user. The token is shown only once."""
    owner = ctx.services.people.require(_tenant(ctx, tenant), user or ctx.caller.id)
    if owner.id != ctx.caller.id and ctx.caller.access < Access.ROOT:
        raise BadParams("Only root may create tokens for other users.")
    if kind != "human" and (named := ctx.services.people.get(owner.tenant, name)) and named.kind == "human":
        raise BadParams(f"{name!r} is a person. Choose another name for the agent.")
    if kind != "human" and ctx.services.personas.get(owner.tenant, name) is not None:
        raise BadParams(f"{name!r} is a persona. Choose another name for the agent.")
    if kind != "human" and name == KEEPER:
        raise BadParams(f"{KEEPER!r} is the keeper. Choose another name for the agent.")
    for room in rooms or ():
        found = ctx.services.rooms.require(owner.tenant, room)
        if found.direct and owner.id not in found.members:
            raise ctx.services.rooms.not_found(owner.tenant, room)
    level = Access[access.upper()]
    if level > ctx.caller.access:
        raise NotPermitted(f"Your access is {ctx.caller.access.label}; you cannot create a token with {level.label}.")
    mine = ctx.caller.rooms
    if mine is not None and (rooms is None or not set(rooms) <= set(mine)):
        raise NotPermitted(f"You are limited to {', '.join(mine)} and cannot create tokens for other rooms.")
    token, text = await ctx.services.tokens.issue(
        owner,
        name=name,
        kind=kind,
        access=level,
        rooms=None if rooms is None else tuple(rooms),
        days=days,
    )
    return {"id": token.id, "token": text, "expiresAt": to_iso(token.expires_at)}


@token_family.command(
    "revoke",
    tier=Tier.SYSTEM,
    effects=Effects.DESTROY,
    access=Access.FULL,
    safety=Safety.CAUTION,
    cost=1,
    timeout=5,
    undo=NoUndo("a revoked token stays revoked; create a new one"),
    examples=[Example("revoke a lost token", {"id": "01k9x2m4q7ab3cde"})],
    related=["token/list"],
)
async def revoke(ctx: Context, id: Annotated[str, Meta(description="The token's id", max_length=64)]) -> TokenRevoked:
    """Revoke a token. It stops working immediately."""
    if ctx.services.tokens.get(ctx.caller.tenant, id) is None:
        raise NotFound(f"There is no token {id!r} in your tenant.", hint="List them: token/list")
    await ctx.services.tokens.revoke(ctx.caller.tenant, id)
    return {"revoked": id}


def _tenant(ctx: Context, tenant: str) -> str:
    if tenant and tenant != ctx.caller.tenant and (ctx.caller.tenant, ctx.caller.id) != (LOCAL, OWNER):
        raise NotPermitted("Only the owner of this server may create users and tokens in other tenants.")
    return tenant or ctx.caller.tenant


def _keep_before_image(ctx: Context, old: User | None, new: User | None) -> Statement:
    user = old or new
    if user is None:
        raise TypeError("a before-image needs the old or the new user")
    return before_images.store_image(
        ctx.call,
        kind="user",
        target=f"{user.tenant}/{user.id}",
        before=_encode(old) if old is not None else None,
        after=_after_mark(new),
        at=ctx.services.clock.now(),
    )


def _after_mark(user: User | None) -> str:
    return "" if user is None else _encode(user).decode()


def _describe(user: User) -> UserFacts:
    return {
        "id": user.id,
        "name": user.name,
        "kind": user.kind,
        "access": user.access.label,
        "active": user.active,
        "tenant": user.tenant,
    }
