"""The interface of agents with effort, as commands use them. `agents/effort` implements it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, TypedDict

from msgspec import Meta

if TYPE_CHECKING:
    from doorward.commands.context import Context

Priority = Literal["low", "medium", "high"]
RequestKind = Literal["add_server", "remove_server", "test_server", "search_servers", "modify_server"]
RequestState = Literal["queued", "in_progress", "completed", "failed", "cancelled"]
ConversationState = Literal["open", "answered", "snoozed", "awaiting_energy", "out_of_budget", "ended"]
BudgetUnit = Literal["energy", "tokens", "dollars"]
BudgetScope = Literal["conversation", "agent", "room"]


class EnergyFacts(TypedDict):
    level: Annotated[float, Meta(description="From the floor to the ceiling of the pool")]
    status: Annotated[Literal["high", "medium", "low", "urgent"], Meta(description="high above 50, medium 20, low 0")]
    perSecond: Annotated[float, Meta(description="The energy that a second of work costs")]
    recoveryPerSecond: float
    spent: Annotated[float, Meta(description="All energy charged so far")]


class BudgetFacts(TypedDict):
    scope: BudgetScope
    id: str
    unit: BudgetUnit
    amount: float
    spent: float
    left: float


class ConversationFacts(TypedDict):
    agent: str
    room: Annotated[str, Meta(description="The room of the conversation, which is also its id")]
    state: ConversationState
    priority: Priority
    asker: str
    unansweredSince: str | None
    until: Annotated[str | None, Meta(description="When a snoozed or waiting conversation goes on; null if unknown")]
    note: Annotated[str, Meta(description="Why it waits, in a sentence; empty if it does not")]
    energy: Annotated[float, Meta(description="The energy that it cost so far")]
    tokens: int
    dollars: float
    budgets: list[BudgetFacts]
    createdAt: str
    updatedAt: str


class SubAgentRequestFacts(TypedDict):
    id: str
    agent: str
    room: str
    kind: RequestKind
    params: dict[str, Any]
    priority: Priority
    state: RequestState
    progress: Annotated[float, Meta(description="0 to 100")]
    message: str
    energy: float
    result: Any
    error: str
    ticket: Annotated[str, Meta(description="The approval that it waits for; empty if it waits for none")]
    createdAt: str
    startedAt: str | None
    endedAt: str | None


class AgentEffort(TypedDict):
    agent: str
    energy: EnergyFacts
    models: Annotated[list[dict[str, Any]], Meta(description="Its models, cheapest first, with what an answer costs")]
    model: Annotated[str, Meta(description="The model that it would use now")]
    conversations: Annotated[dict[str, int], Meta(description="The number of conversations by state")]
    working: Annotated[list[str], Meta(description="The rooms that it works on now")]
    subAgent: Annotated[Literal["off", "idle", "working", "paused"], Meta(description="The state of the sub-agent")]
    pausedBy: Annotated[str, Meta(description="Who or what paused the sub-agent; empty if it is not paused")]
    requests: Annotated[dict[str, int], Meta(description="The number of sub-agent requests by state")]
    budgets: list[BudgetFacts]


class EnergyPoint(TypedDict):
    at: str
    level: float


class EffortService(Protocol):
    async def status(self, ctx: Context, agent: str) -> list[AgentEffort]:
        """Describe the agents with effort that the caller may see; `agent` names one."""
        ...

    async def conversations(self, ctx: Context, agent: str, state: str) -> list[ConversationFacts]: ...

    async def start_conversation(
        self, ctx: Context, agent: str, text: str, priority: Priority, budget: float | None
    ) -> ConversationFacts:
        """Open a conversation of the caller with an agent, in a room of its own, and say the first words."""
        ...

    async def end_conversation(self, ctx: Context, room: str, agent: str) -> ConversationFacts: ...

    async def set_priority(self, ctx: Context, room: str, agent: str, priority: Priority) -> ConversationFacts: ...

    async def requests(self, ctx: Context, agent: str, state: str) -> list[SubAgentRequestFacts]: ...

    async def request(
        self, ctx: Context, agent: str, kind: RequestKind, params: dict[str, Any], priority: Priority
    ) -> SubAgentRequestFacts:
        """Give the sub-agent of an agent work, for the caller, in the room of the call."""
        ...

    async def cancel_request(self, ctx: Context, id: str, reason: str) -> SubAgentRequestFacts: ...

    async def pause(self, ctx: Context, agent: str, *, paused: bool) -> AgentEffort:
        """Pause the sub-agent of an agent, or let it go on."""
        ...

    async def set_budget(
        self, ctx: Context, scope: BudgetScope, id: str, unit: BudgetUnit, amount: float | None
    ) -> BudgetFacts | None:
        """Set a budget; None removes it. Conversations that waited for it go on."""
        ...

    async def history(self, ctx: Context, agent: str, since: float, until: float, points: int) -> list[EnergyPoint]:
        """The level of an agent over time, computed from its charges."""
        ...
