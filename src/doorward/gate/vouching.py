"""Who makes a call inside another, and whether they may still."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doorward.errors import NotAuthenticated
from doorward.executions.execution import Execution
from doorward.gate.authenticate import Authenticator
from doorward.model import Call, Caller, Credential, Request


class Vouching:
    """What vouched for each call that goes on by further calls, such as the keeper's work, for as long as that takes.

    Thinking takes long, and so does a script; a token that is revoked meanwhile must not act on: it is asked again
    before every call.
    """

    def __init__(self, authenticator: Authenticator) -> None:
        self._authenticator = authenticator
        self._held: dict[str, Credential] = {}

    def begin(self, call: Call, credential: Credential) -> None:
        """Remember what vouched for this call, which came in by a door, if it makes others."""
        if call.command.facts.thinks or call.command.facts.works_by_calls:
            self._held[call.id] = credential

    def end(self, call: Call) -> None:
        """To be called when the call is over, however it ended."""
        self._held.pop(call.id, None)

    def inside(self, parent: Execution) -> Caller:
        """Who asks for a call inside that one: its own caller or, where it thinks, the keeper on their behalf."""
        around: Execution | None = parent
        while around is not None:
            held = self._held.get(around.id)
            if held is not None and self._authenticator.caller(held) != around.call.caller:
                raise NotAuthenticated("Whoever asked for this may do other things now than when they asked; ask anew.")
            around = around.parent
        caller = parent.call.caller
        return caller.thinking() if parent.call.command.facts.thinks else caller


def asked_inside(call: Call, command: str, params: Mapping[str, Any], ticket: str = "") -> Request:
    """A request that a call makes itself: where that came in, in its room and place, with what it was thought of in."""
    return Request(
        command=command,
        credential=Credential(),
        door=call.door,
        room=call.room,
        params=params,
        ticket=ticket,
        session=call.session,
        response=call.response,
        thought_in=call.id if call.command.facts.thinks else call.thought_in,
        hides=call.hides,
    )
