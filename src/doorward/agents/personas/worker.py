"""The worker of a persona in a room: one turn at a time, and its calls that wait for approval."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable

import msgspec

from doorward.agents.context import AgentContext
from doorward.agents.models.model import ChatTurn
from doorward.agents.personas.tool_calls import get_card
from doorward.agents.personas.turn import PersonaTurn, append_note
from doorward.core.errors import DoorwardError, NotFound
from doorward.core.escape_invisible import escape_invisible
from doorward.core.events import ApprovalDecided
from doorward.core.ids import new_id
from doorward.core.names import wire_name
from doorward.gate.approval import Approval
from doorward.rooms.message import Message
from doorward.rooms.people import LOCAL
from doorward.rooms.personas.persona import Persona
from doorward.rooms.rooms import Room
from doorward.store import approvals, persona_calls
from doorward.store.persona_calls import OpenCall

log = logging.getLogger(__name__)

OnDecided = Callable[[OpenCall], None]
"""Called when a call stops waiting: it was decided, or its approval expired."""
_EXPIRY_MARGIN = 0.05
"""Seconds added to an expiry time, so that the approval has expired when it is checked."""
_RETRY_SECONDS = 30.0
"""Seconds before a failed check is repeated."""


class PendingCalls:
    def __init__(self, around: AgentContext, over: OnDecided) -> None:
        self._context = around
        self._on_decided = over
        self._calls: dict[str, OpenCall] = {}
        self._expiry: dict[str, float] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._checks: set[asyncio.Task[None]] = set()

    async def add(self, call: OpenCall) -> None:
        """Wait for the decision about a call; it may have been made already."""
        self._calls[call.approval] = call
        await self._check(call)
        self._set_timer()

    def all(self) -> list[OpenCall]:
        return list(self._calls.values())

    def of(self, persona: str, room: str) -> list[OpenCall]:
        return [one for one in self._calls.values() if (one.persona, one.room) == (persona, room)]

    def has_other_calls(self, turn: str) -> bool:
        """Whether other calls of a turn wait."""
        return any(one.turn == turn for one in self._calls.values())

    def drop(self, call: OpenCall) -> None:
        self._calls.pop(call.approval, None)
        self._expiry.pop(call.approval, None)

    def on_decision(self, event: ApprovalDecided) -> None:
        call = self._calls.get(event.approval)
        if call is not None and event.state != "pending":
            self._release(call)

    async def check_all(self) -> None:
        """Check all calls for decisions and expiry."""
        for call in list(self._calls.values()):
            await self._check(call)
        self._set_timer()

    async def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        for task in self._checks:
            task.cancel()
        await asyncio.gather(*self._checks, return_exceptions=True)

    async def _check(self, call: OpenCall) -> None:
        try:
            approval = await find_approval(self._context, call)
        except DoorwardError as error:
            log.warning("the approval of the call %s cannot be checked now: %s", call.card, error)
            self._expiry[call.approval] = self._context.services.clock.now() + _RETRY_SECONDS
            return
        if approval is None or approval.state != "pending":
            self._release(call)
        elif self._calls.get(call.approval) is call:  # not decided during the check
            self._expiry[call.approval] = approval.expires_at

    def _release(self, call: OpenCall) -> None:
        if self._calls.get(call.approval) is call:
            self.drop(call)
            self._on_decided(call)

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._expiry:
            wait = max(0.0, min(self._expiry.values()) - self._context.services.clock.now()) + _EXPIRY_MARGIN
            self._timer = asyncio.get_running_loop().call_later(wait, self._schedule_check)

    def _schedule_check(self) -> None:
        task = asyncio.get_running_loop().create_task(self.check_all())
        self._checks.add(task)
        task.add_done_callback(self._checks.discard)


async def find_approval(around: AgentContext, call: OpenCall) -> Approval | None:
    try:
        return await around.services.approvals.find(call.tenant, call.approval)
    except NotFound:
        return None


STOPPED = "Doorward stopped before the call finished."
_FAILED = "Something went wrong while I worked on this. Doorward's log has the details."
_DO_NOT_REPEAT = "Do not make this call again now. Do something else, or ask people what they prefer."
_MAX_QUEUED = 20
"""The most messages that wait for an answer."""
_MAX_WAIT = 60.0
"""The longest an approved call waits, once, for the room's rate limit."""


class PersonaWorker:
    def __init__(
        self, around: AgentContext, waiting: PendingCalls, persona: str, room: str, done: Callable[[], object]
    ) -> None:
        """`done` is called when no work is left."""
        self._context = around
        self._pending_calls = waiting
        self._persona = persona
        self._room = room
        self._on_idle = done
        self._messages: list[tuple[str, Message]] = []
        """The messages to answer, oldest first, each with the person it is answered for."""
        self._untaken = 0
        """How many messages came while the queue was full."""
        self._decided: list[OpenCall] = []
        self._turn: PersonaTurn | None = None
        self._stop_reason = STOPPED
        self._stop_message = ""
        self._unfinished = ""
        self.task: asyncio.Task[None] | None = None

    def add_message(self, message: Message, asker: str) -> None:
        """Queue a message. Each gets a turn, so that none is passed over and nothing is done for somebody else."""
        if len(self._messages) < _MAX_QUEUED:
            self._messages.append((asker, message))
        else:
            self._untaken += 1
        self._start()

    def add_decided_call(self, call: OpenCall) -> None:
        """Queue a call that stopped waiting for approval."""
        self._decided.append(call)
        self._start()

    async def stop(self, reason: str, says: str = "") -> None:
        """Cancel the current turn and all queued work; return once the final message is stored."""
        self._stop_reason, self._stop_message = reason, says
        self._messages, self._decided, self._untaken = [], [], 0
        if self._turn is not None:
            self._turn.tool_calls.ended_by = reason
        if self.task is not None:
            task = self.task
            task.cancel()
            await asyncio.wait([task])
            if self.task is task:  # cancelled before it started running
                self._finish()

    def _start(self) -> None:
        if self.task is None:
            self.task = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        live = self._context.services.live
        room = self._context.services.rooms.get(LOCAL, self._room)
        try:
            while self._decided or self._messages:
                persona = self._context.services.personas.get(LOCAL, self._persona)
                room = self._context.services.rooms.get(LOCAL, self._room)
                if persona is None or room is None or room.archived or persona.id not in room.members:
                    await self._abandon_all(room)
                    break
                live.publish_thinking(room, self._persona, "thinking")
                await self._run_next(persona, room)
                if self._untaken and not self._messages:
                    await self._report_untaken(room)
        except asyncio.CancelledError:
            if self._stop_message and room is not None:
                await asyncio.shield(asyncio.ensure_future(self._post_stop_message(room)))
        finally:
            self._finish()
            if room is not None:
                waits = self._pending_calls.of(self._persona, self._room)
                live.publish_thinking(room, self._persona, "waiting" if waits else "idle")

    def _finish(self) -> None:
        self.task = None
        if self._decided or self._messages:
            self._start()  # new work arrived during the stop
        else:
            self._on_idle()

    async def _abandon_all(self, room: Room | None) -> None:
        """Drop all queued work, because the persona or the room is gone."""
        self._messages, self._untaken = [], 0
        while self._decided:
            call = self._decided.pop(0)
            await abandon_call(self._context, call, room, "The persona is no longer in this room.")

    async def _run_next(self, persona: Persona, room: Room) -> None:
        try:
            if self._decided:
                await self._continue_turn(persona, room, self._decided.pop(0))
            elif self._messages:
                asker, message = self._messages.pop(0)
                await self._run_turn(PersonaTurn(self._context, persona, room, asker), message)
        except DoorwardError as error:
            log.warning("a turn of %s in %s could not be finished: %s", self._persona, self._room, error)
        except Exception:
            log.exception("a turn of %s in %s failed", self._persona, self._room)
            await report_failure(self._context, room, persona.id)

    async def _report_untaken(self, room: Room) -> None:
        """Tell the room how many messages were not queued."""
        count, self._untaken = self._untaken, 0
        text = f"I did not take {count} more messages, because {_MAX_QUEUED} were waiting. Please send them again."
        await self._context.services.messages.post(room, self._persona, "ai", text)

    async def _run_turn(self, turn: PersonaTurn, message: Message, result: ChatTurn | None = None) -> None:
        self._turn = turn
        try:
            await turn.answer(message, result, frozenset(one.id for _, one in self._messages))
        except asyncio.CancelledError:  # the code that stops the turn closes its pending calls
            turn.pending.clear()
            self._unfinished = turn.unfinished
            raise
        finally:
            self._turn = None
            for call in turn.pending:  # also after a failure: the approvals are open, and decisions count
                await self._pending_calls.add(call)

    async def _continue_turn(self, persona: Persona, room: Room, call: OpenCall) -> None:
        """Apply the decision about a call, and continue its turn once none of its calls waits."""
        try:
            card = await self._context.services.messages.get(room, call.card)
        except NotFound:
            await abandon_call(self._context, call, None, "")
            return
        turn = PersonaTurn(self._context, persona, room, call.asker, id=call.turn, rounds=call.rounds)
        result = await self._apply_decision(turn, call, card)
        if (
            result is not None
            and not self._pending_calls.has_other_calls(call.turn)
            and not self._has_decided_calls(call.turn)
        ):
            await self._run_turn(turn, card, result)

    def _has_decided_calls(self, turn: str) -> bool:
        return any(one.turn == turn for one in self._decided)

    async def _apply_decision(self, turn: PersonaTurn, call: OpenCall, card: Message) -> ChatTurn | None:
        """Return the result of a call that waited for approval; None if it waits again."""
        approval = await find_approval(self._context, call)
        command = get_card(card).command or (approval.command if approval is not None else "")
        if approval is None or approval.state != "approved":
            text = f"{command}: {await self._close_denied(call, card, approval)}\n{_DO_NOT_REPEAT}"
            return ChatTurn(role="result", text=text, answers=card.id, tool=wire_name(command))
        self._turn = turn
        try:
            back = await turn.tool_calls.resume(call, card, approval, new_id())
            wait = back.outcome.retry_after
            if back.outcome.code == "too_fast" and wait is not None and wait <= _MAX_WAIT:
                await asyncio.sleep(wait)
                back = await turn.tool_calls.resume(call, back.card, approval, new_id())
        finally:
            self._turn = None
        if back.waits is not None:
            await self._pending_calls.add(back.waits)
            return None
        said = f"Approved. {back.text}"
        return ChatTurn(role="result", text=said, answers=card.id, tool=wire_name(command))

    async def _close_denied(self, call: OpenCall, card: Message, approval: Approval | None) -> str:
        """Close the card of a call that will not run; return the reason."""
        if approval is not None and approval.state == "denied":
            given = await self._context.services.approvals.decisions(approval)
            who = ", ".join(one["decider"] for one in given if one["verdict"] == "deny") or "a person"
            why = f"Denied by {escape_invisible(who)}{f': {approval.reason}' if approval.reason else '.'}"
        elif approval is not None and approval.state == "used":
            why = STOPPED
        else:
            why = "Expired: nobody decided in time."
        used = approval.used_by or "" if approval is not None else ""
        await close_card(self._context, call, card, why, failed=why == STOPPED, execution=used)
        return why

    async def _post_stop_message(self, room: Room) -> None:
        """Post the unfinished text with a note. It triggers no answers, since it may be half a sentence."""
        words, self._unfinished = self._unfinished, ""
        text = append_note(words, f"(stopped here)\n{self._stop_message}") if words else self._stop_message
        await self._context.services.messages.post(room, self._persona, "ai", text, notify=not words)


async def report_failure(around: AgentContext, room: Room, persona: str) -> None:
    """Tell the room that the persona failed, and where to find the reason."""
    try:
        await around.services.messages.post(room, persona, "ai", _FAILED)
    except DoorwardError as error:
        log.warning("the room %s could not be told that %s failed: %s", room.id, persona, error)


async def abandon_call(around: AgentContext, call: OpenCall, room: Room | None, reason: str) -> None:
    """End a call that will not continue, together with its approval and its card, if it still has one."""
    if call.approval:
        await around.services.store.write(approvals.expire_now(call.approval, around.services.clock.now()))
    if room is not None:
        with contextlib.suppress(NotFound):
            await close_card(around, call, await around.services.messages.get(room, call.card), reason, failed=True)
            return
    await around.services.store.write(persona_calls.close(call.card))


async def close_card(
    around: AgentContext, call: OpenCall, card: Message, why: str, *, failed: bool, execution: str = ""
) -> None:
    """Close the card of a call that will not continue."""
    shown = msgspec.structs.replace(
        get_card(card), state="failed" if failed else "refused", code="cancelled" if failed else "not_approved"
    )
    shown = msgspec.structs.replace(shown, summary=why, call=execution or shown.call)
    done = persona_calls.close(call.card)
    message = await around.services.messages.revise(card, attachments=[shown], also=lambda _: (done,))
    if message.deleted_at is not None:
        await around.services.store.write(done)
