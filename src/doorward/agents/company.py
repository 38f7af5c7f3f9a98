"""All personas at work: who hears what is said, who takes a turn, and what happens when the house stops."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

from doorward.agents import greeting
from doorward.agents.budget import FREE
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
"""Seconds after which is tried again what could not be done at the beginning."""
_STILL_WAITED_FOR = 300.0
"""Seconds after which nobody waits for an answer any more that a process owed that has ended."""
_GONE = "It is not in this room any more."


@contextlib.asynccontextmanager
async def at_work(gate: Gate, services: Services, models: Models) -> AsyncIterator[Company]:
    """While this lasts, personas answer in their rooms. At the end every turn is ended, and its record kept."""
    company = Company(Surroundings(gate, services, models))
    try:
        await company.begin()
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
        self._began = around.services.clock.now()
        self._again: asyncio.TimerHandle | None = None
        self._ended = False

    async def begin(self) -> None:
        """Hear what is said from now on, and take up what an earlier process left."""
        services = self._around.services
        heard = (MessageReceived, ApprovalDecided, PersonaLoaded, RoomChanged)
        self._leave.append(services.events.subscribe(self._hear, *heard))
        services.personas.stop = self.stop
        await self._arrive(None)
        self._soon(self._answer_late())

    async def _arrive(self, left: list[OpenCall] | None) -> None:
        """Take up the calls that an earlier process left, all of them or these, and greet.

        What cannot be stored now, such as on a full disk, is tried again later, and personas work meanwhile.
        """
        services = self._around.services
        failed: list[OpenCall] = []
        whole = True
        try:
            if left is None:
                # Later there are calls of this process as well, which are none of these.
                stored = await open_calls.all_open(services.store)
                left = [one for one in stored if self._again is None or one.at < self._began]
            for call in left:
                if not await self._taken_up(call):
                    failed.append(call)
            await greeting.greet(services)
        except DoorwardError as error:
            log.warning("the personas cannot do all that they begin with; it is tried again: %s", error)
            whole = False
        if (failed or not whole) and not self._ended:
            rest = failed if left is not None else None
            self._again = asyncio.get_running_loop().call_later(_AGAIN, lambda: self._soon(self._arrive(rest)))

    async def _taken_up(self, call: OpenCall) -> bool:
        try:
            await self._take_up(call)
        except DoorwardError as error:
            log.warning("a call that %s left in %s cannot be ended now: %s", call.persona, call.room, error)
            return False
        return True

    async def _answer_late(self) -> None:
        """Answer what was said last in a room, shortly before the process ended that should have answered.

        Whoever spoke or ran anything since has answered, and what is said from now on is heard of anyway.
        """
        services = self._around.services
        for room in services.rooms.of(LOCAL):
            here = self._personas_in(room)
            newest = await services.messages.newest(room, 1) if here and not room.archived else []
            for message in newest:
                if message.kind == "human" and self._began - _STILL_WAITED_FOR <= message.at < self._began:
                    await self._consider(room, message.id, here, message.sender)

    async def end(self) -> None:
        """End all turns; what they were doing is on record, and their cards say so."""
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
        """Who of those who are here takes this up, for the person who said it or for whom it was said."""
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
        except ModelFailed:  # it says so when it is asked
            return False

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

    def _soon(self, work: Coroutine[Any, Any, None], room: Room | None = None, persona: str = "") -> None:
        """Do it as a task of its own; should it break, the persona says so in the room where somebody waits for it."""
        task = asyncio.get_running_loop().create_task(self._logged(work, room, persona))
        self._considering.add(task)
        task.add_done_callback(self._considering.discard)

    async def _logged(self, work: Coroutine[Any, Any, None], room: Room | None, persona: str) -> None:
        try:
            await work
        except DoorwardError as error:
            log.warning("a message could not be brought to the personas: %s", error)
        except Exception:
            log.exception("a message could not be brought to the personas")
            if room is not None:
                await say_it_broke(self._around, room, persona)
