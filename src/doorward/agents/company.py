"""Dispatch room messages and approvals to persona workers, from the start of the server to its end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

from doorward.agents.budget import FREE
from doorward.agents.greeting import greet
from doorward.agents.models.model import ModelFailed
from doorward.agents.speaking import speaks
from doorward.agents.surroundings import Models, Surroundings
from doorward.agents.waiting import Waiting
from doorward.agents.worker import STOPPED, Worker, give_up, say_it_broke
from doorward.backends.context import Services
from doorward.errors import DoorwardError, NotFound
from doorward.events import ApprovalDecided, Event, MessageReceived, PersonaLoaded, RoomChanged
from doorward.gate.gate import Gate
from doorward.personas.persona import Persona
from doorward.rooms.people import LOCAL
from doorward.rooms.rooms import Room
from doorward.store import open_calls
from doorward.store.open_calls import OpenCall
from doorward.visible import visible

log = logging.getLogger(__name__)

_AGAIN = 30.0
"""Seconds before start-up work that failed is tried again."""
_STILL_WAITED_FOR = 300.0
"""Seconds for which a message that a former process left unanswered is still answered."""
_GONE = "The persona is no longer in this room."


@contextlib.asynccontextmanager
async def at_work(gate: Gate, services: Services, models: Models) -> AsyncIterator[Company]:
    """Let personas answer in their rooms. On exit every turn is ended and its record is kept."""
    company = Company(Surroundings(gate, services, models))
    try:
        await company.begin()
        yield company
    finally:
        await company.end()


class Company:
    """Runs all personas. An idle persona costs nothing: only work has a task."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._waiting = Waiting(around, self._resume)
        self._workers: dict[tuple[str, str], Worker] = {}
        self._turns: dict[str, int] = {}
        """By room: turns that AIs took since the last message of a person."""
        self._considering: set[asyncio.Task[None]] = set()
        self._leave: list[Callable[[], None]] = []
        self._began = around.services.clock.now()
        self._again: asyncio.TimerHandle | None = None
        self._ended = False

    async def begin(self) -> None:
        """Subscribe to events and resume the calls that a former process left open."""
        services = self._around.services
        heard = (MessageReceived, ApprovalDecided, PersonaLoaded, RoomChanged)
        self._leave.append(services.events.subscribe(self._hear, *heard))
        services.personas.stop = self.stop
        await self._arrive(None)
        self._soon(self._answer_late())

    async def _arrive(self, left: list[OpenCall] | None) -> None:
        """Resume the open calls of a former process (all of them, or those in `left`) and send the greeting.

        If the store fails, for example on a full disk, this is tried again later; personas work meanwhile.
        """
        services = self._around.services
        failed: list[OpenCall] = []
        whole = True
        try:
            if left is None:
                # On a retry the store also holds calls of this process.
                stored = await open_calls.all_open(services.store)
                left = [one for one in stored if self._again is None or one.at < self._began]
            for call in left:
                if not await self._taken_up(call):
                    failed.append(call)
            await greet(services)
        except DoorwardError as error:
            log.warning("the start-up work of the personas failed and is tried again: %s", error)
            whole = False
        if (failed or not whole) and not self._ended:
            rest = failed if left is not None else None
            self._again = asyncio.get_running_loop().call_later(_AGAIN, lambda: self._soon(self._arrive(rest)))

    async def _taken_up(self, call: OpenCall) -> bool:
        try:
            await self._take_up(call)
        except DoorwardError as error:
            log.warning("an open call of %s in %s cannot be resumed now: %s", call.persona, call.room, error)
            return False
        return True

    async def _answer_late(self) -> None:
        """Answer the last message of each room if it came shortly before the former process ended.

        A room whose last message is an AI's has its answer. Newer messages arrive as events.
        """
        services = self._around.services
        for room in services.rooms.of(LOCAL):
            here = self._personas_in(room)
            newest = await services.messages.newest(room, 1) if here and not room.archived else []
            for message in newest:
                if message.kind == "human" and self._began - _STILL_WAITED_FOR <= message.at < self._began:
                    await self._consider(room, message.id, here, message.sender)

    async def end(self) -> None:
        """End all turns. Their cards say so, and their calls are on record."""
        self._ended = True
        self._around.services.personas.stop = None
        for leave in self._leave:
            leave()
        if self._again is not None:
            self._again.cancel()
        for task in self._considering:
            task.cancel()
        await asyncio.gather(*self._considering, return_exceptions=True)
        await self._waiting.close()
        await asyncio.gather(*(worker.stop(STOPPED) for worker in list(self._workers.values())))

    async def stop(self, persona: str, room: str, by: str) -> bool:
        """Stop a persona's work and pending calls in a room; return whether there were any."""
        worker = self._workers.get((persona, room))
        reason = f"{visible(by)} stopped it."
        if worker is not None:
            await worker.stop(reason, f"(I was stopped by {visible(by)}.)")
        calls = await self._give_up_all(persona, room, reason)
        found = self._around.services.rooms.get(LOCAL, room)
        if calls and found is not None and (persona, room) not in self._workers:
            self._around.services.live.thinking(found, persona, "idle")
        return worker is not None or bool(calls)

    async def _give_up_all(self, persona: str, room: str, reason: str) -> int:
        """End all pending calls of a persona in a room; return their number.

        Stored calls count, since a decision or a restart would resume them.
        """
        stored = await open_calls.all_open(self._around.services.store)
        calls = [one for one in stored if (one.persona, one.room) == (persona, room)]
        for call in calls:
            self._waiting.drop(call)
            await self._give_up(call, reason)
        return len(calls)

    def _hear(self, event: Event) -> None:
        if event.tenant != LOCAL:
            return
        if isinstance(event, MessageReceived):
            self._message(event)
        elif isinstance(event, ApprovalDecided):
            self._waiting.heard(event)
        elif isinstance(event, PersonaLoaded) and event.gone:
            self._dismiss(lambda persona, _: persona == event.persona)
        elif isinstance(event, RoomChanged):
            self._dismiss(lambda persona, room: room == event.room and not self._belongs(persona, room))

    def _message(self, event: MessageReceived) -> None:
        room = self._around.services.rooms.get(LOCAL, event.room)
        if room is None or room.archived:
            return
        said_by = room.members.get(event.sender)
        by_person = said_by is not None and said_by.kind == "human"
        if by_person:
            self._turns.pop(room.id, None)
        here = [one for one in self._personas_in(room) if one.id != event.sender]
        if here:
            asker = event.sender if by_person else event.behalf
            self._soon(self._consider(room, event.message, here, asker), room, here[0].id)

    def _personas_in(self, room: Room) -> list[Persona]:
        found = [self._around.services.personas.get(LOCAL, one.id) for one in room.members.values() if one.kind == "ai"]
        return [one for one in found if one is not None]

    async def _consider(self, room: Room, id: str, here: list[Persona], asker: str) -> None:
        """Give a message to each persona that should answer it. `asker` is the person they then act for."""
        services = self._around.services
        try:
            message = await services.messages.get(room, id)
        except NotFound:
            return
        recipe = services.recipes.recipe(room.recipe)
        pattern = recipe.strategy.conversation_pattern if recipe is not None else ""
        for persona in here:
            by_rules = self._thinks_by_rules(persona)
            if speaks(persona, room, pattern, message, thinks_by_rules=by_rules) and self._granted(room):
                self._worker(persona.id, room.id).hear(message, asker)

    def _thinks_by_rules(self, persona: Persona) -> bool:
        try:
            return self._around.models.find(persona.model).name in FREE
        except ModelFailed:  # reported when the persona answers
            return False

    def _granted(self, room: Room) -> bool:
        """Count one more AI turn in a room; False once the limit since a person's last message is reached."""
        taken = self._turns.get(room.id, 0)
        if taken >= self._around.services.settings.personas.ai_turns:
            return False
        self._turns[room.id] = taken + 1
        return True

    def _resume(self, call: OpenCall) -> None:
        if not self._ended:
            self._worker(call.persona, call.room).resume(call)

    def _worker(self, persona: str, room: str) -> Worker:
        key = (persona, room)
        worker = self._workers.get(key)
        if worker is None:
            worker = Worker(self._around, self._waiting, persona, room, lambda: self._workers.pop(key, None))
            self._workers[key] = worker
        return worker

    async def _take_up(self, call: OpenCall) -> None:
        """Resume an open call of a former process: keep waiting for its approval, or end it if it was running."""
        if not self._belongs(call.persona, call.room):
            await self._give_up(call, _GONE)
        elif call.approval:
            await self._waiting.add(call)
            room = self._around.services.rooms.get(LOCAL, call.room)
            if room is not None and self._waiting.of(call.persona, call.room):
                self._around.services.live.thinking(room, call.persona, "waiting")
        else:
            await self._give_up(call, STOPPED)

    async def _give_up(self, call: OpenCall, reason: str) -> None:
        await give_up(self._around, call, self._around.services.rooms.get(LOCAL, call.room), reason)

    def _belongs(self, persona: str, room: str) -> bool:
        found = self._around.services.rooms.get(LOCAL, room)
        known = self._around.services.personas.get(LOCAL, persona)
        return found is not None and not found.archived and known is not None and persona in found.members

    def _dismiss(self, whom: Callable[[str, str], bool]) -> None:
        """End the work and pending calls of personas that left. If they return, approvals of their old calls no longer
        count."""
        waits = ((call.persona, call.room) for call in self._waiting.all())
        for persona, room in {*self._workers, *waits}:
            if whom(persona, room):
                for call in self._waiting.of(persona, room):
                    self._waiting.drop(call)  # at once, before an approval can arrive
                self._soon(self._see_off(persona, room))

    async def _see_off(self, persona: str, room: str) -> None:
        worker = self._workers.get((persona, room))
        if worker is not None:
            await worker.stop(_GONE)
        await self._give_up_all(persona, room, _GONE)

    def _soon(self, work: Coroutine[Any, Any, None], room: Room | None = None, persona: str = "") -> None:
        """Run work as a task. If it fails unexpectedly, the persona says so in the room."""
        task = asyncio.get_running_loop().create_task(self._logged(work, room, persona))
        self._considering.add(task)
        task.add_done_callback(self._considering.discard)

    async def _logged(self, work: Coroutine[Any, Any, None], room: Room | None, persona: str) -> None:
        try:
            await work
        except DoorwardError as error:
            log.warning("a message could not be dispatched to the personas: %s", error)
        except Exception:
            log.exception("a message could not be dispatched to the personas")
            if room is not None:
                await say_it_broke(self._around, room, persona)
