"""The conversations of an agent with effort: one for each room, stored, with its state."""

from __future__ import annotations

from collections.abc import Iterator

from doorward.commands.context import Services
from doorward.commands.effort_services import ConversationState, Priority
from doorward.core.errors import NotFound
from doorward.core.events import ConversationChanged
from doorward.gate.energy import Energy
from doorward.rooms.people import LOCAL
from doorward.rooms.rooms import Room
from doorward.store import conversations
from doorward.store.conversations import Conversation

_MAX_LOOKED_AT = 50


class ConversationBook:
    def __init__(self, services: Services, agent: str, energy: Energy) -> None:
        self._services = services
        self._agent = agent
        self._energy = energy
        self._conversations: dict[str, Conversation] = {}

    def __iter__(self) -> Iterator[Conversation]:
        return iter(list(self._conversations.values()))

    def __contains__(self, room: str) -> bool:
        return room in self._conversations

    def get(self, room: str) -> Conversation | None:
        return self._conversations.get(room)

    async def load(self) -> None:
        """Load what a former process stored."""
        found = await conversations.of_agent(self._services.store, LOCAL, self._agent)
        self._conversations = {one.room: one for one in found}

    async def open(
        self, room: Room, asker: str, priority: Priority = "medium", budget: float | None = None
    ) -> Conversation:
        """Return the conversation of a room; a new one gets this budget of energy, if any."""
        now = self._services.clock.now()
        one = self._conversations.get(room.id)
        if one is None:
            one = self._conversations[room.id] = Conversation(
                tenant=LOCAL,
                agent=self._agent,
                room=room.id,
                state="open",
                priority=priority,
                asker=asker,
                created_at=now,
                updated_at=now,
            )
            if budget is not None:
                await self._energy.set_budget(LOCAL, "conversation", f"{self._agent}@{room.id}", "energy", budget)
        one.asker = asker
        return one

    async def change(self, one: Conversation, state: ConversationState, note: str = "") -> None:
        """Store and publish the state of a conversation."""
        services = self._services
        one.state, one.note, one.updated_at = state, note, services.clock.now()
        event = ConversationChanged(tenant=LOCAL, at=one.updated_at, agent=self._agent, room=one.room, state=state)
        await services.store.write(conversations.put(one), then=lambda: services.events.publish(event))

    def require(self, room: str) -> Conversation:
        found = self._conversations.get(room)
        if found is None:
            there = ", ".join(list(self._conversations)[:10]) or "none"
            raise NotFound(f"{self._agent} has no conversation {room[:80]!r}. Conversations: {there}.")
        return found

    async def await_energy(self, room: str, level: float) -> float:
        """Pause a conversation until the energy has recovered; return the level that is waited for."""
        one, most = self.require(room), self._services.settings.energy.ceiling
        one.wanted_level = min(level, most)
        await self.change(one, "awaiting_energy", f"It waits until the energy is {one.wanted_level:g}.")
        return one.wanted_level

    async def snooze(self, room: str, minutes: float) -> None:
        one = self.require(room)
        one.until = self._services.clock.now() + 60.0 * minutes
        await self.change(one, "snoozed", f"It is snoozed for {minutes:g} minutes.")

    async def end(self, room: str) -> Conversation:
        one = self.require(room)
        one.unanswered_since = one.until = one.wanted_level = None
        await self.change(one, "ended")
        return one

    async def find_unanswered(self, one: Conversation) -> list[tuple[str, str]]:
        """Find the messages of people after the agent's last answer, oldest first, each with its sender."""
        services = self._services
        room = services.rooms.get(LOCAL, one.room)
        newest = await services.messages.newest(room, _MAX_LOOKED_AT) if room is not None else []
        since = one.unanswered_since or 0.0
        found = [each for each in reversed(newest) if each.kind == "human" and each.at >= since and each.text]
        return [(each.id, each.sender) for each in found]

    async def find_last_question(self, room: str) -> tuple[str, str] | None:
        """Find the last message of a person, after a restart."""
        services = self._services
        found = services.rooms.get(LOCAL, room)
        newest = await services.messages.newest(found, _MAX_LOOKED_AT) if found is not None else []
        return next(((one.id, one.sender) for one in newest if one.kind == "human" and one.text), None)

    async def say(self, room: str, text: str) -> None:
        """Post a message of the agent that no model wrote."""
        services = self._services
        found, one = services.rooms.get(LOCAL, room), self._conversations.get(room)
        if found is not None and not found.archived and self._agent in found.members:
            behalf = one.asker if one is not None else ""
            await services.messages.post(found, self._agent, "ai", text, behalf=behalf, notify=False)
