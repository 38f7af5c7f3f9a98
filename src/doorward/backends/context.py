"""What a running command is given: who asks, for which call, and the services of the house."""

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
    """The parts of the house that commands stand on; assembled once, in `app.py`."""

    home: Path
    settings: Settings
    clock: Clock
    store: Store
    registry: Registry
    index: CommandIndex
    """Finds commands by what somebody wants."""
    accepted: Accepted
    """What people took of what was suggested to them."""
    events: Bus
    recent: Recent
    rooms: Rooms
    messages: Messages
    files: Files
    """Files that come with messages."""
    live: Live
    """What goes on in rooms at this moment."""
    presence: Presence
    people: People
    tokens: Tokens
    accounts: Accounts
    browsers: Browsers
    recipes: RecipeBook
    personas: Personas
    models: ModelDesk
    """What personas think with, as far as commands know of it."""
    keeper: KeeperDesk
    """Whoever does what is told in words."""
    catalogue: CatalogueBook
    approvals: Approvals
    questions: Questions
    servers: ServerBook
    """The file of upstream servers."""
    upstreams: Upstreams
    """The servers themselves."""
    remote: Remote
    """How servers over HTTP are reached and logged in to."""
    sandbox: Sandbox
    sessions: Sessions
    """The sessions of the shell, and which words of it are built in."""
    executions: Executions
    ask: Ask
    """Another call by the same caller in the same room, inside this one and checked like any other.

    It holds no place of its own, is stopped with the call it is inside of, and may be parked; with the ticket that it
    got then, and the same parameters, it goes on once a person said yes.
    """
    rules_on: Callable[[Caller, str, Command], Ruling]
    """What the gate would decide if this caller asked for that command in that room."""
    would_rule: Callable[[Caller, Command, Policy], Ruling]
    """What the gate would decide about a member of a room if this were the policy there."""
    offered: Callable[[Caller, str], list[Command]]
    """Exactly what the gate would let this caller run in that room."""
    absent: Callable[[Caller, str, str], Absent | None] = lambda _, __, ___: None
    """Why a command is not there now, by its name, for a caller who might run it in that room if it were."""
    energy_of: Callable[[Caller], dict[str, Any] | None]
    """A caller's energy as level and word, or None while energy is switched off."""
    running: Callable[[], int]
    """How many commands run at this moment."""
    stop: Callable[[], None]
    """Ends this process in good order."""


class Context(msgspec.Struct, frozen=True):
    """One call's view of the house."""

    call: Call
    house: Services
    execution: Execution
    """This call while it runs: tell it what a program writes, and how far the work is."""
    effect: bytes | None = None
    """What people approved that this call does, as its command foresaw it; None when it just runs."""

    @property
    def caller(self) -> Caller:
        return self.call.caller

    @property
    def store(self) -> Store:
        return self.house.store

    @property
    def workspace(self) -> Path:
        """The folder this call's files live in."""
        return Path(self.call.workspace)

    def may(self, command: str) -> Ruling:
        """Whether this caller might run another command here: a command that shows or undoes it must ask."""
        return self.house.rules_on(self.caller, self.call.room, self.house.registry[command])


class Listing(TypedDict, Generic[T]):
    items: list[T]


def listing(items: list[T]) -> Listing[T]:
    """The shape of every list result: models read it as "Found N items". Some say more beside the items."""
    return {"items": items}
