"""Commands conversation/*: start, list, end and order the conversations of agents with effort."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from doorward.commands.context import Context, Listing, make_listing
from doorward.commands.effort import Agent, Amount, AnyAgent
from doorward.commands.effort_services import ConversationFacts, Priority
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import READS_ONLY, Example, Family, NoUndo

family = Family("conversation", category="rooms")

Room = Annotated[str, Meta(description="The room of the conversation", min_length=1, max_length=200)]
RoomAgent = Annotated[
    str,
    Meta(
        description="The agent; needed only if several agents with effort are in the room",
        pattern=r"^([a-z][a-z0-9-]{0,62})?$",
    ),
]


@family.command(
    "start",
    tier=Tier.APPLICATION,
    effects=Effects.WRITE,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=30,
    undo=NoUndo("the agent may have read the message; conversation/end ends it"),
    examples=[
        Example("ask scout which rooms exist", {"agent": "scout", "text": "Which rooms exist?"}),
        Example(
            "ask scout for a summary, for at most 20 energy",
            {"agent": "scout", "text": "Sum up what happened today.", "priority": "high", "budget": 20},
        ),
    ],
    related=["conversation/list", "conversation/end", "room/messages"],
    humans_only=True,
    widens_access=True,
)
async def start(
    ctx: Context,
    agent: Agent,
    text: Annotated[str, Meta(description="The first message", min_length=1, max_length=20_000)],
    priority: Annotated[Priority, Meta(description="Conversations of higher priority come first")] = "medium",
    budget: Annotated[
        Amount | None,
        Meta(description="The energy that it may cost: 0 allows one answer; null for the agent's own limit"),
    ] = None,
) -> ConversationFacts:
    """Start a conversation with an agent in a room of its own. The agent answers there."""
    return await ctx.services.effort.start_conversation(ctx, agent, text, priority, budget)


@family.command(
    "list",
    tier=Tier.INFORMATION,
    effects=Effects.READ,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=10,
    undo=READS_ONLY,
    examples=[
        Example("which conversations do the agents have", {}),
        Example("which conversations of scout wait for energy", {"agent": "scout", "state": "awaiting_energy"}),
    ],
    related=["conversation/start", "effort/status"],
    is_status_poll=True,
)
async def list_conversations(
    ctx: Context,
    agent: AnyAgent = "",
    state: Annotated[
        Literal["", "open", "answered", "snoozed", "awaiting_energy", "out_of_budget", "ended"],
        Meta(description="Only conversations in this state"),
    ] = "",
) -> Listing[ConversationFacts]:
    """List the conversations of agents with effort that you can see: state, age, cost and budget."""
    return make_listing(await ctx.services.effort.conversations(ctx, agent, state))


@family.command(
    "end",
    tier=Tier.APPLICATION,
    effects=Effects.WRITE,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=10,
    undo=NoUndo("a new message in the room opens it again"),
    examples=[Example("end the conversation in the room general", {"room": "general"})],
    related=["conversation/list", "conversation/start"],
    humans_only=True,
)
async def end(ctx: Context, room: Room, agent: RoomAgent = "") -> ConversationFacts:
    """End a conversation. The agent stops its work there; the messages stay."""
    return await ctx.services.effort.end_conversation(ctx, room, agent)


@family.command(
    "priority",
    tier=Tier.APPLICATION,
    effects=Effects.WRITE,
    access=Access.READ,
    safety=Safety.SAFE,
    cost=1,
    timeout=10,
    undo=NoUndo("set the earlier priority again"),
    examples=[Example("the conversation in general is urgent", {"room": "general", "priority": "high"})],
    related=["conversation/list"],
    humans_only=True,
)
async def set_priority(
    ctx: Context,
    room: Room,
    priority: Annotated[Priority, Meta(description="Conversations of higher priority come first")],
    agent: RoomAgent = "",
) -> ConversationFacts:
    """Set the priority of a conversation."""
    return await ctx.services.effort.set_priority(ctx, room, agent, priority)
