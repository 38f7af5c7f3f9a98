"""The composition root: builds a running server from the settings. Only this module knows every part."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Any

import msgspec

from doorward.agents.effort.service import EffortAgents
from doorward.agents.keeper.service import KeeperService
from doorward.agents.models.daily_spending import DailySpending
from doorward.agents.models.registry import ModelRegistry
from doorward.commands import draft_review, programs
from doorward.commands.catalogue.entry import CatalogueEntry
from doorward.commands.catalogue.watched_catalogue import WatchedCatalogue
from doorward.commands.context import Context, Services
from doorward.commands.expired_data import delete_expired
from doorward.commands.families import build_registry
from doorward.commands.servers.resources import ResourceCommands
from doorward.commands.servers.tool_command import ToolCommands
from doorward.config import settings
from doorward.config.home import Home
from doorward.config.settings import SandboxSettings, Settings
from doorward.config.watched_limits import WatchedLimits
from doorward.core import logs
from doorward.core.byte_budget import ByteBudget
from doorward.core.classification import Access, Role
from doorward.core.clock import Clock
from doorward.core.command import Family
from doorward.core.errors import LedgerUnavailable
from doorward.core.event_buffer import EventBuffer
from doorward.core.events import Bus
from doorward.core.model import Admitted, Call, Outcome, Permit
from doorward.gate.approvals import Approvals
from doorward.gate.authenticator import Authenticator
from doorward.gate.authorizer import Authorizer
from doorward.gate.drafts import Drafts
from doorward.gate.energy import Energy
from doorward.gate.executions.execution import Execution
from doorward.gate.executions.registry import ExecutionRegistry
from doorward.gate.gate import Gate
from doorward.gate.processes import RoomProcesses
from doorward.gate.recipes.book import RecipeBook
from doorward.gate.recorder import Recorder
from doorward.gate.resolver import Resolver
from doorward.gate.sandbox_terms import find_host_terms, find_sandbox_terms
from doorward.gate.slots import Slots
from doorward.gate.throttle import Throttle
from doorward.gate.workspaces import Workspaces
from doorward.rooms.accounts.accounts import Accounts
from doorward.rooms.accounts.browser_sessions import BrowserSessions
from doorward.rooms.accounts.tokens import ApiTokens
from doorward.rooms.attachments import Attachments
from doorward.rooms.feed import Presence, RoomFeed
from doorward.rooms.messages import Messages
from doorward.rooms.people import LOCAL, OWNER, People, User
from doorward.rooms.personas.book import PersonaBook
from doorward.rooms.rooms import Member, Room, Rooms
from doorward.sandbox.egress_proxy import EgressRules
from doorward.sandbox.sandbox import Sandbox
from doorward.shell.builtins import BUILTINS
from doorward.shell.sessions import ShellSessions
from doorward.store import kv
from doorward.store.accepted_suggestions import AcceptedSuggestions
from doorward.store.command_index import CommandIndex
from doorward.store.ledger.anonymous_refusals import AnonymousRefusals
from doorward.store.ledger.checkpoints import LedgerPaths
from doorward.store.ledger.maintenance import LedgerMaintainer
from doorward.store.sqlite import Store
from doorward.upstream.config import ServerConfig
from doorward.upstream.connection import connect_by_transport
from doorward.upstream.http_connector import HttpConnector
from doorward.upstream.outbound import OutboundPolicy
from doorward.upstream.pins import ToolPins
from doorward.upstream.questions import Questions
from doorward.upstream.server import ServerClient
from doorward.upstream.server_file import ServerFile
from doorward.upstream.stdio import find_ca_files, make_connector
from doorward.upstream.upstreams import Upstreams

log = logging.getLogger(__name__)

_SHUTDOWN_SECONDS = 5.0
"""Seconds that running calls have to stop and write their record at shutdown."""
_THROTTLE = "throttle"
FIRST_ROOM = "general"
FIRST_RECIPE = "code-collaboration"


class House(msgspec.Struct, kw_only=True):
    """A running server, as used by the doors and the terminal."""

    home: Home
    settings: Settings
    gate: Gate
    services: Services
    models: ModelRegistry
    effort: EffortAgents
    ledger_maintainer: LedgerMaintainer
    limits: WatchedLimits
    throttle: Throttle
    anonymous_refusals: AnonymousRefusals
    setup_lines: list[str]
    """What was created on first use, as lines to show to the user."""
    recovered: int


@contextlib.asynccontextmanager
async def open_house(
    home: Home,
    *,
    clock: Clock | None = None,
    families: Iterable[Family] = (),
    changes: Settings | None = None,
    stop: Callable[[], None] = lambda: None,
) -> AsyncIterator[House]:
    """Open a home folder in this process and create missing files. The caller must hold the lock.

    `changes` replaces the settings file, and `families` are added to the built-in ones. Both are for embedding.
    """
    home.create()
    home.remove_leftovers()
    configured = changes or settings.load_settings(home.settings)
    home.workspace(configured.files.workspace, LOCAL, LOCAL)
    home.check_workspace(configured.files.workspace)
    key = home.load_key()
    handler = logs.write_to(home.path)
    try:
        store = Store(home.database, key)
        store.loop = asyncio.get_running_loop()
        try:
            house = await _assemble(home, configured, clock or Clock(), store, key, families, stop)
            await delete_expired(house.services)
            if house.services.people.get(LOCAL, OWNER) is None:
                house.setup_lines.extend(await _set_up(house))
            store.is_starting = False
            try:
                try:
                    yield house
                finally:
                    await house.services.executions.cancel_all("the end of Doorward", _SHUTDOWN_SECONDS)
                await _save_state(house)
            finally:
                try:
                    await house.services.processes.close()
                    await house.services.upstreams.stop()
                finally:
                    try:
                        await house.models.close()
                    finally:
                        await house.services.sandbox.close()
        finally:
            store.close()
    finally:
        logs.stop(handler)


async def _assemble(
    home: Home,
    configured: Settings,
    clock: Clock,
    store: Store,
    key: bytes,
    families: Iterable[Family],
    stop: Callable[[], None],
) -> House:
    events = Bus()
    registry = build_registry(families)
    people = People(store, clock)
    rooms = Rooms(store, events, clock)
    live = RoomFeed(clock)
    anonymous = AnonymousRefusals(store, clock, configured.limits.anonymous_per_minute)
    tokens = ApiTokens(store, people, clock, key)
    browsers = BrowserSessions(store, people, clock, configured.console)
    recipes = RecipeBook(home.recipes, store, events, clock)
    spending = DailySpending(store, clock.now)
    models = ModelRegistry(configured.models, wall=clock.now, home=home.path, spending=spending)
    personas = PersonaBook(home.personas, store, rooms, people, tokens, events, clock)
    people.set_reserved_check(lambda tenant, id: personas.get(tenant, id) is not None)

    tools = ToolCommands(registry)
    outbound = OutboundPolicy(configured.upstream.private_addresses)
    egress = EgressRules(
        lambda room: find_host_terms(find_sandbox_terms(rooms, recipes, *room)),
        outbound.resolve,
        find_ca_files(os.environ),
    )
    sandbox = Sandbox(home.path, configured, egress)
    remote = HttpConnector(
        home=home.path,
        outbound=outbound,
        clock=clock,
        document=configured.upstream.client_metadata_url,
        callback_port=configured.upstream.callback_port,
    )
    connect = connect_by_transport(make_connector(sandbox, home.path / "servers"), remote.connect)

    def server(config: ServerConfig, on_change: Callable[[ServerClient], None]) -> ServerClient:
        return ServerClient(config, connect, clock, on_change, most=configured.upstream.max_entries)

    upstreams = Upstreams(
        LOCAL,
        ToolPins(store, clock),
        events,
        clock,
        make=server,
        taken=tools.taken,
        put=tools.put,
        prepare=tools.prepare,
        read=ResourceCommands(registry).put,
    )

    in_force = configured
    """The settings with the limits of programs that the settings file has now."""

    def offer(entries: list[CatalogueEntry]) -> None:
        commands = programs.build_commands(entries, in_force)
        tools.step_aside()
        try:
            registry.replace("catalogue", *commands)
        finally:
            upstreams.refresh_names()

    catalogue = WatchedCatalogue(home.path, configured.shell.catalogue, store, events, clock, offer)
    servers = ServerFile(home.path, configured.upstream.file, store, events, clock, upstreams.configure)
    sandbox.set_governing_files(
        lambda: (
            home.settings,
            home.recipes,
            *home.recipes.glob("*.json"),
            home.personas,
            *home.personas.glob("*.json"),
            catalogue.file,
            servers.file,
        )
    )
    accepted = AcceptedSuggestions(store, clock, learns=configured.search.learn)
    approvals = Approvals(store, people, rooms, events, clock, configured)
    energy = Energy(store, clock, configured, events, personas.energy_pool, personas.regulates_effort)
    effort = EffortAgents(energy)
    throttle = Throttle(clock, configured)
    keeper = LedgerMaintainer(LedgerPaths.of(home.path), store, key, clock, configured, LOCAL)
    await people.load()
    if home.has_no_recipes() or people.get(LOCAL, OWNER) is None:
        await recipes.install_shipped()
    await catalogue.install_shipped()
    processes = RoomProcesses(store, clock, configured.sandbox)
    for part in (rooms, tokens, browsers, recipes, catalogue, upstreams, servers, energy, accepted, processes):
        await part.load()
    if people.get(LOCAL, OWNER) is not None:
        await personas.load()
    left = await kv.get(store, _THROTTLE)
    if left is not None:
        throttle.restore(json.loads(left), clock.boot())
    authorizer = Authorizer(rooms, recipes, registry, configured.keeper.approve_seconds)
    workspaces = Workspaces(home, configured.files.workspace, rooms)
    drafts = Drafts(home.path, store, sandbox, clock, configured, rooms, recipes, workspaces)
    await drafts.load()
    await draft_review.revert_interrupted(drafts, store)
    resolver = Resolver(registry, authorizer, key, drafts.find_place, upstreams.explain_absent)
    slots = Slots(configured)
    executions = ExecutionRegistry(clock, events, configured, asyncio.get_running_loop())

    async def ask(call: Call, command: str, params: Mapping[str, Any], ticket: str = "") -> Outcome:
        return await gate.within(call, command, params, ticket)

    async def ask_for_program(call: Call, command: str, params: Mapping[str, Any], ticket: str = "") -> Outcome:
        return await gate.for_program(call, command, params, ticket)

    def context_for(admitted: Admitted, execution: Execution | None) -> Context:
        call = admitted.call
        effect = admitted.effect if isinstance(admitted, Permit) else None
        return Context(call, services, execution or executions.create_unlisted(call), effect)

    limits = configured.server
    services = Services(
        home=home.path,
        settings=configured,
        clock=clock,
        intake=ByteBudget(limits.inflight_bytes, limits.inflight_bytes_each, limits.inflight_bytes_strangers),
        store=store,
        registry=registry,
        index=CommandIndex(registry, owner=LOCAL, accepted=accepted, vectors=configured.search.vectors == "auto"),
        accepted=accepted,
        events=events,
        recent=EventBuffer(events),
        rooms=rooms,
        workspaces=workspaces,
        drafts=drafts,
        messages=Messages(store, events, live, clock),
        files=Attachments(store, clock, configured.rooms),
        live=live,
        presence=Presence(live),
        people=people,
        tokens=tokens,
        accounts=Accounts(store, anonymous, people, tokens.sessions, browsers, clock, configured.rest),
        browsers=browsers,
        recipes=recipes,
        personas=personas,
        models=models,
        keeper=KeeperService(models, authorizer.terms),
        effort=effort,
        catalogue=catalogue,
        approvals=approvals,
        questions=Questions(events, clock),
        servers=servers,
        upstreams=upstreams,
        remote=remote,
        sandbox=sandbox,
        processes=processes,
        sessions=ShellSessions(store, clock, configured.sessions, BUILTINS),
        executions=executions,
        run_nested=ask,
        run_for_program=ask_for_program,
        keep_program=lambda call: gate.keep_program(call),
        get_ruling=authorizer.rule,
        preview_ruling=authorizer.would_rule,
        offered=authorizer.offered,
        explain_absence=resolver.absent,
        energy=energy,
        energy_of=energy.describe,
        count_running=slots.running,
        stop=stop,
    )

    def apply_limits(limits: SandboxSettings) -> None:
        nonlocal in_force
        in_force = services.settings = msgspec.structs.replace(configured, sandbox=limits)
        drafts.settings = limits
        offer(catalogue.entries)

    gate = Gate(
        authenticator=Authenticator(people, tokens, browsers, personas, rooms),
        resolver=resolver,
        authorizer=authorizer,
        throttle=throttle,
        slots=slots,
        energy=energy,
        approvals=approvals,
        executions=executions,
        recorder=Recorder(store, anonymous, registry, clock, configured),
        events=events,
        clock=clock,
        settings=configured,
        context_for=context_for,
        drafts=drafts,
    )
    return House(
        home=home,
        settings=configured,
        gate=gate,
        services=services,
        models=models,
        effort=effort,
        ledger_maintainer=keeper,
        limits=WatchedLimits(home.settings, configured.sandbox, apply_limits),
        throttle=throttle,
        anonymous_refusals=anonymous,
        setup_lines=[],
        recovered=await keeper.recover(energy.charge_interrupted),
    )


async def _set_up(house: House) -> list[str]:
    """Create the first room and the personas, then the owner. Returns lines to show to the user.

    The owner is created last, because its existence marks the setup as complete.
    """
    rooms, people = house.services.rooms, house.services.people
    if rooms.get(LOCAL, FIRST_ROOM) is None:
        members = {OWNER: Member(OWNER, "human", Role.OWNER)}
        await rooms.create(Room(LOCAL, FIRST_ROOM, FIRST_ROOM, FIRST_RECIPE, members))
    await house.services.personas.install_shipped()
    await house.services.personas.load()
    await people.add(User(LOCAL, OWNER, OWNER, "human", Access.ROOT))
    return [
        f"home folder   {house.home.path}",
        f"secret        {house.home.path / 'secret.key'} (random, readable only by this account)",
        f"recipes       {len(house.services.recipes.recipes())} in {house.home.recipes}",
        f"room          {FIRST_ROOM} (recipe {FIRST_RECIPE})",
        f"personas      {', '.join(one.id for one in house.services.personas.all(LOCAL))} in {house.home.personas}",
        f"workspace     {house.services.workspaces.find(LOCAL)}",
    ]


async def _save_state(house: House) -> None:
    """Save the state that the next process needs. A failure is logged and does not affect stored data."""
    clock, store = house.services.clock, house.services.store
    await house.gate.settled()
    await house.anonymous_refusals.flush()
    try:
        await house.services.energy.flush()
        await delete_expired(house.services)
        await store.write(kv.put(_THROTTLE, json.dumps(house.throttle.state(clock.boot()))))
        await house.ledger_maintainer.checkpoint()
    except (LedgerUnavailable, OSError) as error:
        log.warning("the state could not be saved at shutdown: %s", error)
