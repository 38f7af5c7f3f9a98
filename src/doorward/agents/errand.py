"""The calls of a persona: each is shown in the room as a card and run through the gate."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from typing import Any

import msgspec

from doorward import redact
from doorward.agents.calls.wanted import Wanted
from doorward.agents.outcomes import told
from doorward.agents.surroundings import Surroundings
from doorward.approvals.approvals import Approval
from doorward.command import Command
from doorward.errors import DoorwardError, Refused
from doorward.executions.notices import Notice, Started
from doorward.model import Credential, Outcome, Request
from doorward.personas.persona import Persona
from doorward.rooms.message import SUMMARY, Card, CardState, Message
from doorward.rooms.rooms import Room
from doorward.store import open_calls
from doorward.store.open_calls import OpenCall
from doorward.store.sqlite import Statement
from doorward.visible import storable, visible

log = logging.getLogger(__name__)

DOOR = "chat"
_SHOW_AFTER = 0.3
"""Seconds after which the card of a running call shows its execution id, with which it can be watched and stopped."""
_LONGEST_NAME = 100


class Back(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one call, with the text for the model."""

    outcome: Outcome
    card: Message
    text: str
    waits: OpenCall | None = None
    """The pending call, if it waits for approval."""


class Errands:
    """The calls of one persona in one turn in one room."""

    def __init__(self, around: Surroundings, persona: Persona, room: Room, turn: str, asker: str) -> None:
        """`asker` is the person the persona acts for."""
        self.credential = Credential(persona=persona.id, asker=asker, room=room.id)
        self._around = around
        self._persona = persona
        self._room = room
        self._turn = turn
        self.topic = ""
        """The message that the turn answers."""
        self.ended_by = "Doorward stopped before the call finished."
        """The reason shown on the card if a call is interrupted."""

    async def run(self, wanted: Wanted, response: str, rounds: int) -> Back:
        """Run a call of the model through the gate."""
        card = self.card(wanted)
        call = OpenCall(
            card="",
            tenant=self._room.tenant,
            room=self._room.id,
            persona=self._persona.id,
            turn=self._turn,
            rounds=rounds,
            at=self._around.services.clock.now(),
            asker=self.credential.asker,
        )
        message = await self._show(card, call)
        request = Request(
            command=wanted.name,
            credential=self.credential,
            door=DOOR,
            room=self._room.id,
            params=wanted.params if wanted.args is None else None,
            args=wanted.args,
            session=f"persona:{self._persona.id}:{self._room.id}",
            response=response,
        )
        return await self._ask(request, message, card, msgspec.structs.replace(call, card=message.id))

    def card(self, wanted: Wanted) -> Card:
        """Return the card shown until the gate admits the call, which can take seconds (a trial on a copy of files)."""
        return Card(command=self._name(wanted.name), params=self._shown(wanted), state="waiting", topic=self.topic)

    async def _show(self, card: Card, call: OpenCall) -> Message:
        """Post the card, with a row that lets a restart find an unfinished call."""
        saying = asyncio.ensure_future(
            self._around.services.messages.say(
                self._room,
                self._persona.id,
                "ai",
                "",
                attachments=[card],
                notify=False,
                also=lambda said: [open_calls.put(msgspec.structs.replace(call, card=said.id))],
            )
        )
        try:
            return await asyncio.shield(saying)
        except asyncio.CancelledError:  # the write completes regardless
            await asyncio.shield(asyncio.ensure_future(self._unsaid(saying, card)))
            raise

    async def _unsaid(self, saying: asyncio.Future[Message], card: Card) -> None:
        message = await saying
        await self._broken_off(_Shown(self._around, message, card), message.id)

    async def resume(self, call: OpenCall, message: Message, approval: Approval, response: str) -> Back:
        """Run an approved call. Every check runs again, and the approval is used up."""
        card = card_of(message)
        request = Request(
            command=approval.command,
            credential=self.credential,
            door=DOOR,
            room=self._room.id,
            params=json.loads(approval.params),
            ticket=approval.id,
            session=f"persona:{self._persona.id}:{self._room.id}",
            response=response,
        )
        again = msgspec.structs.replace(card, state="waiting", approval=approval.id, summary="")
        # A first try that was rate limited has closed the row.
        message = await self._around.services.messages.revise(
            message, attachments=[again], also=lambda _: (open_calls.put(call),)
        )
        return await self._ask(request, message, again, call)

    async def _ask(self, request: Request, message: Message, card: Card, call: OpenCall) -> Back:
        shown = _Shown(self._around, message, card)
        try:
            outcome = await self._around.gate.handle(request, shown.watch)
        except asyncio.CancelledError:
            await asyncio.shield(asyncio.ensure_future(self._broken_off(shown, call.card)))
            raise
        text = told(outcome)
        if outcome.status == "parked":
            waiting = msgspec.structs.replace(call, approval=outcome.ticket)
            parked = shown.as_it_ended(outcome, approval=outcome.ticket)
            try:
                message = await shown.put(parked, open_calls.put(waiting))
            except DoorwardError as error:  # the approval is open regardless, so wait for its decision
                log.warning(
                    "the card of the call waiting for approval %s could not be stored: %s", outcome.ticket, error
                )
            return Back(outcome=outcome, card=message, text=text, waits=waiting)
        message = await shown.put(shown.as_it_ended(outcome, approval=request.ticket), open_calls.close(call.card))
        return Back(outcome=outcome, card=message, text=text)

    async def _broken_off(self, shown: _Shown, card: str) -> None:
        gone = msgspec.structs.replace(shown.card, state="failed", code="cancelled", summary=visible(self.ended_by))
        await shown.put(gone, open_calls.close(card))

    def _command(self, name: str) -> Command | None:
        try:
            return self._around.services.registry.resolve(name)
        except Refused:
            return None

    def _name(self, name: str) -> str:
        command = self._command(name)
        return command.name if command is not None else visible(storable(name[:_LONGEST_NAME]), lines=False)

    def _shown(self, wanted: Wanted) -> dict[str, Any]:
        """Return the parameters as the room sees them: secrets redacted, long values cut."""
        command = self._command(wanted.name)
        given: Mapping[str, Any] = dict(wanted.args) if wanted.args is not None else wanted.params or {}
        found: dict[str, Any] = _seen(redact.params(given, command.secret if command is not None else ()))
        return found


class _Shown:
    """The card of a call, revised as the call progresses."""

    def __init__(self, around: Surroundings, message: Message, card: Card) -> None:
        self.card = card
        self._around = around
        self._message = message
        self._later: asyncio.TimerHandle | None = None
        self._showing: asyncio.Task[None] | None = None
        self._begun = asyncio.get_running_loop().time()

    def watch(self, notice: Notice) -> None:
        if isinstance(notice, Started):
            state: CardState = "waiting" if notice.queued else "running"
            self.card = msgspec.structs.replace(self.card, call=notice.execution, state=state)
            if self._later is None:
                self._later = asyncio.get_running_loop().call_later(_SHOW_AFTER, self._show_soon)

    def as_it_ended(self, outcome: Outcome, approval: str) -> Card:
        text = outcome.message if outcome.status == "parked" else outcome.text
        summary = visible(storable(redact.text(text)))[:SUMMARY]
        return msgspec.structs.replace(
            self.card,
            call=outcome.call or self.card.call,
            command=outcome.command if outcome.call else self.card.command,
            state=outcome.status,
            code=outcome.code,
            summary=summary,
            approval=approval,
            rule=outcome.rule,
            seconds=round(asyncio.get_running_loop().time() - self._begun, 3),
        )

    async def put(self, card: Card, *also: Statement) -> Message:
        """Store the final card, after any revision still being written."""
        if self._later is not None:
            self._later.cancel()
        if self._showing is not None:
            await asyncio.wait([self._showing])
        self.card = card
        self._message = await self._around.services.messages.revise(
            self._message, attachments=[card], also=lambda _: also
        )
        if self._message.deleted_at is not None:
            await self._around.services.store.write(*also)
        return self._message

    def _show_soon(self) -> None:
        self._showing = asyncio.get_running_loop().create_task(self._show())

    async def _show(self) -> None:
        self._message = await self._around.services.messages.revise(self._message, attachments=[self.card])


def card_of(message: Message) -> Card:
    """Return the card of a message, or an empty card if the message was deleted."""
    return next((one for one in message.attachments if isinstance(one, Card)), Card(command="", state="failed"))


def _seen(value: Any) -> Any:
    """Return parameters with invisible characters escaped at every level."""
    if isinstance(value, str):
        return visible(storable(value))
    if isinstance(value, Mapping):
        return {visible(storable(str(key)), lines=False): _seen(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_seen(one) for one in value]
    return value
