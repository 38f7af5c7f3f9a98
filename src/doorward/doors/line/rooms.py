"""The room that a client acts in: the one it named, that of its token, or that of the settings."""

from __future__ import annotations

from doorward.errors import NotPermitted
from doorward.gate.gate import Gate
from doorward.model import Caller


class ClientRooms:
    def __init__(self, gate: Gate, usual: str) -> None:
        self._gate = gate
        self._usual = usual

    def meant(self, caller: Caller) -> str:
        """The room of somebody who names none."""
        return caller.acts_in("") or self._usual

    def check(self, caller: Caller, room: str) -> None:
        """Say so at once when a room is closed to a client, rather than offer nothing."""
        try:
            self._gate.enter(caller, room)
        except NotPermitted as fault:
            raise NotPermitted(
                fault.message,
                rule=fault.rule,
                hint="Name one of yours as `room`, or use a token that is good for the one you mean.",
            ) from fault
