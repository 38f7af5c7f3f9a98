"""The loop of an agent with effort: which conversation it works on, when, and what it leaves for later.

The loop never waits for work. A cycle starts turns as tasks, collects what ended, and sets a timer for what is due
later. It runs when something happened, so an idle agent costs nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol

import msgspec

from doorward.agents.context import AgentContext
from doorward.agents.effort.conversation_book import ConversationBook
from doorward.agents.effort.model_costs import ModelCosts
from doorward.agents.effort.sub_agent import SubAgent, SubAgentMessage
from doorward.commands.effort_services import Priority
from doorward.core.errors import Conflict, DoorwardError, NotFound, Refused
from doorward.core.model import Credential
from doorward.gate.energy import Energy
from doorward.rooms.message import Message
from doorward.rooms.people import LOCAL
from doorward.rooms.personas.persona import Effort, Persona
from doorward.rooms.rooms import Room
from doorward.store import open_answers
from doorward.store.conversations import Conversation
from doorward.upstream import tool_names

log = logging.getLogger(__name__)

_HEAD_START = {"low": 0.0, "medium": 60.0, "high": 300.0}
"""Seconds that a conversation counts as older for its priority. So a low one gets its turn too."""
_SUB_AGENT_LEVEL = 10.0
"""The level of energy below which the sub-agent is paused."""
_LOW_ENERGY = "low energy"
_MAX_DEFERRALS = 3
"""How often in a row a conversation can be left for another one."""


class Worker(Protocol):
    """Runs the turns of the agent in one room."""

    task: asyncio.Task[None] | None

    def add_message(self, message: Message, asker: str) -> None: ...


class _Work(msgspec.Struct):
    """What is in memory about a conversation."""

    messages: list[tuple[str, str]] = []
    """Ids of the messages to answer, oldest first, each with the person who asked."""
    topic: tuple[str, str] | None = None
    """The message that was answered last."""
    task: asyncio.Task[None] | None = None
    deferrals: int = 0


class EffortAgent:
    def __init__(
        self, around: AgentContext, persona: str, energy: Energy, find_worker: Callable[[str, str], Worker]
    ) -> None:
        self.id = persona
        self.conversations = ConversationBook(around.services, persona, energy)
        self.costs = ModelCosts()
        self.reports: dict[str, list[str]] = {}
        """By room, what the sub-agent reported since the last answer."""
        self.sub_agent: SubAgent | None = None
        self.cycles = 0
        self.started = asyncio.Event()
        """Set when it has loaded what a former process left; before that it takes no work."""
        self._context = around
        self._energy = energy
        self._find_worker = find_worker
        self._work: dict[str, _Work] = {}
        self._selected = ""
        self._pending: asyncio.Handle | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closed = False

    @property
    def persona(self) -> Persona | None:
        return self._context.services.personas.get(LOCAL, self.id)

    @property
    def effort(self) -> Effort:
        persona = self.persona
        return persona.effort if persona is not None and persona.effort is not None else Effort()

    @property
    def wants_sub_agent(self) -> bool:
        """Whether its file and the file of servers give it a sub-agent."""
        return self.effort.sub_agent and self._context.services.servers.servers.sub_agent

    @property
    def models(self) -> tuple[str, ...]:
        """The models that it may use, the cheapest first."""
        persona = self.persona
        return self.effort.models or ((persona.model,) if persona is not None else ())

    @property
    def level(self) -> float:
        persona = self.persona
        return self._energy.level(persona.caller) if persona is not None else 0.0

    @property
    def working(self) -> list[str]:
        return [room for room, work in self._work.items() if work.task is not None]

    async def start(self) -> None:
        """Load what a former process left, and go on with it."""
        try:
            await self._load()
        finally:
            self.started.set()
        self.wake()

    async def _load(self) -> None:
        await self.conversations.load()
        for one in self.conversations:
            if one.unanswered_since is not None:
                found = await self.conversations.find_unanswered(one)
                self._work.setdefault(one.room, _Work()).messages += found
        for model in self.models:
            self.costs.restore(model, await self._energy.recent_amounts(LOCAL, self.id, "model", model))
        await self._charge_interrupted()
        if self.wants_sub_agent:
            self.sub_agent = SubAgent(self._context, self.id, charge=self._charge_sub_agent)
            self.sub_agent.on_message = lambda _: self.wake()
            await self.sub_agent.start()

    async def close(self) -> None:
        self._closed = True
        for handle in (self._pending, self._timer):
            if handle is not None:
                handle.cancel()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self.sub_agent is not None:
            await self.sub_agent.close()
            await self.sub_agent.collect_energy()

    async def note_answer(self, key: str, room: str = "", model: str = "") -> None:
        """Note that a model works on an answer or, without a room, that the answer is there and charged."""
        store = self._context.services.store
        await store.write(open_answers.put(self.id, key, room, model) if room else open_answers.close(self.id, key))

    async def _charge_interrupted(self) -> None:
        """Charge the answers that a former process was waiting for when it ended, each as usual for its model."""
        persona, store = self.persona, self._context.services.store
        for key, (room, model) in (await open_answers.of_agent(store, self.id)).items():
            if persona is not None:
                cost = self.costs.expect(model)
                await self._energy.charge(persona.caller, key, cost, kind="model", room=room, subject=model)
            await store.write(open_answers.close(self.id, key))

    async def add_message(self, room: Room, message: Message, asker: str) -> None:
        """Take a message that the agent should answer."""
        one = await self.open(room, asker)
        work = self._work.setdefault(room.id, _Work())
        work.messages.append((message.id, asker))
        one.unanswered_since = one.unanswered_since or message.at
        one.until = one.wanted_level = None
        await self.conversations.change(one, "open")
        self.wake()

    async def end(self, room: str) -> Conversation:
        work = self._work.get(room)
        if work is not None:
            work.messages.clear()
        return await self.conversations.end(room)

    async def open(self, room: Room, asker: str, priority: Priority = "medium") -> Conversation:
        return await self.conversations.open(room, asker, priority, self.effort.budget)

    def select(self, room: str, instead_of: str) -> None:
        """Work on another conversation before this one. Raises NotFound or Conflict."""
        one, work = self.conversations.require(room), self._work.get(instead_of)
        if one.unanswered_since is None:
            raise Conflict(f"The conversation {room!r} waits for no answer (it is {one.state}).")
        if work is not None:
            work.deferrals += 1
            if work.deferrals > _MAX_DEFERRALS:
                raise Conflict(f"You left {instead_of!r} {_MAX_DEFERRALS} times in a row. Answer it first.")
        self._selected = room

    def wake(self) -> None:
        """Run a cycle soon. Several calls before it give one cycle."""
        if self._pending is None and not self._closed:
            self._pending = asyncio.get_running_loop().call_soon(self._cycle)

    def _cycle(self) -> None:
        """Start what can be started, and return. Nothing here waits."""
        self._pending = None
        if self._closed or self.persona is None:
            return
        self.cycles += 1
        level = self.level
        self._regulate_sub_agent(level)
        runnable = sorted(self._runnable(level), key=self._urgency, reverse=True)
        for one in runnable[: max(0, self.effort.at_once - len(self.working))] if level > 0 else ():
            self._work[one.room].task = self._spawn(self._run(one))
        self._set_timer(level)

    def _runnable(self, level: float) -> list[Conversation]:
        now = self._context.services.clock.now()
        found = []
        for room, work in self._work.items():
            one = self.conversations.get(room)
            if one is None or work.task is not None or not work.messages or one.state in ("ended", "out_of_budget"):
                continue
            if one.state == "snoozed" and (one.until or 0.0) > now:
                continue
            if one.state == "awaiting_energy" and level < (one.wanted_level or 0.0):
                continue
            found.append(one)
        return found

    def _urgency(self, one: Conversation) -> float:
        """The oldest unanswered conversation is the most urgent. Priorities count as age."""
        if one.room == self._selected:
            return float("inf")
        now = self._context.services.clock.now()
        return now - (one.unanswered_since or now) + _HEAD_START[one.priority]

    def _set_timer(self, level: float) -> None:
        """Wake up when a snoozed conversation is due, or when the energy has recovered enough."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        now, rate = self._context.services.clock.now(), self._recovery
        waits: list[float] = []
        for room, work in self._work.items():
            one = self.conversations.get(room)
            if one is None or not work.messages or work.task is not None:
                continue
            if one.state == "snoozed" and one.until is not None:
                waits.append(one.until - now)
            elif one.state in ("open", "awaiting_energy") and rate > 0:
                missing = max(one.wanted_level or 0.0, 0.001) - level
                waits += [missing / rate] if missing > 0 else []
        if self.sub_agent is not None and self.sub_agent.paused_by == _LOW_ENERGY and rate > 0:
            waits.append((_SUB_AGENT_LEVEL - level) / rate)
        if waits:
            self._timer = asyncio.get_running_loop().call_later(max(0.0, min(waits)) + 0.01, self.wake)

    @property
    def _recovery(self) -> float:
        persona, settings = self.persona, self._context.services.settings.energy
        own = persona.energy.recovery_per_second if persona is not None else None
        return settings.recovery_per_second if own is None else own

    async def _run(self, one: Conversation) -> None:
        """Answer the messages of one conversation, one after the other, as long as its budget lasts."""
        work = self._work[one.room]
        try:
            while work.messages and not self._closed:
                state = await self._energy.check_budgets(LOCAL, self.id, one.room)
                if not state.allowed:
                    await self._stop_for_budget(one, state.reason)
                    return
                if one.state != "open":
                    one.until = one.wanted_level = None
                    await self.conversations.change(one, "open")
                if one.room == self._selected:
                    self._selected = ""
                work.topic = work.messages[0]
                await self._answer(one, *work.topic)
                if one.state != "open" or self._selected:
                    return  # a tool of the agent left it for later
                work.messages.pop(0)
                work.deferrals = 0
            if not work.messages:
                one.unanswered_since = None
                await self.conversations.change(one, "answered")
        except DoorwardError as error:
            log.warning("a conversation of %s in %s could not be continued: %s", self.id, one.room, error)
        finally:
            work.task = None
            self.wake()

    def list_server_tools(self, room: str, asker: str) -> list[str]:
        """List the tools of MCP servers that the agent may call in a room, each with its description."""
        try:
            caller = self._context.gate.caller(Credential(persona=self.id, asker=asker, room=room))
        except Refused:
            return []
        tools = [one for one in self._context.services.offered(caller, room) if not one.ours]
        return [f"{one.wire}: {one.summary}" for one in tools if one.name.startswith(f"{tool_names.AREA}/")]

    async def _answer(self, one: Conversation, message: str, asker: str) -> None:
        services = self._context.services
        room = services.rooms.get(LOCAL, one.room)
        if room is None or room.archived:
            self._work[one.room].messages.clear()
            return
        try:
            found = await services.messages.get(room, message)
        except NotFound:
            return
        worker = self._find_worker(self.id, one.room)
        worker.add_message(found, asker)
        while worker.task is not None:
            await asyncio.wait([worker.task])
        self.reports.pop(one.room, None)

    async def _stop_for_budget(self, one: Conversation, reason: str) -> None:
        await self.conversations.change(one, "out_of_budget", reason)
        await self.conversations.say(
            one.room, f"I pause here: {reason} Somebody who may do so can give me more (effort/budget)."
        )

    async def on_budget(self) -> None:
        """Go on with the conversations that waited for a budget, as far as they have one now."""
        for one in self.conversations:
            if one.state == "out_of_budget":
                state = await self._energy.check_budgets(LOCAL, self.id, one.room)
                if state.allowed:
                    await self.conversations.change(one, "open")
        self.wake()

    def _regulate_sub_agent(self, level: float) -> None:
        """Take the sub-agent's messages and energy, and pause it while there is little energy."""
        sub = self.sub_agent
        if sub is None:
            return
        for message in sub.messages():
            self._spawn(self._on_report(message))
        if sub.has_active_work() or sub.has_uncollected_energy:
            self._spawn(self._collect(sub))
        if level < _SUB_AGENT_LEVEL and not sub.paused_by:
            sub.pause(_LOW_ENERGY)
        elif level >= _SUB_AGENT_LEVEL and sub.paused_by == _LOW_ENERGY:
            sub.resume(_LOW_ENERGY)

    async def _collect(self, sub: SubAgent) -> None:
        await sub.collect_energy()

    async def _charge_sub_agent(self, key: str, amount: float) -> bool:
        persona = self.persona
        return persona is not None and await self._energy.charge(persona.caller, key, amount, kind="subagent")

    async def _on_report(self, message: SubAgentMessage) -> None:
        """Go on with the conversation that asked, once its tool is there; say there what failed."""
        sub = self.sub_agent
        request = await sub.find(message.request) if sub is not None else None
        if request is None or request.kind != "add_server" or message.report not in ("tool_available", "error"):
            return
        self.reports.setdefault(request.room, []).append(message.message)
        if message.report == "error":
            await self.conversations.say(request.room, f"I could not get a tool for this: {message.message}")
            return
        one, work = self.conversations.get(request.room), self._work.setdefault(request.room, _Work())
        topic = work.topic or await self.conversations.find_last_question(request.room)
        if one is not None and topic is not None and one.state in ("answered", "open"):
            work.messages.append(topic)
            one.unanswered_since = one.unanswered_since or self._context.services.clock.now()
            await self.conversations.change(one, "open")
        self.wake()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(self._run_logged(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _run_logged(self, work: Awaitable[None]) -> None:
        try:
            await work
        except DoorwardError as error:
            log.warning("the agent %s could not go on: %s", self.id, error)
        except Exception:
            log.exception("the agent %s failed", self.id)
