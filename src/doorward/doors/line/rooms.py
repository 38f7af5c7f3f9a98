"""The room that a client acts in: the one it named, that of its token, or that of the settings."""

from __future__ import annotations

from doorward.errors import NotPermitted
from doorward.gate.authorize import NO_SUCH_ROOM
from doorward.gate.gate import Gate
from doorward.model import Caller
from doorward.rooms.rooms import Rooms

_MOST_NAMED = 10


class ClientRooms:
    def __init__(self, gate: Gate, rooms: Rooms, usual: str) -> None:
        self._gate = gate
        self._rooms = rooms
        self._usual = usual

    def meant(self, caller: Caller) -> str:
        """The room of somebody who names none."""
        return caller.acts_in("") or self._usual

    def check(self, caller: Caller, room: str) -> None:
        """Say so at once when a room is closed to a client, and name those that are not, rather than offer nothing."""
        try:
            self._gate.enter(caller, room)
        except NotPermitted as fault:
            raise NotPermitted(
                fault.message if fault.rule == NO_SUCH_ROOM else f"{fault.message} Yours: {self._open_to(caller)}.",
                rule=fault.rule,
                hint="Name one of them as `room`, or use a token that is good for the one you mean.",
            ) from fault

    def _open_to(self, caller: Caller) -> str:
        names = sorted(one.id for one in self._rooms.of(caller.tenant) if self._is_open(caller, one.id))
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        return (", ".join(names[:_MOST_NAMED]) or "none") + more

    def _is_open(self, caller: Caller, room: str) -> bool:
        try:
            self._gate.enter(caller, room)
        except NotPermitted:
            return False
        return True
