"""All agents with effort, and what commands can do with them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

from doorward.agents.context import AgentContext
from doorward.agents.effort.agent import EffortAgent, Worker
from doorward.agents.effort.regulation import TurnRegulation
from doorward.commands.context import Context
from doorward.commands.effort_services import (
    AgentEffort,
    BudgetFacts,
    BudgetScope,
    BudgetUnit,
    ConversationFacts,
    EnergyPoint,
    Priority,
    RequestKind,
    SubAgentRequestFacts,
)
from doorward.core.classification import Role
from doorward.core.clock import to_iso
from doorward.core.errors import BadParams, Conflict, NotFound, NotPermitted
from doorward.core.events import Event, PersonaLoaded, ServersLoaded
from doorward.core.ids import new_id
from doorward.gate.energy import Energy, status
from doorward.rooms.message import Message
from doorward.rooms.people import LOCAL
from doorward.rooms.personas.persona import Persona
from doorward.rooms.rooms import Member, Room
from doorward.store import conversations, subagent_requests
from doorward.store.conversations import Conversation
from doorward.store.subagent_requests import SubAgentRequest

_NOT_RUNNING = "The agents do not run in this process. Start the server with `doorward up` and try again."
FindWorker = Callable[[str, str], Worker]


class EffortAgents:
    """Runs an agent for each persona with effort. `start` is called where personas answer, not in a mere command."""

    def __init__(self, energy: Energy) -> None:
        self._energy = energy
        self._agents: dict[str, EffortAgent] = {}
        self._context: AgentContext | None = None
        self._find_worker: FindWorker | None = None
        self._unsubscribe: Callable[[], None] = lambda: None
        self._changes: set[asyncio.Task[None]] = set()

    async def start(self, around: AgentContext, find_worker: FindWorker) -> None:
        self._context, self._find_worker = around, find_worker
        self._unsubscribe = around.services.events.subscribe(self._on_event, PersonaLoaded, ServersLoaded)
        for persona in around.services.personas.all(LOCAL):
            await self._refresh(persona.id)

    async def close(self) -> None:
        self._unsubscribe()
        await asyncio.gather(*self._changes, return_exceptions=True)
        await asyncio.gather(*(agent.close() for agent in self._agents.values()))
        self._agents.clear()
        self._context = self._find_worker = None

    def _on_event(self, event: Event) -> None:
        for persona in [event.persona] if isinstance(event, PersonaLoaded) else list(self._agents):
            task = asyncio.get_running_loop().create_task(self._refresh(persona))
            self._changes.add(task)
            task.add_done_callback(self._changes.discard)

    async def _refresh(self, persona: str) -> None:
        """Start or end the agent of a persona, as its file says."""
        if self._context is None or self._find_worker is None:
            return
        found = self._context.services.personas.get(LOCAL, persona)
        agent, wanted = self._agents.get(persona), found is not None and found.effort is not None
        if agent is not None and (not wanted or agent.wants_sub_agent != (agent.sub_agent is not None)):
            del self._agents[persona]
            await agent.close()
            agent = None
        if wanted and agent is None:
            agent = self._agents[persona] = EffortAgent(self._context, persona, self._energy, self._find_worker)
            await agent.start()

    def regulate(self, persona: str, room: str, asker: str) -> TurnRegulation | None:
        """Return how a turn of a persona is regulated; None for a persona without effort."""
        agent = self._agents.get(persona)
        if agent is None or self._context is None:
            return None
        return TurnRegulation(agent, self._energy, self._context.services.clock, room, asker)

    async def add_message(self, persona: str, room: Room, message: Message, asker: str) -> None:
        """Give an agent a message to answer."""
        agent = self._agents.get(persona)
        if agent is not None:
            await agent.started.wait()
            await agent.add_message(room, message, asker)

    def _find(self, ctx: Context, agent: str) -> EffortAgent:
        """Return a running agent. Raises NotFound or Conflict."""
        found = self._agents.get(agent)
        if found is None or ctx.caller.tenant != LOCAL:
            self._require_persona(ctx, agent)
            raise Conflict(_NOT_RUNNING)
        return found

    @staticmethod
    def _require_persona(ctx: Context, agent: str) -> Persona:
        known = _list_agents(ctx)
        found = ctx.services.personas.get(LOCAL, agent)
        if found is None or agent not in known:
            there = ", ".join(known) or "none; a persona gets it by `effort` in its file"
            raise NotFound(f"There is no agent with effort called {agent[:80]!r}. Agents: {there}.")
        return found

    async def status(self, ctx: Context, agent: str) -> list[AgentEffort]:
        if agent:
            self._require_persona(ctx, agent)
        return [await self._describe(ctx, one) for one in _list_agents(ctx) if agent in ("", one)]

    async def _describe(self, ctx: Context, id: str) -> AgentEffort:
        services = ctx.services
        persona, running = self._require_persona(ctx, id), self._agents.get(id)
        level = self._energy.level(persona.caller)
        own = persona.energy.recovery_per_second
        models = (persona.effort.models if persona.effort is not None else ()) or (persona.model,)
        asked = await subagent_requests.newest(services.store, LOCAL, id)
        sub = running.sub_agent if running is not None else None
        state = "off" if sub is None else "paused" if sub.paused_by else "working" if sub.has_active_work() else "idle"
        held = await conversations.of_agent(services.store, LOCAL, id)
        return {
            "agent": id,
            "energy": {
                "level": level,
                "status": status(level),
                "perSecond": self._energy.per_second,
                "recoveryPerSecond": services.settings.energy.recovery_per_second if own is None else own,
                "spent": (await self._energy.spent(LOCAL, agent=id)).energy,
            },
            "models": [{"model": one, "cost": running.costs.median(one) if running else None} for one in models],
            "model": running.costs.choose(models, level) if running is not None else models[0],
            "conversations": dict(Counter(one.state for one in held)),
            "working": [room for room in (running.working if running else ()) if _is_known(ctx, room)],
            "subAgent": state,  # type: ignore[typeddict-item]
            "pausedBy": sub.paused_by if sub is not None else "",
            "requests": dict(Counter(one.state for one in asked)),
            "budgets": [_describe_budget(one) for one in await self._energy.budgets(LOCAL, "agent", id)],
        }

    async def conversations(self, ctx: Context, agent: str, state: str) -> list[ConversationFacts]:
        found: list[ConversationFacts] = []
        for id in _list_agents(ctx):
            if agent in ("", id):
                held = await conversations.of_agent(ctx.services.store, LOCAL, id)
                found += [
                    await self._describe_conversation(one)
                    for one in held
                    if state in ("", one.state) and _is_known(ctx, one.room)
                ]
        return sorted(found, key=lambda one: one["updatedAt"], reverse=True)

    async def _describe_conversation(self, one: Conversation) -> ConversationFacts:
        spent = await self._energy.spent(LOCAL, agent=one.agent, room=one.room)
        budgets = await self._energy.budgets(LOCAL, "conversation", f"{one.agent}@{one.room}")
        return {
            "agent": one.agent,
            "room": one.room,
            "state": one.state,  # type: ignore[typeddict-item]
            "priority": one.priority,  # type: ignore[typeddict-item]
            "asker": one.asker,
            "unansweredSince": _time(one.unanswered_since),
            "until": _time(one.until),
            "note": one.note,
            "energy": spent.energy,
            "tokens": spent.tokens,
            "dollars": spent.dollars,
            "budgets": [_describe_budget(each) for each in budgets],
            "createdAt": to_iso(one.created_at),
            "updatedAt": to_iso(one.updated_at),
        }

    async def start_conversation(
        self, ctx: Context, agent: str, text: str, priority: Priority, budget: float | None
    ) -> ConversationFacts:
        found, services, person = self._find(ctx, agent), ctx.services, ctx.caller.principal
        await found.started.wait()
        recipe = found.effort.recipe
        if services.recipes.recipe(recipe) is None:
            known = ", ".join(sorted(one.recipe_id for one in services.recipes.recipes()))
            raise Conflict(f"The recipe {recipe!r} of {agent} does not exist. Recipes: {known}.")
        members = {
            person: Member(person, "human", Role.OWNER),
            agent: Member(agent, "ai", Role.MEMBER),
        }
        room = Room(LOCAL, f"talk-{new_id()}", f"{person} and {agent}", recipe, members)
        await services.rooms.create(room)
        one = await found.open(room, person, priority)
        if budget is not None:
            await self._energy.set_budget(LOCAL, "conversation", f"{agent}@{room.id}", "energy", budget)
        message = await services.messages.post(room, person, "human", text, notify=False)
        await found.add_message(room, message, person)
        return await self._describe_conversation(one)

    async def end_conversation(self, ctx: Context, room: str, agent: str) -> ConversationFacts:
        found = self._find_in_room(ctx, room, agent)
        return await self._describe_conversation(await found.end(room))

    async def set_priority(self, ctx: Context, room: str, agent: str, priority: Priority) -> ConversationFacts:
        found = self._find_in_room(ctx, room, agent)
        one = found.conversations.require(room)
        one.priority = priority
        await found.conversations.change(one, one.state, one.note)  # type: ignore[arg-type]
        found.wake()
        return await self._describe_conversation(one)

    def _find_in_room(self, ctx: Context, room: str, agent: str) -> EffortAgent:
        """Return the agent of a conversation that the caller may see."""
        there = [one for one in self._agents.values() if room in one.conversations and agent in ("", one.id)]
        if not there or not _is_known(ctx, room):
            raise NotFound(f"There is no conversation {room[:80]!r}. conversation/list shows yours.")
        if len(there) > 1:
            names = ", ".join(one.id for one in there)
            raise BadParams(f"Several agents talk in {room!r}. Name one with agent: {names}.")
        return there[0]

    async def requests(self, ctx: Context, agent: str, state: str) -> list[SubAgentRequestFacts]:
        found: list[SubAgentRequest] = []
        for id in _list_agents(ctx):
            if agent in ("", id):
                found += await subagent_requests.newest(ctx.services.store, LOCAL, id)
        shown = [one for one in found if state in ("", one.state) and _is_known(ctx, one.room)]
        return [describe_request(one) for one in sorted(shown, key=lambda one: one.created_at, reverse=True)]

    async def request(
        self, ctx: Context, agent: str, kind: RequestKind, params: dict[str, Any], priority: Priority
    ) -> SubAgentRequestFacts:
        found = self._find(ctx, agent)
        await found.started.wait()
        sub = found.sub_agent
        if sub is None:
            raise Conflict(f"{agent} has no sub-agent. Its file switches it on with `effort.subAgent`.")
        if ctx.caller.kind != "human" and ctx.caller.id != agent:
            raise NotPermitted(f"Only people and {agent} itself give work to its sub-agent.")
        asker = ctx.caller.on_behalf_of or ctx.caller.principal
        return describe_request(await sub.queue(kind, params, priority, room=ctx.call.room, asker=asker))

    async def cancel_request(self, ctx: Context, id: str, reason: str) -> SubAgentRequestFacts:
        for agent in self._agents.values():
            found = await agent.sub_agent.find(id) if agent.sub_agent is not None else None
            if found is not None and agent.sub_agent is not None and _is_known(ctx, found.room):
                return describe_request(await agent.sub_agent.cancel(id, reason, by=ctx.caller.principal))
        raise NotFound(f"There is no request {id[:80]!r}. effort/requests shows them.")

    async def pause(self, ctx: Context, agent: str, *, paused: bool) -> AgentEffort:
        found = self._find(ctx, agent)
        if found.sub_agent is None:
            raise Conflict(f"{agent} has no sub-agent.")
        if paused:
            found.sub_agent.pause(ctx.caller.principal)
        else:
            found.sub_agent.resume(found.sub_agent.paused_by)
        return await self._describe(ctx, agent)

    async def set_budget(
        self, ctx: Context, scope: BudgetScope, id: str, unit: BudgetUnit, amount: float | None
    ) -> BudgetFacts | None:
        await self._energy.set_budget(LOCAL, scope, id, unit, amount)
        for agent in self._agents.values():
            await agent.on_budget()
        found = await self._energy.budgets(LOCAL, scope, id)
        return next((_describe_budget(one) for one in found if one.unit == unit), None)

    async def history(self, ctx: Context, agent: str, since: float, until: float, points: int) -> list[EnergyPoint]:
        persona = self._require_persona(ctx, agent)
        found = await self._energy.history(persona.caller, since, until, points)
        return [{"at": to_iso(at), "level": level} for at, level in found]


def _list_agents(ctx: Context) -> list[str]:
    if ctx.caller.tenant != LOCAL:
        return []
    return [one.id for one in ctx.services.personas.all(LOCAL) if one.effort is not None]


def _is_known(ctx: Context, room: str) -> bool:
    """Whether the caller may know of what happens in a room. Requests from outside rooms are for people only."""
    if not room:
        return ctx.caller.acts_as_person
    found = ctx.services.rooms.get(LOCAL, room)
    return found is not None and found.is_known_to(ctx.caller)


def _time(at: float | None) -> str | None:
    return None if at is None else to_iso(at)


def _describe_budget(one: Any) -> BudgetFacts:
    return {
        "scope": one.scope,
        "id": one.id,
        "unit": one.unit,
        "amount": one.amount,
        "spent": one.spent,
        "left": one.left,
    }


def describe_request(one: SubAgentRequest) -> SubAgentRequestFacts:
    return {
        "id": one.id,
        "agent": one.agent,
        "room": one.room,
        "kind": one.kind,  # type: ignore[typeddict-item]
        "params": one.params,
        "priority": one.priority,  # type: ignore[typeddict-item]
        "state": one.state,  # type: ignore[typeddict-item]
        "progress": one.progress,
        "message": one.message,
        "energy": one.energy,
        "result": one.result,
        "error": one.error,
        "ticket": one.ticket,
        "createdAt": to_iso(one.created_at),
        "startedAt": _time(one.started_at),
        "endedAt": _time(one.ended_at),
    }
