"""The context of a running command: its call, its caller, and the services of Doorward."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Generic, Protocol, TypedDict, TypeVar

import msgspec

from doorward.commands.agent_services import KeeperService, ModelService
from doorward.commands.catalogue.watched_catalogue import WatchedCatalogue
from doorward.commands.effort_services import EffortService
from doorward.config.settings import Settings
from doorward.core.byte_budget import ByteBudget
from doorward.core.clock import Clock
from doorward.core.command import Command
from doorward.core.event_buffer import EventBuffer
from doorward.core.events import Bus
from doorward.core.model import Call, Caller, Outcome, Ruling, UnavailableCommand
from doorward.core.registry import Registry
from doorward.gate.approvals import Approvals
from doorward.gate.drafts import Drafts
from doorward.gate.energy import Energy
from doorward.gate.executions.execution import Execution
from doorward.gate.executions.registry import ExecutionRegistry
from doorward.gate.processes import RoomProcesses
from doorward.gate.recipes.book import RecipeBook
from doorward.gate.recipes.policy import Policy
from doorward.gate.recipes.recipe import SandboxTerms
from doorward.gate.workspaces import Workspaces
from doorward.rooms.accounts.accounts import Accounts
from doorward.rooms.accounts.browser_sessions import BrowserSessions
from doorward.rooms.accounts.tokens import ApiTokens
from doorward.rooms.attachments import Attachments
from doorward.rooms.feed import Presence, RoomFeed
from doorward.rooms.messages import Messages
from doorward.rooms.people import People
from doorward.rooms.personas.book import PersonaBook
from doorward.rooms.rooms import Rooms
from doorward.sandbox.sandbox import Sandbox
from doorward.shell.sessions import ShellSessions
from doorward.store.accepted_suggestions import AcceptedSuggestions
from doorward.store.command_index import CommandIndex
from doorward.store.sqlite import Store
from doorward.upstream.http_connector import HttpConnector
from doorward.upstream.questions import Questions
from doorward.upstream.server_file import ServerFile
from doorward.upstream.upstreams import Upstreams

T = TypeVar("T")


class NestedCall(Protocol):
    def __call__(self, call: Call, command: str, params: Mapping[str, Any], ticket: str = "") -> Awaitable[Outcome]: ...


class Services(msgspec.Struct, kw_only=True):
    """The services that commands use. They are assembled once, in `app.py`."""

    home: Path
    settings: Settings
    clock: Clock
    intake: ByteBudget
    """The budget for the bytes of unanswered requests."""
    store: Store
    registry: Registry
    index: CommandIndex
    """The search index over commands."""
    accepted: AcceptedSuggestions
    """The suggestions that people accepted."""
    events: Bus
    recent: EventBuffer
    rooms: Rooms
    workspaces: Workspaces
    drafts: Drafts
    messages: Messages
    files: Attachments
    """Attachments of messages."""
    live: RoomFeed
    """Live notices of rooms: new messages, typing indicators, presence."""
    presence: Presence
    people: People
    tokens: ApiTokens
    accounts: Accounts
    browsers: BrowserSessions
    recipes: RecipeBook
    personas: PersonaBook
    models: ModelService
    """The models of personas and the keeper."""
    keeper: KeeperService
    """The agent that carries out requests in plain words."""
    effort: EffortService
    """The agents that regulate their effort."""
    catalogue: WatchedCatalogue
    approvals: Approvals
    questions: Questions
    servers: ServerFile
    """The configuration file of upstream MCP servers."""
    upstreams: Upstreams
    """The upstream MCP servers and their connections."""
    remote: HttpConnector
    """HTTP access and login to remote upstream servers."""
    sandbox: Sandbox
    processes: RoomProcesses
    """The long-running programs of rooms."""
    sessions: ShellSessions
    """The shell sessions and their built-in commands."""
    executions: ExecutionRegistry
    run_nested: NestedCall
    """Runs another command for the same caller in the same room, nested in this call.

    The nested call is checked like any other. It does not count against the limit of concurrent calls, is cancelled
    with the call around it, and may have to wait for approval. When it is approved, run it again with the same
    parameters and the ticket.
    """
    run_for_program: NestedCall
    """Runs a nested call for a program that this call started, which itself waits for the approval."""
    keep_program: Callable[[Call], Callable[[], None]]
    """Lets the program that a call starts make nested calls after its end, until the returned function is called."""
    get_ruling: Callable[[Caller, str, Command], Ruling]
    """The gate's ruling if this caller ran that command in that room."""
    preview_ruling: Callable[[Caller, Command, Policy], Ruling]
    """The gate's ruling on a member of a room if the room had this policy."""
    offered: Callable[[Caller, str], list[Command]]
    """The commands that the gate lets this caller run in that room."""
    explain_absence: Callable[[Caller, str, str], UnavailableCommand | None] = lambda _, __, ___: None
    """Why a named command is missing at the moment, for a caller who could run it in that room otherwise."""
    energy: Energy
    """The energy pools of callers, their charges and budgets."""
    energy_of: Callable[[Caller], dict[str, Any] | None]
    """A caller's energy as level and status, or None if its work is not counted."""
    count_running: Callable[[], int]
    """The number of commands that run at the moment."""
    stop: Callable[[], None]
    """Shuts the server down cleanly."""


class Context(msgspec.Struct, frozen=True):
    """The context of one call: the call, its execution and the services."""

    call: Call
    services: Services
    execution: Execution
    """The running execution of this call: it takes the output of programs and progress reports."""
    effect: bytes | None = None
    """The previewed effect that people approved for this call; None when no effect was previewed."""

    @property
    def caller(self) -> Caller:
        return self.call.caller

    @property
    def store(self) -> Store:
        return self.services.store

    @property
    def workspace(self) -> Path:
        """The folder that holds the files of this call."""
        return Path(self.services.drafts.get(self.call.draft).root if self.call.draft else self.call.workspace)

    @property
    def sandbox_terms(self) -> SandboxTerms:
        """How programs run in this room, by its recipe; outside rooms, the defaults."""
        room = self.services.rooms.get(self.caller.tenant, self.call.room) if self.call.room else None
        recipe = self.services.recipes.recipe(room.recipe) if room is not None else None
        return recipe.strategy.sandbox if recipe is not None else SandboxTerms()

    def get_ruling(self, command: str) -> Ruling:
        """The gate's ruling on another command for this caller. A command that reveals or undoes another checks it."""
        return self.services.get_ruling(self.caller, self.call.room, self.services.registry[command])


class Listing(TypedDict, Generic[T]):
    items: list[T]


def make_listing(items: list[T]) -> Listing[T]:
    """Wrap the items of a list result. All lists have this shape, which models read as "Found N items"."""
    return {"items": items}
