"""The command event/list: recent events that the caller may see."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

import msgspec
from msgspec import Meta

from doorward.commands.context import Context, Services
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.clock import to_iso
from doorward.core.command import READS_ONLY, Example, Family, shorten
from doorward.core.errors import BadParams
from doorward.core.event_buffer import MOST
from doorward.core.events import (
    ApprovalDecided,
    ApprovalHeld,
    ApprovalRequested,
    CatalogueRejected,
    Event,
    RecipeRejected,
    ServersLoaded,
    ServersRejected,
    UpstreamOffered,
)
from doorward.core.model import Caller
from doorward.rooms.people import LOCAL
from doorward.store.rooms import DIRECT

family = Family("event", category="history")

_SERVER_EVENTS = (RecipeRejected, CatalogueRejected, ServersLoaded, ServersRejected, UpstreamOffered)
"""Events about files and servers of Doorward itself. Other tenants do not see them."""
_APPROVAL_EVENTS = (ApprovalRequested, ApprovalDecided, ApprovalHeld)


_NAMES = sorted(kind.name for kind in Event.__subclasses__())
_AREAS = sorted({name.partition(":")[0] for name in _NAMES})


class EventFacts(TypedDict):
    id: Annotated[str, Meta(description="The event's id; pass it as `after` to continue from here")]
    event: Annotated[str, Meta(description="The kind of event, such as approval:requested")]
    at: str
    data: dict[str, Any]


class EventPage(TypedDict):
    items: list[EventFacts]
    next: Annotated[str, Meta(description="Pass it as `after` to get the events that follow")]
    missed: Annotated[bool, Meta(description="Whether some events are missing because they are no longer stored")]


@family.command(
    "list",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=5,
    undo=READS_ONLY,
    examples=[Example("what happened last", {"limit": 20}), Example("approval events", {"only": "approval"})],
    related=["execution/list", "approval/list"],
    is_status_poll=True,
)
async def list_events(
    ctx: Context,
    after: Annotated[str, Meta(description="Only events after this id; the newest if omitted", max_length=64)] = "",
    only: Annotated[
        str, Meta(description="Kinds or areas, such as approval or chat:message-received,execution", max_length=200)
    ] = "",
    limit: Annotated[int, Meta(description="Maximum number of events", ge=0, le=MOST)] = 100,
) -> EventPage:
    """List recent events of your rooms, oldest first: calls, executions, approvals, messages."""
    _check_kinds(only)
    recent = ctx.services.recent
    found, whole = recent.events_after(after) if after else (recent.newest(MOST), True)
    seen = [one for one in found if may_see_event(ctx.services, ctx.caller, one.event, only)]
    most = int(limit)
    if after:
        shown, left = seen[:most], len(seen) > most
    else:
        shown, left = seen[len(seen) - min(most, len(seen)) :], False
    last = shown[-1].number if left and shown else recent.number
    return {
        "items": [describe_event(ctx.services, one.number, one.event) for one in shown],
        "next": after if left and not shown else recent.id(last),
        "missed": not whole,
    }


def describe_event(house: Services, number: int, event: Event) -> EventFacts:
    """Describe an event for callers."""
    data = msgspec.to_builtins(event)
    data.pop("tenant")
    return {"id": house.recent.id(number), "event": event.name, "at": to_iso(data.pop("at")), "data": data}


def may_see_event(house: Services, caller: Caller, event: Event, only: str = "") -> bool:
    """Whether this caller may see an event: one of its tenant, and of its rooms or caused by itself."""
    if event.tenant not in ("", caller.tenant) or (isinstance(event, _SERVER_EVENTS) and caller.tenant != LOCAL):
        return False
    if only and not any(event.name in (one, f"{one}:{event.name.partition(':')[2]}") for one in _split_kinds(only)):
        return False
    if not event.tenant:
        return True
    room = str(getattr(event, "room", ""))
    if caller.rooms is not None and room not in caller.rooms:
        return False
    found = house.rooms.get(caller.tenant, room)
    if found is not None:
        return found.is_known_to(caller)
    if not room and caller.access < Access.ROOT and isinstance(event, _APPROVAL_EVENTS):
        # Outside rooms, only the person whom the keeper acts for sees and decides its approvals.
        return (event.decider if isinstance(event, ApprovalDecided) else event.behalf) in caller.identities
    if caller.acts_as_person and caller.access >= Access.FULL:
        return not room.startswith(DIRECT)  # a direct room stays private after it is gone
    asked = {getattr(event, "caller", ""), getattr(event, "behalf", "")} - {""}
    return not room and bool(asked & caller.identities)


def _split_kinds(only: str) -> list[str]:
    return [one.strip() for one in only.split(",")]


def _check_kinds(only: str) -> None:
    """Refuse unknown names: a caller would wait in vain for a mistyped event."""
    for one in _split_kinds(only) if only else ():
        if one not in _NAMES and one not in _AREAS:
            raise BadParams(
                f"event/list: unknown event {shorten(one)} in `only`. Give kinds or areas of events, separated by "
                f"commas: {', '.join((*_AREAS, *_NAMES))}."
            )
