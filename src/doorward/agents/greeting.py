"""The greeting that the shipped guide persona posts once, in the first room."""

from __future__ import annotations

from doorward.backends.context import Services
from doorward.rooms.people import LOCAL
from doorward.store import keepsakes

GUIDE = "guide"
_GREETED = "personas.greeted"


async def greet(services: Services) -> None:
    """Greet in the guide's first room if that room has no messages."""
    if await keepsakes.get(services.store, _GREETED) is not None:
        return
    guide = services.personas.get(LOCAL, GUIDE)
    rooms = [services.rooms.get(LOCAL, name) for name in guide.rooms] if guide is not None else []
    room = next((one for one in rooms if one is not None and GUIDE in one.members and not one.archived), None)
    if room is None:
        return
    from doorward.agents.house.smalltalk import greeting  # noqa: PLC0415 - used once per installation

    said = keepsakes.put(_GREETED, room.id)
    if await services.messages.revision(room):
        await services.store.write(said)
    else:
        await services.messages.say(room, GUIDE, "ai", greeting(), notify=False, also=lambda _: (said,))
