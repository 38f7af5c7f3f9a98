"""Commands effort/*: the energy and the budgets of agents, and the requests to their sub-agents."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypedDict

from msgspec import Meta

from doorward.commands.ai import When, parse_time
from doorward.commands.context import Context, Listing, make_listing
from doorward.commands.effort_services import (
    AgentEffort,
    BudgetFacts,
    BudgetScope,
    BudgetUnit,
    EnergyPoint,
    Priority,
    RequestKind,
    SubAgentRequestFacts,
)
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import READS_ONLY, Example, Family, NoUndo
from doorward.core.errors import BadParams, NotFound, NotPermitted

family = Family("effort", category="rooms")

_SPAN = 86_400
"""Seconds of history to show if no beginning is given."""

Agent = Annotated[str, Meta(description="The id of an agent with effort", pattern=r"^[a-z][a-z0-9-]{0,62}$")]
AnyAgent = Annotated[
    str, Meta(description="Only this agent; all of them if omitted", pattern=r"^([a-z][a-z0-9-]{0,62})?$")
]
RequestId = Annotated[str, Meta(description="The request's id, from effort/requests", min_length=1, max_length=64)]
Amount = Annotated[float, Meta(ge=0, le=1_000_000_000)]


class BudgetChange(TypedDict):
    scope: BudgetScope
    id: str
    unit: BudgetUnit
    budget: Annotated[BudgetFacts | None, Meta(description="The budget now; null if there is none")]


@family.command(
    "status",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=10,
    undo=READS_ONLY,
    examples=[
        Example("how much energy do the agents have", {}),
        Example("what is scout doing", {"agent": "scout"}),
    ],
    related=["effort/history", "conversation/list", "effort/requests"],
    is_status_poll=True,
)
async def status(ctx: Context, agent: AnyAgent = "") -> Listing[AgentEffort]:
    """Show the agents with effort: energy, models, conversations, budgets and the sub-agent of each."""
    return make_listing(await ctx.services.effort.status(ctx, agent))


@family.command(
    "history",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=10,
    undo=READS_ONLY,
    examples=[Example("the energy of scout in the last two hours", {"agent": "scout", "since": "2h"})],
    related=["effort/status"],
    is_status_poll=True,
)
async def history(
    ctx: Context,
    agent: Agent,
    since: When = "",
    until: When = "",
    points: Annotated[int, Meta(description="The number of points", ge=2, le=2_000)] = 200,
) -> Listing[EnergyPoint]:
    """Show the energy of an agent over time: of the last day, or of another span."""
    now = ctx.services.clock.now()
    end = parse_time(until, now) / 1_000_000 if until else now
    start = parse_time(since, now) / 1_000_000 if since else end - _SPAN
    if start >= end:
        raise BadParams(f"effort/history: since must be before until; given since {since!r} and until {until!r}.")
    return make_listing(await ctx.services.effort.history(ctx, agent, start, end, int(points)))


@family.command(
    "requests",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=10,
    undo=READS_ONLY,
    examples=[
        Example("what did the sub-agents do", {}),
        Example("what waits for the sub-agent of scout", {"agent": "scout", "state": "queued"}),
    ],
    related=["effort/request", "effort/cancel"],
    is_status_poll=True,
)
async def list_requests(
    ctx: Context,
    agent: AnyAgent = "",
    state: Annotated[
        Literal["", "queued", "in_progress", "completed", "failed", "cancelled"],
        Meta(description="Only requests in this state"),
    ] = "",
) -> Listing[SubAgentRequestFacts]:
    """List the requests to sub-agents with their progress, energy and result, newest first."""
    return make_listing(await ctx.services.effort.requests(ctx, agent, state))


@family.command(
    "request",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    access=Access.EDIT,
    safety=Safety.CAUTION,
    cost=1,
    timeout=10,
    undo=NoUndo("the sub-agent starts at once; effort/cancel stops it, and mcp/remove removes a server that it added"),
    examples=[
        Example(
            "let the sub-agent of scout look for a server about the weather",
            {"agent": "scout", "kind": "search_servers", "params": {"purpose": "weather forecasts"}, "priority": "low"},
        )
    ],
    related=["effort/requests", "effort/cancel", "mcp/servers"],
)
async def request(
    ctx: Context,
    agent: Agent,
    kind: Annotated[RequestKind, Meta(description="What the sub-agent does")],
    params: Annotated[dict[str, Any], Meta(description="The details, such as the server or the words to search for")],
    priority: Annotated[Priority, Meta(description="Requests of higher priority come first")] = "medium",
) -> SubAgentRequestFacts:
    """Give the sub-agent of an agent work: find, add, test, change or remove an MCP server.

    It answers at once, and the work continues in the background. People can do this, and the agent itself.
    """
    if not (ctx.caller.acts_as_person or _is_agent(ctx, agent)):
        raise NotPermitted(f"Only people and {agent} itself give its sub-agent work; given {ctx.caller.id}.")
    return await ctx.services.effort.request(ctx, agent, kind, params, priority)


@family.command(
    "cancel",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    access=Access.EDIT,
    safety=Safety.SAFE,
    cost=1,
    timeout=10,
    undo=NoUndo("a cancelled request cannot resume; make it again with effort/request"),
    examples=[Example("stop that search", {"request": "01k9x2m4q7ab3cde", "reason": "found it already"})],
    related=["effort/requests", "effort/pause"],
)
async def cancel(
    ctx: Context,
    request: RequestId,
    reason: Annotated[str, Meta(description="Why, for the agent to read", max_length=500)] = "",
) -> SubAgentRequestFacts:
    """Cancel a request to a sub-agent that is queued or in progress."""
    if not ctx.caller.acts_as_person:
        own = await ctx.services.effort.requests(ctx, ctx.caller.id, "") if _is_agent(ctx, ctx.caller.id) else []
        if request not in {one["id"] for one in own}:
            raise NotFound(f"You have no request {request!r}. effort/requests lists the requests.")
    return await ctx.services.effort.cancel_request(ctx, request, reason)


@family.command(
    "pause",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    access=Access.EDIT,
    safety=Safety.SAFE,
    cost=1,
    timeout=10,
    undo=NoUndo("effort/resume lets the sub-agent work again"),
    examples=[Example("pause the sub-agent of scout", {"agent": "scout"})],
    related=["effort/resume", "effort/cancel"],
    humans_only=True,
)
async def pause(ctx: Context, agent: Agent) -> AgentEffort:
    """Pause the sub-agent of an agent. Its requests wait until a person resumes it."""
    return await ctx.services.effort.pause(ctx, agent, paused=True)


@family.command(
    "resume",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    access=Access.EDIT,
    safety=Safety.SAFE,
    cost=1,
    timeout=10,
    undo=NoUndo("effort/pause pauses the sub-agent again"),
    examples=[Example("resume the sub-agent of scout", {"agent": "scout"})],
    related=["effort/pause", "effort/requests"],
    humans_only=True,
)
async def resume(ctx: Context, agent: Agent) -> AgentEffort:
    """Resume the paused sub-agent of an agent."""
    return await ctx.services.effort.pause(ctx, agent, paused=False)


@family.command(
    "budget",
    tier=Tier.SYSTEM,
    effects=Effects.WRITE,
    access=Access.FULL,
    safety=Safety.CAUTION,
    cost=1,
    timeout=10,
    undo=NoUndo("what was spent stays spent; set the earlier amount again"),
    examples=[
        Example("scout may use 500 energy in all", {"scope": "agent", "id": "scout", "unit": "energy", "amount": 500}),
        Example(
            "remove the dollar limit of scout", {"scope": "agent", "id": "scout", "unit": "dollars", "amount": None}
        ),
    ],
    related=["effort/status", "conversation/list"],
    humans_only=True,
    server_wide=True,
    widens_access=True,
)
async def budget(
    ctx: Context,
    scope: Annotated[BudgetScope, Meta(description="What the budget limits")],
    id: Annotated[
        str,
        Meta(
            description="The agent, the room, or the room of a conversation; agent@room if several agents talk there",
            min_length=1,
            max_length=200,
        ),
    ],
    unit: Annotated[BudgetUnit, Meta(description="What is counted")],
    amount: Annotated[
        Amount | None,
        Meta(description="The most that may be spent, from the start: 0 allows one last answer; null removes it"),
    ],
) -> BudgetChange:
    """Set how much a conversation, an agent or a room may spend. Conversations that waited for it resume."""
    id = await _find_subject(ctx, scope, id)
    found = await ctx.services.effort.set_budget(ctx, scope, id, unit, amount)
    return {"scope": scope, "id": id, "unit": unit, "budget": found}


async def _find_subject(ctx: Context, scope: BudgetScope, id: str) -> str:
    """The id of what a budget limits, which must exist: a mistyped one would limit nothing."""
    if scope == "agent":
        await ctx.services.effort.status(ctx, id)
        return id
    if scope == "room":
        room = ctx.services.rooms.get(ctx.caller.tenant, id)
        if room is None or not room.is_known_to(ctx.caller):
            raise NotFound(f"There is no room {id[:80]!r}. room/list shows yours.")
        return room.id
    found = [f"{one['agent']}@{one['room']}" for one in await ctx.services.effort.conversations(ctx, "", "")]
    there = [one for one in found if id in (one, one.partition("@")[2])]
    if not there:
        raise NotFound(f"There is no conversation {id[:80]!r}. conversation/list shows yours.")
    if len(there) > 1:
        raise BadParams(f"Several agents talk in {id[:80]!r}. Name one of {', '.join(there)}.")
    return there[0]


def _is_agent(ctx: Context, agent: str) -> bool:
    """Whether the caller is this agent itself."""
    return ctx.caller.persona and ctx.caller.id == agent
