"""persona/*: the AIs that live in rooms, as their files say, and a way to stop what one of them does."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, Literal, TypedDict

from msgspec import Meta

from doorward import strictjson
from doorward.backends.context import Context
from doorward.command import READS_ONLY, Example, Family, NoUndo, Undo
from doorward.errors import BadParams, Conflict, NotFound, NotPermitted
from doorward.facts import Access, Effects, Safety, Tier
from doorward.personas.persona import LARGEST, BadPersona, Persona
from doorward.rooms.people import LOCAL
from doorward.store import before_images
from doorward.store.before_images import BeforeImage

family = Family("persona", category="rooms")

Id = Annotated[str, Meta(description="The persona's id", pattern=r"^[a-z][a-z0-9-]{0,62}$")]


class PersonaFacts(TypedDict):
    id: str
    name: str
    bio: str
    model: Annotated[str, Meta(description="The model that thinks for it")]
    access: str
    rooms: Annotated[list[str], Meta(description="Those of your rooms that it is in")]
    awaited: Annotated[list[str], Meta(description="Rooms that its file names and that do not exist, or are closed")]
    remarks: Annotated[list[str], Meta(description="What is the matter with its model; empty when nothing is known")]
    suggestions: Annotated[list[str], Meta(description="Questions to ask it")]
    energy: Annotated[dict[str, Any] | None, Meta(description="Its energy, while energy is switched on")]


class PersonaList(TypedDict):
    items: list[PersonaFacts]
    problems: Annotated[dict[str, str], Meta(description="File to what is wrong with it")]


class PersonaShown(TypedDict):
    persona: PersonaFacts
    file: Annotated[Any, Meta(description="What its file says, in the version that is in force")]
    problem: Annotated[str, Meta(description="What is wrong with the file now; empty when nothing is")]


class PersonaInForce(TypedDict):
    id: str
    now: Literal["in force"]
    replaced: Annotated[bool, Meta(description="Whether there was one of that id before")]
    awaited: Annotated[list[str], Meta(description="Rooms that it names and that do not exist or are closed")]
    remarks: Annotated[list[str], Meta(description="What is the matter with its model; empty when nothing is known")]


class PersonaRemoved(TypedDict):
    id: str
    now: Literal["removed"]


class PersonaStopped(TypedDict):
    id: str
    room: str
    stopped: Annotated[bool, Meta(description="Whether it did anything there")]


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
    """List the AIs that live in rooms, with what to ask them, and what is wrong with files that are not valid."""
    found = ctx.house.personas.all(ctx.caller.tenant)
    problems = ctx.house.personas.problems if ctx.caller.tenant == LOCAL else {}
    return {"items": [_facts(ctx, one) for one in found], "problems": problems}


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
async def show(ctx: Context, id: Id) -> PersonaShown:
    """Show a persona as it is in force, which is its last good version."""
    persona = ctx.house.personas.get(ctx.caller.tenant, id)
    text = ctx.house.personas.text(id)
    if persona is None or text is None:
        raise _missing(ctx, id)
    problem = ctx.house.personas.problems.get(f"{id}.json", "")
    return {"persona": _facts(ctx, persona), "file": strictjson.loads(text), "problem": problem}


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
            "an AI that reads along in the room general",
            {"id": "scribe", "text": '{"personaId": "scribe", "displayName": "Scribe", "rooms": ["general"]}'},
        )
    ],
    related=["persona/list", "persona/show"],
    humans_only=True,
    house_wide=True,
    reveals="persona/show",
)
async def put(
    ctx: Context, id: Id, text: Annotated[str, Meta(description="The persona as JSON", max_length=LARGEST)]
) -> PersonaInForce:
    """Check a persona, write its file, and put it into the rooms it names. One that is not valid changes nothing."""
    old = ctx.house.personas.text(id)
    new = text.encode()
    persona = _checked(ctx, id, new)
    await ctx.store.write(
        before_images.keep(ctx.call, kind="persona", target=id, before=old, after=_digest(new), at=_now(ctx))
    )
    await ctx.house.personas.save(id, new)
    awaited = ctx.house.personas.memberships.awaited(id)
    remarks = _remarks(ctx, persona)
    return {"id": id, "now": "in force", "replaced": old is not None, "awaited": awaited, "remarks": remarks}


@put.shows_effect
async def put_effect(ctx: Context, id: str, text: str) -> dict[str, Any]:
    persona = _checked(ctx, id, text.encode())
    old = ctx.house.personas.text(id)
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
    examples=[Example("this AI is not needed", {"id": "scribe"})],
    related=["persona/list"],
    humans_only=True,
    house_wide=True,
    reveals="persona/show",
)
async def remove(ctx: Context, id: Id) -> PersonaRemoved:
    """Remove a persona: what it does is stopped, and it leaves its rooms. What it said stays."""
    old = ctx.house.personas.text(id)
    if old is None:
        raise _missing(ctx, id)
    await ctx.store.write(before_images.keep(ctx.call, kind="persona", target=id, before=old, after="", at=_now(ctx)))
    await ctx.house.personas.remove(id)
    return {"id": id, "now": "removed"}


@remove.shows_effect
async def remove_effect(ctx: Context, id: str) -> dict[str, Any]:
    old = ctx.house.personas.text(id)
    if old is None:
        raise _missing(ctx, id)
    return {"before": strictjson.loads(old), "after": None}


@family.command(
    "stop",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=10,
    undo=NoUndo("what was not said and not done is not there; ask again instead"),
    examples=[Example("that is enough", {"id": "guide", "name": "general"})],
    related=["persona/list", "execution/cancel"],
    humans_only=True,
)
async def stop(
    ctx: Context,
    id: Id,
    name: Annotated[str, Meta(description="The room; by default the one you act in", max_length=63)] = "",
) -> PersonaStopped:
    """Stop what a persona does in a room: its answer, its calls, and what it waits for."""
    room = ctx.house.rooms.get(ctx.caller.tenant, name or ctx.call.room)
    root = ctx.caller.access >= Access.ROOT
    if room is None or not (room.seen_by(ctx.caller) or (root and room.known_to(ctx.caller))):
        raise NotPermitted(
            f"You are not a member of a room {(name or ctx.call.room)[:80]!r}, so you stop nobody there."
        )
    if ctx.house.personas.get(ctx.caller.tenant, id) is None:
        raise _missing(ctx, id)
    stopping = ctx.house.personas.stop
    stopped = await stopping(id, room.id, ctx.caller.id) if stopping is not None else False
    return {"id": id, "room": room.id, "stopped": stopped}


@family.undoer("persona")
async def restore(ctx: Context, images: list[BeforeImage]) -> dict[str, Any]:
    """Bring a persona back to what it was, unless it changed since."""
    (image,) = images
    id = image.target
    now = ctx.house.personas.text(id)
    if (_digest(now) if now is not None else "") != image.after:
        raise Conflict(f"Persona {id!r} changed since; nothing was undone.")
    if image.before is not None:
        _checked(ctx, id, image.before)
    after = _digest(image.before) if image.before is not None else ""
    await ctx.store.write(
        before_images.keep(ctx.call, kind="persona", target=id, before=now, after=after, at=_now(ctx)),
        before_images.mark_undone(image.call, ctx.call.id),
    )
    if image.before is None:
        await ctx.house.personas.remove(id)
        return {"persona": id, "now": "removed"}
    await ctx.house.personas.save(id, image.before)
    return {"persona": id, "now": "as before"}


def _facts(ctx: Context, persona: Persona) -> PersonaFacts:
    everywhere = ctx.house.rooms.of(ctx.caller.tenant)
    rooms = [room.id for room in everywhere if persona.id in room.members and room.known_to(ctx.caller)]
    full = ctx.caller.personal and ctx.caller.access >= Access.FULL and ctx.caller.rooms is None
    return {
        "id": persona.id,
        "name": persona.display_name,
        "bio": persona.bio,
        "model": persona.model,
        "access": persona.access,
        "rooms": sorted(rooms),
        "awaited": ctx.house.personas.memberships.awaited(persona.id) if full else [],
        "remarks": _remarks(ctx, persona) if full else [],
        "suggestions": list(persona.suggestions),
        "energy": ctx.house.energy_of(persona.caller),
    }


def _remarks(ctx: Context, persona: Persona) -> list[str]:
    """A model may be set up later, so that one that is missing is no fault of the file; but it is said."""
    problem = ctx.house.models.problem(persona.model)
    if not problem:
        return []
    other = ctx.house.models.instead_of(persona.model)
    if other is None:
        return [f"It cannot answer as things are. {problem}"]
    return [f"The model {other.name} answers instead of its own. {problem}"]


def _checked(ctx: Context, id: str, text: bytes) -> Persona:
    try:
        return ctx.house.personas.check(id, text)
    except BadPersona as error:
        raise BadParams(error.message, hint=error.hint) from error


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def _now(ctx: Context) -> float:
    return ctx.house.clock.now()


def _missing(ctx: Context, id: str) -> NotFound:
    names = ", ".join(one.id for one in ctx.house.personas.all(ctx.caller.tenant)) or "none"
    return NotFound(f"There is no persona {id!r}; there are: {names}.")
