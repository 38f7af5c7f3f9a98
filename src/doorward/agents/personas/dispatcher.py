"""Dispatches room messages and approvals to persona workers, while the server runs."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

from doorward.agents.context import AgentContext, ModelSource
from doorward.agents.effort.service import EffortAgents
from doorward.agents.models.model import ModelFailed
from doorward.agents.personas.reply_rules import should_answer
from doorward.agents.personas.worker import STOPPED, PendingCalls, PersonaWorker, abandon_call, report_failure
from doorward.agents.token_budget import IN_PROCESS_MODELS
from doorward.commands.context import Services
from doorward.core.errors import DoorwardError, NotFound
from doorward.core.escape_invisible import escape_invisible
from doorward.core.events import ApprovalDecided, Event, MessageReceived, PersonaLoaded, RoomChanged
from doorward.gate.gate import Gate
from doorward.rooms.people import LOCAL
from doorward.rooms.personas.persona import Persona
from doorward.rooms.rooms import Room
from doorward.store import kv, persona_calls
from doorward.store.persona_calls import OpenCall

GUIDE_PERSONA = "guide"
_GREETED_KEY = "personas.greeted"


async def greet(services: Services) -> None:
    """Greet in the guide's first room if that room has no messages."""
    if await kv.get(services.store, _GREETED_KEY) is not None:
        return
    guide = services.personas.get(LOCAL, GUIDE_PERSONA)
    rooms = [services.rooms.get(LOCAL, name) for name in guide.rooms] if guide is not None else []
    room = next((one for one in rooms if one is not None and GUIDE_PERSONA in one.members and not one.archived), None)
    if room is None:
        return
    from doorward.agents.house.smalltalk import greeting  # noqa: PLC0415 - used once per installation

    said = kv.put(_GREETED_KEY, room.id)
    if await services.messages.revision(room):
        await services.store.write(said)
    else:
        await services.messages.post(room, GUIDE_PERSONA, "ai", greeting(), notify=False, also=lambda _: (said,))


log = logging.getLogger(__name__)

_RETRY_SECONDS = 30.0
"""Seconds before start-up work that failed is tried again."""
_LATE_ANSWER_SECONDS = 300.0
"""Seconds for which a message that a former process left unanswered is still answered."""
_LEFT_ROOM = "The persona is no longer in this room."


@contextlib.asynccontextmanager
async def run_personas(
    gate: Gate, services: Services, models: ModelSource, effort: EffortAgents
) -> AsyncIterator[PersonaDispatcher]:
    """Let personas answer in their rooms. On exit every turn is ended and its record is kept."""
    around = AgentContext(gate, services, models, effort.regulate)
    dispatcher = PersonaDispatcher(around, effort)
    try:
        await effort.start(around, dispatcher.find_worker)
        await dispatcher.start()
        yield dispatcher
    finally:
        await effort.close()
        await dispatcher.close()


class PersonaDispatcher:
    """Runs all personas. An idle persona costs nothing: only work has a task."""

    def __init__(self, around: AgentContext, effort: EffortAgents) -> None:
        self._context = around
        self._effort = effort
        self._pending_calls = PendingCalls(around, self._on_decided)
        self._workers: dict[tuple[str, str], PersonaWorker] = {}
        self._ai_turns: dict[str, int] = {}
        """By room: turns that AIs took since the last message of a person."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._unsubscribe: list[Callable[[], None]] = []
        self._started = around.services.clock.now()
        self._retry_timer: asyncio.TimerHandle | None = None
        self._ended = False

    async def start(self) -> None:
        """Subscribe to events and resume the calls that a former process left open."""
        services = self._context.services
        heard = (MessageReceived, ApprovalDecided, PersonaLoaded, RoomChanged)
        self._unsubscribe.append(services.events.subscribe(self._on_event, *heard))
        services.personas.stop = self.stop
        await self._resume_all(None)
        self._spawn(self._answer_missed())

    async def _resume_all(self, left: list[OpenCall] | None) -> None:
        """Resume the open calls of a former process (all of them, or those in `left`) and send the greeting.

        If the store fails, for example on a full disk, this is tried again later; personas work meanwhile.
        """
        services = self._context.services
        failed: list[OpenCall] = []
        whole = True
        try:
            if left is None:
                # On a retry the store also holds calls of this process.
                stored = await persona_calls.all_open(services.store)
                left = [one for one in stored if self._retry_timer is None or one.at < self._started]
            for call in left:
                if not await self._try_resume(call):
                    failed.append(call)
            await greet(services)
        except DoorwardError as error:
            log.warning("the start-up work of the personas failed and is tried again: %s", error)
            whole = False
        if (failed or not whole) and not self._ended:
            rest = failed if left is not None else None
            self._retry_timer = asyncio.get_running_loop().call_later(
                _RETRY_SECONDS, lambda: self._spawn(self._resume_all(rest))
            )

    async def _try_resume(self, call: OpenCall) -> bool:
        try:
            await self._resume_call(call)
        except DoorwardError as error:
            log.warning("an open call of %s in %s cannot be resumed now: %s", call.persona, call.room, error)
            return False
        return True

    async def _answer_missed(self) -> None:
        """Answer the last message of each room if it came shortly before the former process ended.

        A room whose last message is an AI's has its answer. Newer messages arrive as events.
        """
        services = self._context.services
        for room in services.rooms.of_tenant(LOCAL):
            here = [one for one in self._personas_in(room) if one.effort is None]
            newest = await services.messages.newest(room, 1) if here and not room.archived else []
            for message in newest:
                if message.kind == "human" and self._started - _LATE_ANSWER_SECONDS <= message.at < self._started:
                    await self._dispatch(room, message.id, here, message.sender)

    async def close(self) -> None:
        """End all turns. Their cards say so, and their calls are on record."""
        self._ended = True
        self._context.services.personas.stop = None
        for leave in self._unsubscribe:
            leave()
        if self._retry_timer is not None:
            self._retry_timer.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._pending_calls.close()
        await asyncio.gather(*(worker.stop(STOPPED) for worker in list(self._workers.values())))

    async def stop(self, persona: str, room: str, by: str) -> bool:
        """Stop a persona's work and pending calls in a room; return whether there were any."""
        worker = self._workers.get((persona, room))
        reason = f"{escape_invisible(by)} stopped it."
        if worker is not None:
            await worker.stop(reason, f"(I was stopped by {escape_invisible(by)}.)")
        calls = await self._abandon_all(persona, room, reason)
        found = self._context.services.rooms.get(LOCAL, room)
        if calls and found is not None and (persona, room) not in self._workers:
            self._context.services.live.publish_thinking(found, persona, "idle")
        return worker is not None or bool(calls)

    async def _abandon_all(self, persona: str, room: str, reason: str) -> int:
        """End all pending calls of a persona in a room; return their number.

        Stored calls count, since a decision or a restart would resume them.
        """
        stored = await persona_calls.all_open(self._context.services.store)
        calls = [one for one in stored if (one.persona, one.room) == (persona, room)]
        for call in calls:
            self._pending_calls.drop(call)
            await self._abandon(call, reason)
        return len(calls)

    def _on_event(self, event: Event) -> None:
        if event.tenant != LOCAL:
            return
        if isinstance(event, MessageReceived):
            self._on_message(event)
        elif isinstance(event, ApprovalDecided):
            self._pending_calls.on_decision(event)
        elif isinstance(event, PersonaLoaded) and event.gone:
            self._stop_departed(lambda persona, _: persona == event.persona)
        elif isinstance(event, RoomChanged):
            self._stop_departed(lambda persona, room: room == event.room and not self._is_member(persona, room))

    def _on_message(self, event: MessageReceived) -> None:
        room = self._context.services.rooms.get(LOCAL, event.room)
        if room is None or room.archived:
            return
        said_by = room.members.get(event.sender)
        by_person = said_by is not None and said_by.kind == "human"
        if by_person:
            self._ai_turns.pop(room.id, None)
        here = [one for one in self._personas_in(room) if one.id != event.sender]
        if here:
            asker = event.sender if by_person else event.behalf
            self._spawn(self._dispatch(room, event.message, here, asker), room, here[0].id)

    def _personas_in(self, room: Room) -> list[Persona]:
        found = [
            self._context.services.personas.get(LOCAL, one.id) for one in room.members.values() if one.kind == "ai"
        ]
        return [one for one in found if one is not None]

    async def _dispatch(self, room: Room, id: str, here: list[Persona], asker: str) -> None:
        """Give a message to each persona that should answer it. `asker` is the person they then act for."""
        services = self._context.services
        try:
            message = await services.messages.get(room, id)
        except NotFound:
            return
        recipe = services.recipes.recipe(room.recipe)
        pattern = recipe.strategy.conversation_pattern if recipe is not None else ""
        for persona in here:
            by_rules = self._uses_rules(persona)
            if should_answer(persona, room, pattern, message, thinks_by_rules=by_rules) and self._take_ai_turn(room):
                if persona.effort is not None:
                    await self._effort.add_message(persona.id, room, message, asker)
                else:
                    self.find_worker(persona.id, room.id).add_message(message, asker)

    def _uses_rules(self, persona: Persona) -> bool:
        try:
            return self._context.models.find(persona.model).name in IN_PROCESS_MODELS
        except ModelFailed:  # reported when the persona answers
            return False

    def _take_ai_turn(self, room: Room) -> bool:
        """Count one more AI turn in a room; False once the limit since a person's last message is reached."""
        taken = self._ai_turns.get(room.id, 0)
        if taken >= self._context.services.settings.personas.ai_turns:
            return False
        self._ai_turns[room.id] = taken + 1
        return True

    def _on_decided(self, call: OpenCall) -> None:
        if not self._ended:
            self.find_worker(call.persona, call.room).add_decided_call(call)

    def find_worker(self, persona: str, room: str) -> PersonaWorker:
        key = (persona, room)
        worker = self._workers.get(key)
        if worker is None:
            worker = PersonaWorker(
                self._context, self._pending_calls, persona, room, lambda: self._workers.pop(key, None)
            )
            self._workers[key] = worker
        return worker

    async def _resume_call(self, call: OpenCall) -> None:
        """Resume an open call of a former process: keep waiting for its approval, or end it if it was running."""
        if not self._is_member(call.persona, call.room):
            await self._abandon(call, _LEFT_ROOM)
        elif call.approval:
            await self._pending_calls.add(call)
            room = self._context.services.rooms.get(LOCAL, call.room)
            if room is not None and self._pending_calls.of(call.persona, call.room):
                self._context.services.live.publish_thinking(room, call.persona, "waiting")
        else:
            await self._abandon(call, STOPPED)

    async def _abandon(self, call: OpenCall, reason: str) -> None:
        await abandon_call(self._context, call, self._context.services.rooms.get(LOCAL, call.room), reason)

    def _is_member(self, persona: str, room: str) -> bool:
        found = self._context.services.rooms.get(LOCAL, room)
        known = self._context.services.personas.get(LOCAL, persona)
        return found is not None and not found.archived and known is not None and persona in found.members

    def _stop_departed(self, whom: Callable[[str, str], bool]) -> None:
        """End the work and pending calls of personas that left. If they return, approvals of their old calls no longer
        count."""
        waits = ((call.persona, call.room) for call in self._pending_calls.all())
        for persona, room in {*self._workers, *waits}:
            if whom(persona, room):
                for call in self._pending_calls.of(persona, room):
                    self._pending_calls.drop(call)  # at once, before an approval can arrive
                self._spawn(self._stop_worker(persona, room))

    async def _stop_worker(self, persona: str, room: str) -> None:
        worker = self._workers.get((persona, room))
        if worker is not None:
            await worker.stop(_LEFT_ROOM)
        await self._abandon_all(persona, room, _LEFT_ROOM)

    def _spawn(self, work: Coroutine[Any, Any, None], room: Room | None = None, persona: str = "") -> None:
        """Run work as a task. If it fails unexpectedly, the persona says so in the room."""
        task = asyncio.get_running_loop().create_task(self._run_logged(work, room, persona))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run_logged(self, work: Coroutine[Any, Any, None], room: Room | None, persona: str) -> None:
        try:
            await work
        except DoorwardError as error:
            log.warning("a message could not be dispatched to the personas: %s", error)
        except Exception:
            log.exception("a message could not be dispatched to the personas")
            if room is not None:
                await report_failure(self._context, room, persona)
