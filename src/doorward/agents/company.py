"""All personas at work: who hears what is said, who takes a turn, and what happens when the house stops."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

from doorward.agents import greeting
from doorward.agents.speaking import speaks
from doorward.agents.surroundings import Models, Surroundings
from doorward.agents.waiting import Waiting
from doorward.agents.worker import STOPPED, Worker, give_up
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

_GONE = "It is not in this room any more."


@contextlib.asynccontextmanager
async def at_work(gate: Gate, services: Services, models: Models) -> AsyncIterator[Company]:
    """While this lasts, personas answer in their rooms. At the end every turn is ended, and its record kept."""
    company = Company(Surroundings(gate, services, models))
    await company.begin()
    try:
        yield company
    finally:
        await company.end()


class Company:
    """The personas of the house. One that has nothing to do costs nothing here: only work has a task."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._waiting = Waiting(around, self._resume)
        self._workers: dict[tuple[str, str], Worker] = {}
        self._turns: dict[str, int] = {}
        """By room, how many turns AIs took since a person said something."""
        self._considering: set[asyncio.Task[None]] = set()
        self._leave: list[Callable[[], None]] = []
        self._ended = False

    async def begin(self) -> None:
        services = self._around.services
        heard = (MessageReceived, ApprovalDecided, PersonaLoaded, RoomChanged)
        self._leave.append(services.events.subscribe(self._hear, *heard))
        services.personas.stop = self.stop
        for call in await open_calls.all_open(services.store):
            await self._take_up(call)
        await greeting.greet(services)

    async def end(self) -> None:
        """End all turns; what they were doing is on record, and their cards say so."""
        self._ended = True
        self._around.services.personas.stop = None
        for leave in self._leave:
            leave()
        for task in self._considering:
            task.cancel()
        await asyncio.gather(*self._considering, return_exceptions=True)
        await self._waiting.close()
        await asyncio.gather(*(worker.stop(STOPPED) for worker in list(self._workers.values())))

    async def stop(self, persona: str, room: str, by: str) -> bool:
        """End what a persona does in a room and what it waits for there; whether there was anything."""
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
        """End what a persona waits for in a room; how many calls that were.

        What is stored is what would be taken up again: by a decision, or after a restart.
        """
        stored = await open_calls.all_open(self._around.services.store)
        calls = [one for one in stored if (one.persona, one.room) == (persona, room)]
        for call in calls:
            self._waiting.drop(call)
            await self._give_up(call, reason)
        return len(calls)

    async def look(self) -> None:
        """See now what has been decided, or has expired, of all that waits."""
        await self._waiting.look()

    async def settled(self) -> None:
        """Wait until nobody has anything to do."""
        while self._considering or self._workers:
            tasks = [one.task for one in self._workers.values() if one.task is not None]
            await asyncio.wait([*self._considering, *tasks])

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
        found = [self._around.services.personas.get(LOCAL, one.id) for one in room.members.values() if one.kind == "ai"]
        here = [one for one in found if one is not None and one.id != event.sender]
        if here:
            self._soon(self._consider(room, event.message, here, event.sender if by_person else event.behalf))

    async def _consider(self, room: Room, id: str, here: list[Persona], asker: str) -> None:
        """Who of those who are here takes this up, for the person who said it or for whom it was said."""
        services = self._around.services
        try:
            message = await services.messages.get(room, id)
        except NotFound:
            return
        recipe = services.recipes.recipe(room.recipe)
        pattern = recipe.strategy.conversation_pattern if recipe is not None else ""
        for persona in here:
            if speaks(persona, room, pattern, message) and self._granted(room):
                self._worker(persona.id, room.id).hear(message, asker)

    def _granted(self, room: Room) -> bool:
        """Whether AIs may take one more turn in a room before a person says something again."""
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
        """What an earlier process left: a call that waits goes on waiting, and one that ran did not come to its end."""
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
        """End what those do who do not belong here any more, and what they wait for: should they come again, a yes to
        what they asked for before they went is no yes any more."""
        waits = ((call.persona, call.room) for call in self._waiting.all())
        for persona, room in {*self._workers, *waits}:
            if whom(persona, room):
                for call in self._waiting.of(persona, room):
                    self._waiting.drop(call)  # at once, so that nobody's yes comes before
                self._soon(self._see_off(persona, room))

    async def _see_off(self, persona: str, room: str) -> None:
        worker = self._workers.get((persona, room))
        if worker is not None:
            await worker.stop(_GONE)
        await self._give_up_all(persona, room, _GONE)

    def _soon(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(_logged(work))
        self._considering.add(task)
        task.add_done_callback(self._considering.discard)


async def _logged(work: Coroutine[Any, Any, None]) -> None:
    try:
        await work
    except DoorwardError as error:
        log.warning("a message could not be brought to the personas: %s", error)
