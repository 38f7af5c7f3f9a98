"""The context of a running command: its call, its caller, and the services of Doorward."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Generic, Protocol, TypedDict, TypeVar

import msgspec

from doorward.approvals.approvals import Approvals
from doorward.backends.keeper_desk import KeeperDesk
from doorward.backends.model_desk import ModelDesk
from doorward.backends.session.sessions import Sessions
from doorward.catalogue.book import CatalogueBook
from doorward.clock import Clock
from doorward.command import Command
from doorward.events import Bus
from doorward.executions.execution import Execution
from doorward.executions.executions import Executions
from doorward.model import Absent, Call, Caller, Outcome, Ruling
from doorward.personas.book import Personas
from doorward.recent import Recent
from doorward.recipes.book import RecipeBook
from doorward.recipes.policy import Policy
from doorward.registry import Registry
from doorward.rooms.accounts import Accounts
from doorward.rooms.browsers import Browsers
from doorward.rooms.files import Files
from doorward.rooms.live import Live
from doorward.rooms.messages import Messages
from doorward.rooms.people import People
from doorward.rooms.presence import Presence
from doorward.rooms.rooms import Rooms
from doorward.rooms.tokens import Tokens
from doorward.sandbox.sandbox import Sandbox
from doorward.settings import Settings
from doorward.store.accepted import Accepted
from doorward.store.command_index import CommandIndex
from doorward.store.sqlite import Store
from doorward.upstream.book import ServerBook
from doorward.upstream.questions import Questions
from doorward.upstream.remote import Remote
from doorward.upstream.upstreams import Upstreams

T = TypeVar("T")


class Ask(Protocol):
    def __call__(self, call: Call, command: str, params: Mapping[str, Any], ticket: str = "") -> Awaitable[Outcome]: ...


class Services(msgspec.Struct, kw_only=True):
    """The services that commands use. They are assembled once, in `app.py`."""

    home: Path
    settings: Settings
    clock: Clock
    store: Store
    registry: Registry
    index: CommandIndex
    """The search index over commands."""
    accepted: Accepted
    """The suggestions that people accepted."""
    events: Bus
    recent: Recent
    rooms: Rooms
    messages: Messages
    files: Files
    """Attachments of messages."""
    live: Live
    """Live notices of rooms: new messages, typing indicators, presence."""
    presence: Presence
    people: People
    tokens: Tokens
    accounts: Accounts
    browsers: Browsers
    recipes: RecipeBook
    personas: Personas
    models: ModelDesk
    """The models of personas and the keeper."""
    keeper: KeeperDesk
    """The agent that carries out requests in plain words."""
    catalogue: CatalogueBook
    approvals: Approvals
    questions: Questions
    servers: ServerBook
    """The configuration file of upstream MCP servers."""
    upstreams: Upstreams
    """The upstream MCP servers and their connections."""
    remote: Remote
    """HTTP access and login to remote upstream servers."""
    sandbox: Sandbox
    sessions: Sessions
    """The shell sessions and their built-in commands."""
    executions: Executions
    ask: Ask
    """Runs another command for the same caller in the same room, nested in this call.

    The nested call is checked like any other. It does not count against the limit of concurrent calls, is cancelled
    with the call around it, and may have to wait for approval. When it is approved, run it again with the same
    parameters and the ticket.
    """
    rules_on: Callable[[Caller, str, Command], Ruling]
    """The gate's ruling if this caller ran that command in that room."""
    would_rule: Callable[[Caller, Command, Policy], Ruling]
    """The gate's ruling on a member of a room if the room had this policy."""
    offered: Callable[[Caller, str], list[Command]]
    """The commands that the gate lets this caller run in that room."""
    absent: Callable[[Caller, str, str], Absent | None] = lambda _, __, ___: None
    """Why a named command is missing at the moment, for a caller who could run it in that room otherwise."""
    energy_of: Callable[[Caller], dict[str, Any] | None]
    """A caller's energy as level and status, or None while energy is switched off."""
    running: Callable[[], int]
    """The number of commands that run at the moment."""
    stop: Callable[[], None]
    """Shuts the server down cleanly."""


class Context(msgspec.Struct, frozen=True):
    """The context of one call: the call, its execution and the services."""

    call: Call
    house: Services
    execution: Execution
    """The running execution of this call: it takes the output of programs and progress reports."""
    effect: bytes | None = None
    """The previewed effect that people approved for this call; None when no effect was previewed."""

    @property
    def caller(self) -> Caller:
        return self.call.caller

    @property
    def store(self) -> Store:
        return self.house.store

    @property
    def workspace(self) -> Path:
        """The folder that holds the files of this call."""
        return Path(self.call.workspace)

    def may(self, command: str) -> Ruling:
        """The gate's ruling on another command for this caller. A command that reveals or undoes another checks it."""
        return self.house.rules_on(self.caller, self.call.room, self.house.registry[command])


class Listing(TypedDict, Generic[T]):
    items: list[T]


def listing(items: list[T]) -> Listing[T]:
    """Wrap the items of a list result. All lists have this shape, which models read as "Found N items"."""
    return {"items": items}
