"""Commands persona/*: list, show, save and remove the AIs of rooms, and stop one."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, Literal, TypedDict

from msgspec import Meta

from doorward.commands.context import Context
from doorward.core import strictjson
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import READS_ONLY, Example, Family, NoUndo, Undo
from doorward.core.errors import BadParams, Conflict, NotFound, NotPermitted
from doorward.rooms.people import LOCAL
from doorward.rooms.personas.persona import MAX_BYTES, BadPersona, Persona
from doorward.store import before_images
from doorward.store.before_images import BeforeImage

family = Family("persona", category="rooms")

Id = Annotated[str, Meta(description="The persona's id", pattern=r"^[a-z][a-z0-9-]{0,62}$")]


class PersonaFacts(TypedDict):
    id: str
    name: str
    bio: str
    model: Annotated[str, Meta(description="The model it uses")]
    access: str
    state: Annotated[str, Meta(description="in force, or why its model cannot answer")]
    rooms: Annotated[list[str], Meta(description="The rooms you can see that it is a member of")]
    awaited: Annotated[list[str], Meta(description="Rooms named in its file that do not exist or are archived")]
    remarks: Annotated[list[str], Meta(description="Problems with its model; empty if none are known")]
    suggestions: Annotated[list[str], Meta(description="Questions to ask it")]
    energy: Annotated[dict[str, Any] | None, Meta(description="Its energy; null if its work is not counted")]


class PersonaList(TypedDict):
    items: list[PersonaFacts]
    problems: Annotated[dict[str, str], Meta(description="The error of each invalid file")]


class PersonaDetail(TypedDict):
    persona: PersonaFacts
    file: Annotated[Any, Meta(description="The content of its file, in the version in force")]
    problem: Annotated[str, Meta(description="What is wrong with the current file; empty if it is valid")]


class PersonaSaved(TypedDict):
    id: str
    now: Annotated[str, Meta(description="in force, or why its model cannot answer")]
    replaced: Annotated[bool, Meta(description="Whether it replaced a persona with the same id")]
    awaited: Annotated[list[str], Meta(description="Rooms it names that do not exist or are archived")]
    remarks: Annotated[list[str], Meta(description="Problems with its model; empty if none are known")]


class PersonaRemoved(TypedDict):
    id: str
    now: Literal["removed"]


class PersonaStopped(TypedDict):
    id: str
    room: str
    stopped: Annotated[bool, Meta(description="Whether it was doing anything there")]


@family.command(
    "list",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=5,
    undo=READS_ONLY,
    examples=[Example("which AIs live here", {})],
    related=["persona/show", "room/list"],
)
async def list_personas(ctx: Context) -> PersonaList:
    """List the personas, the AIs that live in rooms, with suggested questions and the errors of invalid files."""
    found = ctx.services.personas.all(ctx.caller.tenant)
    problems = ctx.services.personas.problems if ctx.caller.tenant == LOCAL else {}
    return {"items": [_describe(ctx, one) for one in found], "problems": problems}


@family.command(
    "show",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=5,
    undo=READS_ONLY,
    examples=[Example("who is the guide", {"id": "guide"})],
    related=["persona/list"],
)
async def show(ctx: Context, id: Id) -> PersonaDetail:
    """Show a persona in the version in force, which is the last valid one."""
    persona = ctx.services.personas.get(ctx.caller.tenant, id)
    text = ctx.services.personas.text(id)
    if persona is None or text is None:
        raise _not_found(ctx, id)
    problem = ctx.services.personas.problems.get(f"{id}.json", "")
    return {"persona": _describe(ctx, persona), "file": strictjson.loads(text), "problem": problem}


@family.command(
    "put",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    access=Access.ROOT,
    safety=Safety.DANGEROUS,
    cost=1,
    timeout=10,
    undo=Undo("persona"),
    examples=[
        Example(
            "add an AI to the room general",
            {"id": "scribe", "text": '{"personaId": "scribe", "displayName": "Scribe", "rooms": ["general"]}'},
        )
    ],
    related=["persona/list", "persona/show"],
    humans_only=True,
    server_wide=True,
    reveals="persona/show",
    widens_access=True,
)
async def put(
    ctx: Context, id: Id, text: Annotated[str, Meta(description="The persona as JSON", max_length=MAX_BYTES)]
) -> PersonaSaved:
    """Check a persona, save its file, and add it to the rooms it names. An invalid persona changes nothing."""
    old = ctx.services.personas.text(id)
    new = text.encode()
    persona = _check(ctx, id, new)
    await ctx.store.write(
        before_images.store_image(ctx.call, kind="persona", target=id, before=old, after=_digest(new), at=_now(ctx))
    )
    await ctx.services.personas.save(id, new)
    awaited = ctx.services.personas.memberships.awaited_rooms(id)
    remarks = _remarks(ctx, persona)
    now = _state(ctx, persona, full=True)
    return {"id": id, "now": now, "replaced": old is not None, "awaited": awaited, "remarks": remarks}


@put.describes_effect
async def put_effect(ctx: Context, id: str, text: str) -> dict[str, Any]:
    persona = _check(ctx, id, text.encode())
    old = ctx.services.personas.text(id)
    before = strictjson.loads(old) if old is not None else None
    return {"before": before, "after": strictjson.loads(text), "remarks": _remarks(ctx, persona)}


@family.command(
    "remove",
    tier=Tier.SYSTEM,
    effects=Effects.DESTROY,
    access=Access.ROOT,
    safety=Safety.DANGEROUS,
    cost=1,
    timeout=10,
    undo=Undo("persona"),
    examples=[Example("remove an AI", {"id": "scribe"})],
    related=["persona/list"],
    humans_only=True,
    server_wide=True,
    reveals="persona/show",
    widens_access=True,
)
async def remove(ctx: Context, id: Id) -> PersonaRemoved:
    """Remove a persona. It stops what it is doing and leaves its rooms. Its messages stay."""
    old = ctx.services.personas.text(id)
    if old is None:
        raise _not_found(ctx, id)
    await ctx.store.write(
        before_images.store_image(ctx.call, kind="persona", target=id, before=old, after="", at=_now(ctx))
    )
    await ctx.services.personas.remove(id)
    return {"id": id, "now": "removed"}


@remove.describes_effect
async def remove_effect(ctx: Context, id: str) -> dict[str, Any]:
    old = ctx.services.personas.text(id)
    if old is None:
        raise _not_found(ctx, id)
    return {"before": strictjson.loads(old), "after": None}


@family.command(
    "stop",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=10,
    undo=NoUndo("a stopped answer cannot resume; ask the persona again"),
    examples=[Example("stop the guide in the room general", {"id": "guide", "name": "general"})],
    related=["persona/list", "execution/cancel"],
    humans_only=True,
)
async def stop(
    ctx: Context,
    id: Id,
    name: Annotated[str, Meta(description="The room; the current room by default", max_length=63)] = "",
) -> PersonaStopped:
    """Stop a persona in a room: its answer, its calls, and its calls that wait for approval."""
    room = ctx.services.rooms.get(ctx.caller.tenant, name or ctx.call.room)
    root = ctx.caller.access >= Access.ROOT
    if room is None or not (room.is_visible_to(ctx.caller) or (root and room.is_known_to(ctx.caller))):
        raise NotPermitted(
            f"You are not a member of a room {(name or ctx.call.room)[:80]!r}, so you cannot stop a persona there."
        )
    if ctx.services.personas.get(ctx.caller.tenant, id) is None:
        raise _not_found(ctx, id)
    stopping = ctx.services.personas.stop
    stopped = await stopping(id, room.id, ctx.caller.id) if stopping is not None else False
    return {"id": id, "room": room.id, "stopped": stopped}


@family.undoer("persona")
async def restore(ctx: Context, images: list[BeforeImage]) -> dict[str, Any]:
    """Restore the previous version of a persona, unless it has changed since."""
    (image,) = images
    id = image.target
    now = ctx.services.personas.text(id)
    if (_digest(now) if now is not None else "") != image.after:
        raise Conflict(f"Persona {id!r} has changed since. Nothing was undone.")
    if image.before is not None:
        _check(ctx, id, image.before)
    after = _digest(image.before) if image.before is not None else ""
    await ctx.store.write(
        before_images.store_image(ctx.call, kind="persona", target=id, before=now, after=after, at=_now(ctx)),
        before_images.mark_undone(image.call, ctx.call.id),
    )
    if image.before is None:
        await ctx.services.personas.remove(id)
        return {"persona": id, "now": "removed"}
    await ctx.services.personas.save(id, image.before)
    return {"persona": id, "now": "as before"}


def _describe(ctx: Context, persona: Persona) -> PersonaFacts:
    everywhere = ctx.services.rooms.of_tenant(ctx.caller.tenant)
    rooms = [room.id for room in everywhere if persona.id in room.members and room.is_known_to(ctx.caller)]
    full = ctx.caller.acts_as_person and ctx.caller.access >= Access.FULL and ctx.caller.rooms is None
    return {
        "id": persona.id,
        "name": persona.display_name,
        "bio": persona.bio,
        "model": persona.model,
        "access": persona.access,
        "state": _state(ctx, persona, full=full),
        "rooms": sorted(rooms),
        "awaited": ctx.services.personas.memberships.awaited_rooms(persona.id) if full else [],
        "remarks": _remarks(ctx, persona) if full else [],
        "suggestions": list(persona.suggestions),
        "energy": ctx.services.energy_of(persona.caller),
    }


def _state(ctx: Context, persona: Persona, *, full: bool) -> str:
    """Whether a persona is in force with a model that can answer. Without `full`, the reason is left out."""
    problem = ctx.services.models.problem(persona.model)
    if not problem:
        return "in force"
    return f"its model cannot answer: {problem}" if full else "its model cannot answer"


def _remarks(ctx: Context, persona: Persona) -> list[str]:
    """Report a missing model. It is not an error of the file, since the model may be set up later."""
    problem = ctx.services.models.problem(persona.model)
    if not problem:
        return []
    other = ctx.services.models.instead_of(persona.model)
    if other is None:
        return [f"It cannot answer at the moment. {problem}"]
    return [f"The fallback model {other.name} answers for it. {problem}"]


def _check(ctx: Context, id: str, text: bytes) -> Persona:
    try:
        return ctx.services.personas.check(id, text)
    except BadPersona as error:
        raise BadParams(error.message, hint=error.hint) from error


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def _now(ctx: Context) -> float:
    return ctx.services.clock.now()


def _not_found(ctx: Context, id: str) -> NotFound:
    names = ", ".join(one.id for one in ctx.services.personas.all(ctx.caller.tenant)) or "none"
    return NotFound(f"There is no persona {id!r}. Personas: {names}.")
