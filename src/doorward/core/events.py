"""Events: frozen records in the past tense, and the bus that delivers them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, ClassVar

import msgspec

log = logging.getLogger(__name__)


class Event(msgspec.Struct, frozen=True, kw_only=True):
    name: ClassVar[str] = ""
    tenant: str
    at: float


class CommandExecuted(Event, frozen=True, kw_only=True):
    """A call ended, in any way, and its record is stored."""

    name: ClassVar[str] = "ai:command-executed"
    call: str
    caller: str
    kind: str
    room: str
    door: str
    command: str
    status: str
    code: str
    seconds: float


class ExecutionStarted(Event, frozen=True, kw_only=True):
    """A call that may change something, or that streams output or progress, started."""

    name: ClassVar[str] = "execution:started"
    execution: str
    caller: str
    kind: str
    room: str
    door: str
    command: str


class ExecutionProgressed(Event, frozen=True, kw_only=True):
    """A running call reported progress. Events never carry its output, which may hold secrets."""

    name: ClassVar[str] = "execution:progress"
    execution: str
    caller: str
    room: str
    command: str
    fraction: float | None
    message: str


class ExecutionEnded(Event, frozen=True, kw_only=True):
    """A call that was announced as started ended, and its record is stored."""

    name: ClassVar[str] = "execution:ended"
    execution: str
    caller: str
    room: str
    command: str
    state: str
    seconds: float


class MessageReceived(Event, frozen=True, kw_only=True):
    name: ClassVar[str] = "chat:message-received"
    room: str
    message: str
    sender: str
    behalf: str = ""
    """The person on whose behalf an AI or a program sent it."""


class MessageChanged(Event, frozen=True, kw_only=True):
    """A message was edited or deleted, or the call that it shows made progress."""

    name: ClassVar[str] = "chat:message-changed"
    room: str
    message: str
    change: str
    """`edited`, `deleted` or `revised`."""
    by: str


class RoomChanged(Event, frozen=True, kw_only=True):
    """A room was created, archived, restored or renamed, or its members or recipe changed."""

    name: ClassVar[str] = "room:changed"
    room: str


class PersonaLoaded(Event, frozen=True, kw_only=True):
    """A persona was added, changed or removed."""

    name: ClassVar[str] = "persona:loaded"
    persona: str
    gone: bool


class PersonaRejected(Event, frozen=True, kw_only=True):
    """The file of a persona is not valid; its last good version stays in force."""

    name: ClassVar[str] = "persona:rejected"
    persona: str
    reason: str


class ApprovalRequested(Event, frozen=True, kw_only=True):
    name: ClassVar[str] = "approval:requested"
    approval: str
    room: str
    command: str
    caller: str
    behalf: str = ""
    """The person the caller acts for. They are notified when there is no room."""
    expires_at: float


class ApprovalDecided(Event, frozen=True, kw_only=True):
    name: ClassVar[str] = "approval:decided"
    approval: str
    room: str
    state: str
    decider: str


class ApprovalHeld(Event, frozen=True, kw_only=True):
    """A person looks at an approval, so it waits longer."""

    name: ClassVar[str] = "approval:held"
    approval: str
    room: str
    holder: str
    behalf: str = ""
    """The person the caller acts for. They are notified when there is no room."""
    expires_at: float


class QuestionAsked(Event, frozen=True, kw_only=True):
    """An upstream server asked a person a question. Events never carry the question itself."""

    name: ClassVar[str] = "question:asked"
    question: str
    server: str
    room: str
    caller: str
    command: str
    execution: str


class QuestionAnswered(Event, frozen=True, kw_only=True):
    """A person answered a question, or the question ended with its call."""

    name: ClassVar[str] = "question:answered"
    question: str
    room: str
    caller: str
    action: str
    """`accept`, `decline` or `cancel`; `gone` when the call ended."""
    answered_by: str


class RecipeLoaded(Event, frozen=True, kw_only=True):
    name: ClassVar[str] = "recipe:loaded"
    recipe: str


class RecipeRejected(Event, frozen=True, kw_only=True):
    """A recipe file is not valid; the last good version stays in force."""

    name: ClassVar[str] = "recipe:rejected"
    recipe: str
    reason: str


class CatalogueLoaded(Event, frozen=True, kw_only=True):
    name: ClassVar[str] = "catalogue:loaded"
    commands: int


class CatalogueRejected(Event, frozen=True, kw_only=True):
    """The file of the command catalogue is not valid; the last good version stays in force."""

    name: ClassVar[str] = "catalogue:rejected"
    file: str
    reason: str


class ServersLoaded(Event, frozen=True, kw_only=True):
    """The file of upstream servers was loaded."""

    name: ClassVar[str] = "servers:loaded"
    servers: int


class ServersRejected(Event, frozen=True, kw_only=True):
    """The file of upstream servers is not valid; the last good version stays in force."""

    name: ClassVar[str] = "servers:rejected"
    file: str
    reason: str


class UpstreamChanged(Event, frozen=True, kw_only=True):
    """The state or the problem of an upstream server changed."""

    name: ClassVar[str] = "upstream:changed"
    server: str
    state: str
    problem: str


class UpstreamOffered(Event, frozen=True, kw_only=True):
    """The tools that upstream servers offer, or their terms, changed."""

    name: ClassVar[str] = "upstream:offered"
    tools: int


class EnergyChanged(Event, frozen=True, kw_only=True):
    """Energy of an agent was charged."""

    name: ClassVar[str] = "energy:changed"
    agent: str
    level: float
    status: str


class ConversationChanged(Event, frozen=True, kw_only=True):
    """A conversation of an agent with effort began or changed its state."""

    name: ClassVar[str] = "conversation:changed"
    agent: str
    room: str
    state: str


class SubAgentReported(Event, frozen=True, kw_only=True):
    """A sub-agent reported on a request."""

    name: ClassVar[str] = "subagent:reported"
    agent: str
    request: str
    report: str
    """`status_update`, `completion`, `error` or `tool_available`."""
    state: str
    progress: float
    message: str


CATALOGUE: tuple[type[Event], ...] = (
    CommandExecuted,
    ExecutionStarted,
    ExecutionProgressed,
    ExecutionEnded,
    MessageReceived,
    MessageChanged,
    RoomChanged,
    PersonaLoaded,
    PersonaRejected,
    ApprovalRequested,
    ApprovalDecided,
    ApprovalHeld,
    QuestionAsked,
    QuestionAnswered,
    RecipeLoaded,
    RecipeRejected,
    CatalogueLoaded,
    CatalogueRejected,
    ServersLoaded,
    ServersRejected,
    UpstreamChanged,
    UpstreamOffered,
    EnergyChanged,
    ConversationChanged,
    SubAgentReported,
)

Subscriber = Callable[[Any], None]


class Bus:
    """Delivers each event to every subscriber, in order. A failing subscriber does not affect the others."""

    def __init__(self) -> None:
        self._subscriptions: list[tuple[Subscriber, tuple[type[Event], ...]]] = []
        self._listening: dict[type[Event], tuple[Subscriber, ...]] = {}
        """Subscribers by event type, computed on first use."""

    def subscribe(self, subscriber: Subscriber, *kinds: type[Event]) -> Callable[[], None]:
        """Subscribe to events of these types, or to all. Returns a function that unsubscribes."""
        subscription = (subscriber, kinds)
        self._subscriptions.append(subscription)
        self._listening.clear()

        def leave() -> None:
            self._subscriptions.remove(subscription)
            self._listening.clear()

        return leave

    def _listeners(self, kind: type[Event]) -> tuple[Subscriber, ...]:
        found = tuple(one for one, kinds in self._subscriptions if not kinds or kind in kinds)
        self._listening[kind] = found
        return found

    def publish(self, event: Event) -> None:
        for subscriber in self._listening.get(type(event)) or self._listeners(type(event)):
            try:
                subscriber(event)
            except Exception:
                log.exception("a subscriber failed on %s", event.name)
