"""The worker of one persona in one room: it runs one turn at a time and exists only while there is work."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable

import msgspec

from doorward.agents.errand import card_of
from doorward.agents.models.model import Turn
from doorward.agents.surroundings import Surroundings
from doorward.agents.turn import TurnTaking, with_note
from doorward.agents.waiting import Waiting, approval_of
from doorward.approvals.approvals import Approval
from doorward.errors import DoorwardError, NotFound
from doorward.ids import new_id
from doorward.names import wire_name
from doorward.personas.persona import Persona
from doorward.rooms.message import Message
from doorward.rooms.people import LOCAL
from doorward.rooms.rooms import Room
from doorward.store import approvals, open_calls
from doorward.store.open_calls import OpenCall
from doorward.visible import visible

log = logging.getLogger(__name__)

STOPPED = "Doorward stopped before the call finished."
_BROKE = "Something went wrong while I worked on this. Doorward's log has the details."
_NOT_AGAIN = "Do not make this call again now. Do something else, or ask people what they prefer."
_MOST_WAIT = 60.0
"""The longest an approved call waits, once, for the room's rate limit."""


class Worker:
    def __init__(
        self, around: Surroundings, waiting: Waiting, persona: str, room: str, done: Callable[[], object]
    ) -> None:
        """`done` is called when no work is left."""
        self._around = around
        self._waiting = waiting
        self._persona = persona
        self._room = room
        self._done = done
        self._heard: dict[str, Message] = {}
        """The message to answer, by the person it is answered for."""
        self._decided: list[OpenCall] = []
        self._turn: TurnTaking | None = None
        self._ended_by = STOPPED
        self._says = ""
        self._unfinished = ""
        self.task: asyncio.Task[None] | None = None

    def hear(self, message: Message, asker: str) -> None:
        """Queue a message. It replaces an unanswered message of the same person; both are answered together.

        Each person's messages get their own turn, so that nothing is done for one person at another's request.
        """
        self._heard[asker] = message
        self._start()

    def resume(self, call: OpenCall) -> None:
        """Queue a call that stopped waiting for approval."""
        self._decided.append(call)
        self._start()

    async def stop(self, reason: str, says: str = "") -> None:
        """Cancel the current turn and all queued work; return once the final message is stored."""
        self._ended_by, self._says = reason, says
        self._heard, self._decided = {}, []
        if self._turn is not None:
            self._turn.errands.ended_by = reason
        if self.task is not None:
            task = self.task
            task.cancel()
            await asyncio.wait([task])
            if self.task is task:  # cancelled before it started running
                self._ended()

    def _start(self) -> None:
        if self.task is None:
            self.task = asyncio.get_running_loop().create_task(self._work())

    async def _work(self) -> None:
        live = self._around.services.live
        room = self._around.services.rooms.get(LOCAL, self._room)
        try:
            while self._decided or self._heard:
                persona = self._around.services.personas.get(LOCAL, self._persona)
                room = self._around.services.rooms.get(LOCAL, self._room)
                if persona is None or room is None or room.archived or persona.id not in room.members:
                    await self._give_up(room)
                    break
                live.thinking(room, self._persona, "thinking")
                await self._do_next(persona, room)
        except asyncio.CancelledError:
            if self._says and room is not None:
                await asyncio.shield(asyncio.ensure_future(self._last_words(room)))
        finally:
            self._ended()
            if room is not None:
                waits = self._waiting.of(self._persona, self._room)
                live.thinking(room, self._persona, "waiting" if waits else "idle")

    def _ended(self) -> None:
        self.task = None
        if self._decided or self._heard:
            self._start()  # new work arrived during the stop
        else:
            self._done()

    async def _give_up(self, room: Room | None) -> None:
        """Drop all queued work, because the persona or the room is gone."""
        self._heard = {}
        while self._decided:
            call = self._decided.pop(0)
            await give_up(self._around, call, room, "The persona is no longer in this room.")

    async def _do_next(self, persona: Persona, room: Room) -> None:
        try:
            if self._decided:
                await self._go_on(persona, room, self._decided.pop(0))
            elif self._heard:
                asker = next(iter(self._heard))
                await self._take(TurnTaking(self._around, persona, room, asker), self._heard.pop(asker))
        except DoorwardError as error:
            log.warning("a turn of %s in %s could not be finished: %s", self._persona, self._room, error)
        except Exception:
            log.exception("a turn of %s in %s failed", self._persona, self._room)
            await say_it_broke(self._around, room, persona.id)

    async def _take(self, turn: TurnTaking, message: Message, result: Turn | None = None) -> None:
        self._turn = turn
        try:
            await turn.take(message, result)
        except asyncio.CancelledError:  # the code that stops the turn closes its pending calls
            turn.waits.clear()
            self._unfinished = turn.unfinished
            raise
        finally:
            self._turn = None
            for call in turn.waits:  # also after a failure: the approvals are open, and decisions count
                await self._waiting.add(call)

    async def _go_on(self, persona: Persona, room: Room, call: OpenCall) -> None:
        """Apply the decision about a call, and continue its turn once none of its calls waits."""
        try:
            card = await self._around.services.messages.get(room, call.card)
        except NotFound:
            await give_up(self._around, call, None, "")
            return
        turn = TurnTaking(self._around, persona, room, call.asker, id=call.turn, rounds=call.rounds)
        result = await self._decision(turn, call, card)
        if result is not None and not self._waiting.others(call.turn) and not self._more_of(call.turn):
            await self._take(turn, card, result)

    def _more_of(self, turn: str) -> bool:
        return any(one.turn == turn for one in self._decided)

    async def _decision(self, turn: TurnTaking, call: OpenCall, card: Message) -> Turn | None:
        """Return the result of a call that waited for approval; None if it waits again."""
        approval = await approval_of(self._around, call)
        command = card_of(card).command or (approval.command if approval is not None else "")
        if approval is None or approval.state != "approved":
            text = f"{command}: {await self._declined(call, card, approval)}\n{_NOT_AGAIN}"
            return Turn(role="result", text=text, answers=card.id, tool=wire_name(command))
        self._turn = turn
        try:
            back = await turn.errands.resume(call, card, approval, new_id())
            wait = back.outcome.retry_after
            if back.outcome.code == "too_fast" and wait is not None and wait <= _MOST_WAIT:
                await asyncio.sleep(wait)
                back = await turn.errands.resume(call, back.card, approval, new_id())
        finally:
            self._turn = None
        if back.waits is not None:
            await self._waiting.add(back.waits)
            return None
        said = f"A person said yes. {back.text}"
        return Turn(role="result", text=said, answers=card.id, tool=wire_name(command))

    async def _declined(self, call: OpenCall, card: Message, approval: Approval | None) -> str:
        """Close the card of a call that will not run; return the reason."""
        if approval is not None and approval.state == "denied":
            given = await self._around.services.approvals.decisions(approval)
            who = ", ".join(one["decider"] for one in given if one["verdict"] == "deny") or "a person"
            why = f"Denied by {visible(who)}."
        elif approval is not None and approval.state == "used":
            why = STOPPED
        else:
            why = "Expired: nobody decided in time."
        used = approval.used_by or "" if approval is not None else ""
        await close(self._around, call, card, why, failed=why == STOPPED, execution=used)
        return why

    async def _last_words(self, room: Room) -> None:
        """Post the unfinished text with a note. It triggers no answers, since it may be half a sentence."""
        words, self._unfinished = self._unfinished, ""
        text = with_note(words, f"(stopped here)\n{self._says}") if words else self._says
        await self._around.services.messages.say(room, self._persona, "ai", text, notify=not words)


async def say_it_broke(around: Surroundings, room: Room, persona: str) -> None:
    """Tell the room that the persona failed, and where to find the reason."""
    try:
        await around.services.messages.say(room, persona, "ai", _BROKE)
    except DoorwardError as error:
        log.warning("the room %s could not be told that %s failed: %s", room.id, persona, error)


async def give_up(around: Surroundings, call: OpenCall, room: Room | None, reason: str) -> None:
    """End a call that will not continue, together with its approval and its card, if it still has one."""
    if call.approval:
        await around.services.store.write(approvals.lapse(call.approval, around.services.clock.now()))
    if room is not None:
        with contextlib.suppress(NotFound):
            await close(around, call, await around.services.messages.get(room, call.card), reason, failed=True)
            return
    await around.services.store.write(open_calls.close(call.card))


async def close(
    around: Surroundings, call: OpenCall, card: Message, why: str, *, failed: bool, execution: str = ""
) -> None:
    """Close the card of a call that will not continue."""
    shown = msgspec.structs.replace(
        card_of(card), state="failed" if failed else "refused", code="cancelled" if failed else "not_approved"
    )
    shown = msgspec.structs.replace(shown, summary=why, call=execution or shown.call)
    done = open_calls.close(call.card)
    message = await around.services.messages.revise(card, attachments=[shown], also=lambda _: (done,))
    if message.deleted_at is not None:
        await around.services.store.write(done)
