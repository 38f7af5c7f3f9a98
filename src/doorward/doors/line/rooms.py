"""The room of a client: the one it named, its token's room, or the default room of the settings."""

from __future__ import annotations

from doorward.errors import NotPermitted
from doorward.gate.gate import Gate
from doorward.model import Caller


class ClientRooms:
    def __init__(self, gate: Gate, usual: str) -> None:
        self._gate = gate
        self._usual = usual

    def meant(self, caller: Caller) -> str:
        """The room of a caller that names none."""
        return caller.acts_in("") or self._usual

    def check(self, caller: Caller, room: str) -> None:
        """Raise an error when the client may not enter the room, instead of offering it no tools."""
        try:
            self._gate.enter(caller, room)
        except NotPermitted as fault:
            raise NotPermitted(
                fault.message,
                rule=fault.rule,
                hint="Use one of your own rooms as `room`, or a token that is valid for this room.",
            ) from fault
