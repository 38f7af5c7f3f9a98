"""What is different in a turn of an agent with effort: its model, the length of its answer, its tools, its cost."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from doorward.agents.answers import ModelAnswer
from doorward.agents.calls.parsed import ParsedCall
from doorward.agents.effort import tools
from doorward.agents.effort.agent import EffortAgent
from doorward.agents.effort.model_costs import answer_share
from doorward.agents.grounding import CallStep
from doorward.agents.loop import CallResult, LoopEnd
from doorward.agents.models.model import Model, ToolSpec
from doorward.core import strictjson
from doorward.core.clock import Clock
from doorward.core.command import shorten
from doorward.core.errors import BadParams, DoorwardError
from doorward.core.ids import new_id
from doorward.core.names import normalise
from doorward.gate.energy import Energy, status

_MAX_THOUGHTS = 3
"""Thoughts in a row after which the agent has to act."""
_THINK_ONLY = "You thought several times without acting. Answer now, or call a command."
_NO_ANSWER = "I thought about it and found no answer. Please ask me in other words."
_LISTED = 100


class TurnRegulation:
    """One turn of an agent in one conversation."""

    def __init__(self, agent: EffortAgent, energy: Energy, clock: Clock, room: str, asker: str) -> None:
        self._agent = agent
        self._energy = energy
        self._clock = clock
        self._room = room
        self._asker = asker
        self._thoughts = 0

    def choose_model(self) -> str:
        return self._agent.costs.choose(self._agent.models, self._agent.level)

    def limit_answer(self, tokens: int) -> int:
        """Return how long an answer may be at the present level, in tokens."""
        return max(1, int(tokens * answer_share(self._agent.level)))

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        return (*tools.OWN_TOOLS, *(tools.SERVER_TOOLS if self._agent.sub_agent is not None else ()))

    @property
    def instructions(self) -> str:
        """What the model is told about the agent's effort."""
        level = self._agent.level
        others = [
            f"{one.room} ({one.priority})"
            for one in self._agent.conversations
            if one.unanswered_since is not None and one.room != self._room
        ]
        lines = [f"Your energy is {level:.0f} of 100 ({status(level)}); work costs energy, and time restores it."]
        if others:
            lines.append(f"Other conversations wait for you: {', '.join(others[:10])}.")
        lines += self._agent.reports.get(self._room, ())
        return " ".join(lines)

    async def measure(self, model: Model, ask: Callable[[], Awaitable[ModelAnswer]]) -> ModelAnswer:
        """Charge the time that a model takes, also if it fails."""
        began, key, answer = self._clock.steady(), f"answer:{new_id()}", None
        await self._agent.note_answer(key, self._room, model.name)
        try:
            answer = await ask()
            return answer
        finally:
            await asyncio.shield(self._charge(key, model.name, self._clock.steady() - began, answer))

    async def _charge(self, key: str, model: str, seconds: float, answer: ModelAnswer | None) -> None:
        persona = self._agent.persona
        if persona is None:
            return
        spent = answer.spent if answer is not None else None
        tokens = spent.input_tokens + spent.output_tokens if spent is not None and model != "house" else 0
        amount = seconds * self._energy.per_second
        self._agent.costs.add(model, amount)
        await self._energy.charge(
            persona.caller,
            key,
            amount,
            kind="model",
            room=self._room,
            subject=model,
            tokens=tokens,
            dollars=(spent.dollars or 0.0) if spent is not None else 0.0,
        )
        await self._agent.note_answer(key)

    async def run_tool(self, call: ParsedCall) -> CallResult | None:
        """Run a tool of the agent itself; None for any other call."""
        name = normalise(call.name)
        if name not in tools.NAMES:
            self._thoughts = 0
            return None
        given = dict(call.args) if call.args is not None else call.params or {}
        self._thoughts = self._thoughts + 1 if name == tools.THINK else 0
        try:
            return await self._run(name, given)
        except DoorwardError as error:
            return CallResult(text=f"{name}: refused. {error.message}", fault=name)

    async def _run(self, name: str, given: Mapping[str, Any]) -> CallResult:
        agent = self._agent
        match name:
            case tools.RESPOND:
                return CallResult(text="Sent.", end=LoopEnd(ended="answered", text=_text(name, given, "content")))
            case tools.THINK:
                return self._think()
            case tools.AWAIT_ENERGY:
                level = await agent.conversations.await_energy(
                    self._room, _number(name, given, "level", -1_000.0, 1_000_000.0)
                )
                return self._leave(f"This conversation goes on when the energy is {level:g}.")
            case tools.SNOOZE:
                await agent.conversations.snooze(self._room, _number(name, given, "minutes", 1, tools.LONGEST_SNOOZE))
                return self._leave("Snoozed.")
            case tools.SELECT:
                agent.select(_text(name, given, "conversation"), self._room)
                return self._leave("Selected.")
            case tools.END:
                await agent.end(self._room)
                return self._leave("Ended.")
        return await self._ask_sub_agent(name, given)

    def _think(self) -> CallResult:
        if self._thoughts > _MAX_THOUGHTS + 1:
            return CallResult(text=_THINK_ONLY, end=LoopEnd(ended="answered", text=_NO_ANSWER))
        return CallResult(text=_THINK_ONLY if self._thoughts > _MAX_THOUGHTS else "Noted.")

    def _leave(self, text: str) -> CallResult:
        return CallResult(text=text, end=LoopEnd(ended="left"))

    async def _ask_sub_agent(self, name: str, given: Mapping[str, Any]) -> CallResult:
        sub = self._agent.sub_agent
        if sub is None:
            return CallResult(text=f"{name}: refused. This agent has no sub-agent.", fault=name)
        if name == tools.LIST_TOOLS:
            return CallResult(text=self._list_tools())
        if name == tools.REQUEST_SERVER:
            params = {"serverName": _text(name, given, "serverName"), "purpose": _text(name, given, "purpose")}
            priority = given.get("priority", "medium")
            if priority not in ("low", "medium", "high"):
                raise BadParams(f"{name}: priority must be low, medium or high; given {shorten(priority)}.")
            request = await sub.queue("add_server", params, priority, room=self._room, asker=self._asker)
            text = f"{name}: done.\nThe sub-agent has the request {request.id}. You get its tools when they are there."
            return CallResult(text=text, step=CallStep(name, "done", changes=False))
        found = await sub.find(_text(name, given, "requestId"))
        if found is None or found.room != self._room:
            raise BadParams(f"{name}: this conversation has no request {shorten(given['requestId'])}.")
        if name == tools.CANCEL_REQUEST:
            found = await sub.cancel(found.id, _text(name, given, "reason"))
        facts = {"requestId": found.id, "state": found.state, "progress": found.progress, "message": found.message}
        return CallResult(text=f"{name}: done.\n{msgspec.json.encode(facts).decode()}")

    def _list_tools(self) -> str:
        names = self._agent.list_server_tools(self._room, self._asker)
        more = f"\nand {len(names) - _LISTED} more" if len(names) > _LISTED else ""
        return "Tools:\n" + "\n".join(names[:_LISTED]) + more if names else "No MCP server offers a tool here."


def _text(tool: str, given: Mapping[str, Any], name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str) or not value.strip():
        raise BadParams(f"{tool}: {name} must be a text that is not empty; given {shorten(value)}.")
    return value.strip()


def _number(tool: str, given: Mapping[str, Any], name: str, least: float, most: float) -> float:
    value = given.get(name)
    if isinstance(value, str):
        with contextlib.suppress(strictjson.NotJson):
            value = strictjson.loads(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise BadParams(f"{tool}: {name} must be a number from {least:g} to {most:g}; given {shorten(value)}.")
    return float(value)
