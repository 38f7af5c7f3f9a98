"""The calls of a persona: each is shown in the room as a card and run through the gate."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from doorward.agents.calls.parsed import ParsedCall
from doorward.agents.context import AgentContext
from doorward.agents.tool_results import describe_outcome
from doorward.core import redact
from doorward.core.command import Command
from doorward.core.errors import DoorwardError, Refused
from doorward.core.escape_invisible import escape_invisible, to_storable
from doorward.core.model import Credential, Outcome, Request
from doorward.gate.approval import Approval
from doorward.gate.executions.notices import Notice, StartedNotice, StepNotice
from doorward.rooms.message import MAX_SUMMARY, Card, CardState, Message
from doorward.rooms.personas.persona import Persona
from doorward.rooms.rooms import Room
from doorward.store import approvals, persona_calls
from doorward.store.persona_calls import OpenCall
from doorward.store.sqlite import Statement

log = logging.getLogger(__name__)

DOOR = "chat"
_SHOW_ID_AFTER = 0.3
"""Seconds after which the card of a running call shows its execution id, with which it can be watched and stopped."""
_MAX_NAME = 100


class CardResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one call, with the text for the model."""

    outcome: Outcome
    card: Message
    text: str
    waits: OpenCall | None = None
    """The pending call, if it waits for approval."""


class ToolCalls:
    """The calls of one persona in one turn in one room."""

    def __init__(self, around: AgentContext, persona: Persona, room: Room, turn: str, asker: str) -> None:
        """`asker` is the person the persona acts for."""
        self.credential = Credential(persona=persona.id, asker=asker, room=room.id)
        self._context = around
        self._persona = persona
        self._room = room
        self._turn = turn
        self.topic = ""
        """The message that the turn answers."""
        self.ended_by = "Doorward stopped before the call finished."
        """The reason shown on the card if a call is interrupted."""

    async def run(self, wanted: ParsedCall, response: str, rounds: int) -> CardResult:
        """Run a call of the model through the gate."""
        card = self.card(wanted)
        call = OpenCall(
            card="",
            tenant=self._room.tenant,
            room=self._room.id,
            persona=self._persona.id,
            turn=self._turn,
            rounds=rounds,
            at=self._context.services.clock.now(),
            asker=self.credential.asker,
        )
        message = await self._post_card(card, call)
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
        return await self._run_request(request, message, card, msgspec.structs.replace(call, card=message.id))

    def card(self, wanted: ParsedCall) -> Card:
        """Return the card shown until the gate admits the call, which can take seconds (a trial on a copy of files)."""
        return Card(
            command=self._name(wanted.name), params=self._visible_params(wanted), state="waiting", topic=self.topic
        )

    async def _post_card(self, card: Card, call: OpenCall) -> Message:
        """Post the card, with a row that lets a restart find an unfinished call."""
        saying = asyncio.ensure_future(
            self._context.services.messages.post(
                self._room,
                self._persona.id,
                "ai",
                "",
                attachments=[card],
                notify=False,
                also=lambda said: [persona_calls.put(msgspec.structs.replace(call, card=said.id))],
            )
        )
        try:
            return await asyncio.shield(saying)
        except asyncio.CancelledError:  # the write completes regardless
            await asyncio.shield(asyncio.ensure_future(self._close_unsent(saying, card)))
            raise

    async def _close_unsent(self, saying: asyncio.Future[Message], card: Card) -> None:
        message = await saying
        await self._close_interrupted(_CallCard(self._context, message, card), message.id)

    async def resume(self, call: OpenCall, message: Message, approval: Approval, response: str) -> CardResult:
        """Run an approved call. Every check runs again, and the approval is used up."""
        card = get_card(message)
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
        message = await self._context.services.messages.revise(
            message, attachments=[again], also=lambda _: (persona_calls.put(call),)
        )
        back = await self._run_request(request, message, again, call)
        if card.command == approval.command:
            return back
        text = describe_outcome(msgspec.structs.replace(back.outcome, command=card.command))
        part = f"\nOnly {approval.command} was run, as approved. The rest of {card.command} was not."
        return msgspec.structs.replace(back, text=text + part)

    async def _run_request(self, request: Request, message: Message, card: Card, call: OpenCall) -> CardResult:
        shown = _CallCard(self._context, message, card)
        try:
            outcome = await self._context.gate.handle(request, shown.on_notice)
        except asyncio.CancelledError:
            await asyncio.shield(asyncio.ensure_future(self._close_interrupted(shown, call.card)))
            raise
        if shown.parked_inside and outcome.status != "parked":
            outcome = await self._wait_for_inner_call(outcome, shown.parked_inside)
        text = describe_outcome(outcome)
        if outcome.status == "parked":
            waiting = msgspec.structs.replace(call, approval=outcome.ticket)
            parked = shown.final_card(outcome, approval=outcome.ticket)
            try:
                message = await shown.store(parked, persona_calls.put(waiting))
            except DoorwardError as error:  # the approval is open regardless, so wait for its decision
                log.warning(
                    "the card of the call waiting for approval %s could not be stored: %s", outcome.ticket, error
                )
            return CardResult(outcome=outcome, card=message, text=text, waits=waiting)
        message = await shown.store(shown.final_card(outcome, approval=request.ticket), persona_calls.close(call.card))
        return CardResult(outcome=outcome, card=message, text=text)

    async def _wait_for_inner_call(self, outcome: Outcome, parked: Sequence[Mapping[str, Any]]) -> Outcome:
        """The outcome of a call in which another one waits for approval: it waits too, for the first of them.

        Nobody would run the others after an approval, so they expire now.
        """
        first, *others = parked
        services = self._context.services
        if others:
            tickets = [str(one["ticket"]) for one in others]
            await approvals.expire_all_now(services.store, tickets, services.clock.now())
        return msgspec.structs.replace(
            outcome,
            status="parked",
            code="approval_needed",
            message=f"{first['command']} is waiting for approval.",
            ticket=str(first["ticket"]),
        )

    async def _close_interrupted(self, shown: _CallCard, card: str) -> None:
        gone = msgspec.structs.replace(
            shown.card, state="failed", code="cancelled", summary=escape_invisible(self.ended_by)
        )
        await shown.store(gone, persona_calls.close(card))

    def _command(self, name: str) -> Command | None:
        try:
            return self._context.services.registry.resolve(name)
        except Refused:
            return None

    def _name(self, name: str) -> str:
        command = self._command(name)
        return command.name if command is not None else escape_invisible(to_storable(name[:_MAX_NAME]), lines=False)

    def _visible_params(self, wanted: ParsedCall) -> dict[str, Any]:
        """Return the parameters as the room sees them: secrets redacted, long values cut."""
        command = self._command(wanted.name)
        given: Mapping[str, Any] = dict(wanted.args) if wanted.args is not None else wanted.params or {}
        found: dict[str, Any] = _escape_params(redact.params(given, command.secret if command is not None else ()))
        return found


class _CallCard:
    """The card of a call, revised as the call progresses."""

    def __init__(self, around: AgentContext, message: Message, card: Card) -> None:
        self.card = card
        self._context = around
        self._message = message
        self._timer: asyncio.TimerHandle | None = None
        self._update: asyncio.Task[None] | None = None
        self._started = asyncio.get_running_loop().time()
        self.parked_inside: list[Mapping[str, Any]] = []
        """The calls, at any depth inside this one, that wait for approval: their command, execution and ticket."""

    def on_notice(self, notice: Notice) -> None:
        if isinstance(notice, StepNotice) and notice.kind == "waits":
            self.parked_inside.append(notice.data)
        if isinstance(notice, StartedNotice):
            state: CardState = "waiting" if notice.queued else "running"
            self.card = msgspec.structs.replace(self.card, call=notice.execution, state=state)
            if self._timer is None:
                self._timer = asyncio.get_running_loop().call_later(_SHOW_ID_AFTER, self._schedule_update)

    def final_card(self, outcome: Outcome, approval: str) -> Card:
        text = outcome.message if outcome.status == "parked" else outcome.text
        summary = escape_invisible(to_storable(redact.text(text)))[:MAX_SUMMARY]
        return msgspec.structs.replace(
            self.card,
            call=outcome.call or self.card.call,
            command=outcome.command if outcome.call and not self.card.approval else self.card.command,
            state=outcome.status,
            code=outcome.code,
            summary=summary,
            approval=approval,
            rule=outcome.rule,
            seconds=round(asyncio.get_running_loop().time() - self._started, 3),
        )

    async def store(self, card: Card, *also: Statement) -> Message:
        """Store the final card, after any revision still being written."""
        if self._timer is not None:
            self._timer.cancel()
        if self._update is not None:
            await asyncio.wait([self._update])
        self.card = card
        self._message = await self._context.services.messages.revise(
            self._message, attachments=[card], also=lambda _: also
        )
        if self._message.deleted_at is not None:
            await self._context.services.store.write(*also)
        return self._message

    def _schedule_update(self) -> None:
        self._update = asyncio.get_running_loop().create_task(self._store_update())

    async def _store_update(self) -> None:
        self._message = await self._context.services.messages.revise(self._message, attachments=[self.card])


def get_card(message: Message) -> Card:
    """Return the card of a message, or an empty card if the message was deleted."""
    return next((one for one in message.attachments if isinstance(one, Card)), Card(command="", state="failed"))


def _escape_params(value: Any) -> Any:
    """Return parameters with invisible characters escaped at every level."""
    if isinstance(value, str):
        return escape_invisible(to_storable(value))
    if isinstance(value, Mapping):
        return {escape_invisible(to_storable(str(key)), lines=False): _escape_params(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_escape_params(one) for one in value]
    return value
