"""The composition root: builds a running server from the settings. Only this module knows every part."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Any

import msgspec

from doorward import logs, settings
from doorward.agents.keeper.desk import Desk
from doorward.agents.models.models import Models
from doorward.approvals.approvals import Approvals
from doorward.backends import shell
from doorward.backends.context import Context, Services
from doorward.backends.mcp.reading import ReadingCommands
from doorward.backends.mcp.tool_command import ToolCommands
from doorward.backends.session.builtins import BUILTINS
from doorward.backends.session.sessions import Sessions
from doorward.catalogue.book import CatalogueBook
from doorward.catalogue.entry import Entry
from doorward.clock import Clock
from doorward.command import Family
from doorward.commands import registry_of
from doorward.errors import Conflict, LedgerUnavailable
from doorward.events import Bus
from doorward.executions.execution import Execution
from doorward.executions.executions import Executions
from doorward.facts import Access, Role
from doorward.gate.authenticator import Authenticator
from doorward.gate.authorizer import Authorizer
from doorward.gate.energy import Energy
from doorward.gate.gate import Gate
from doorward.gate.recorder import Recorder
from doorward.gate.resolver import Resolver
from doorward.gate.slots import Slots
from doorward.gate.throttle import Throttle
from doorward.home import Home
from doorward.ledger.keeper import Keeper
from doorward.ledger.paths import LedgerPaths
from doorward.model import Admitted, Call, Outcome, Permit
from doorward.personas.book import Personas
from doorward.recent import Recent
from doorward.recipes.book import RecipeBook
from doorward.rooms.accounts import Accounts
from doorward.rooms.browsers import Browsers
from doorward.rooms.files import Files
from doorward.rooms.live import Live
from doorward.rooms.messages import Messages
from doorward.rooms.people import LOCAL, OWNER, People, User
from doorward.rooms.presence import Presence
from doorward.rooms.rooms import Member, Room, Rooms
from doorward.rooms.tokens import Tokens
from doorward.sandbox.sandbox import Sandbox
from doorward.settings import Settings
from doorward.store import answers, before_images, keeper_waits, keepsakes, results
from doorward.store.accepted import Accepted
from doorward.store.command_index import CommandIndex
from doorward.store.sqlite import Store
from doorward.upstream.book import ServerBook
from doorward.upstream.config import ServerConfig
from doorward.upstream.connecting import either
from doorward.upstream.outbound import Outbound
from doorward.upstream.pins import Pins
from doorward.upstream.questions import Questions
from doorward.upstream.remote import Remote
from doorward.upstream.server import Server
from doorward.upstream.stdio import connector
from doorward.upstream.upstreams import Upstreams

log = logging.getLogger(__name__)

_PATIENCE = 5.0
"""Seconds that running calls have to stop and write their record at shutdown."""
_BETWEEN_TIDYING = 300.0
_LEFT_OFF = 7 * 86_400.0
"""Seconds after which the keeper's saved state is deleted. Every approval has expired by then."""
_THROTTLE = "throttle"
FIRST_ROOM = "general"
FIRST_RECIPE = "code-collaboration"


class House(msgspec.Struct, kw_only=True):
    """A running server, as used by the doors and the terminal."""

    home: Home
    settings: Settings
    gate: Gate
    services: Services
    models: Models
    keeper: Keeper
    throttle: Throttle
    made: list[str]
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
    home.make()
    configured = changes or settings.load(home.settings)
    key = home.key()
    handler = logs.write_to(home.path)
    try:
        store = Store(home.database, key)
        store.loop = asyncio.get_running_loop()
        try:
            house = await _assemble(home, configured, clock or Clock(), store, key, families, stop)
            await tidy(house)
            if house.services.people.get(LOCAL, OWNER) is None:
                house.made.extend(await _first_use(house))
            try:
                try:
                    yield house
                finally:
                    await house.services.executions.stop("the end of Doorward", _PATIENCE)
                await _leave(house)
            finally:
                try:
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
    registry = registry_of(families)
    people = People(store, clock)
    rooms = Rooms(store, events, clock)
    live = Live(clock)
    tokens = Tokens(store, people, clock, key)
    browsers = Browsers(store, people, clock, configured.console)
    recipes = RecipeBook(home.recipes, store, events, clock)
    models = Models(configured.models, wall=clock.now)
    personas = Personas(home.personas, store, rooms, people, tokens, events, clock)
    people.reserve(lambda tenant, id: personas.get(tenant, id) is not None)

    tools = ToolCommands(registry)
    sandbox = Sandbox(home.path, configured)
    remote = Remote(
        home=home.path,
        outbound=Outbound(configured.upstream.private_addresses),
        clock=clock,
        document=configured.upstream.client_metadata_url,
        callback_port=configured.upstream.callback_port,
    )
    connect = either(connector(sandbox, home.path / "servers"), remote.connect)

    def server(config: ServerConfig, on_change: Callable[[Server], None]) -> Server:
        return Server(config, connect, clock, on_change, most=configured.upstream.max_entries)

    upstreams = Upstreams(
        LOCAL,
        Pins(store, clock),
        events,
        clock,
        make=server,
        taken=tools.taken,
        put=tools.put,
        prepare=tools.prepare,
        read=ReadingCommands(registry).put,
    )

    def offer(entries: list[Entry]) -> None:
        commands = shell.commands(entries, configured)
        tools.step_aside()
        try:
            registry.replace("catalogue", *commands)
        finally:
            upstreams.renamed()

    catalogue = CatalogueBook(home.path, configured.shell.catalogue, store, events, clock, offer)
    servers = ServerBook(home.path, configured.upstream.file, store, events, clock, upstreams.configure)
    sandbox.governed_by(
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
    accepted = Accepted(store, clock, learns=configured.search.learn)
    approvals = Approvals(store, rooms, events, clock, configured)
    energy = Energy(store, clock, configured, personas.pool)
    throttle = Throttle(clock, configured)
    keeper = Keeper(LedgerPaths.of(home.path), store, key, clock, configured)
    await people.load()
    if home.is_empty_of_recipes() or people.get(LOCAL, OWNER) is None:
        await recipes.install_shipped()
    await catalogue.install_shipped()
    for part in (rooms, tokens, browsers, recipes, catalogue, upstreams, servers, energy, accepted):
        await part.load()
    if people.get(LOCAL, OWNER) is not None:
        await personas.load()
    left = await keepsakes.get(store, _THROTTLE)
    if left is not None:
        throttle.restore(json.loads(left), clock.boot())
    authorizer = Authorizer(rooms, recipes, registry, configured.keeper.approve_seconds)
    resolver = Resolver(registry, authorizer, key, _workspaces(home, configured), upstreams.absent)
    slots = Slots(configured)
    executions = Executions(clock, events, configured, asyncio.get_running_loop())

    async def ask(call: Call, command: str, params: Mapping[str, Any], ticket: str = "") -> Outcome:
        return await gate.within(call, command, params, ticket)

    def context_for(admitted: Admitted, execution: Execution | None) -> Context:
        call = admitted.call
        effect = admitted.effect if isinstance(admitted, Permit) else None
        return Context(call, services, execution or executions.apart(call), effect)

    services = Services(
        home=home.path,
        settings=configured,
        clock=clock,
        store=store,
        registry=registry,
        index=CommandIndex(registry, owner=LOCAL, accepted=accepted, vectors=configured.search.vectors == "auto"),
        accepted=accepted,
        events=events,
        recent=Recent(events),
        rooms=rooms,
        messages=Messages(store, events, live, clock),
        files=Files(store, clock, configured.rooms),
        live=live,
        presence=Presence(live),
        people=people,
        tokens=tokens,
        accounts=Accounts(store, people, tokens.sessions, browsers, clock, configured.rest),
        browsers=browsers,
        recipes=recipes,
        personas=personas,
        models=models,
        keeper=Desk(models, authorizer.terms),
        catalogue=catalogue,
        approvals=approvals,
        questions=Questions(events, clock),
        servers=servers,
        upstreams=upstreams,
        remote=remote,
        sandbox=sandbox,
        sessions=Sessions(store, clock, configured.sessions, BUILTINS),
        executions=executions,
        ask=ask,
        rules_on=authorizer.rule,
        would_rule=authorizer.would_rule,
        offered=authorizer.offered,
        absent=resolver.absent,
        energy_of=energy.describe,
        running=slots.running,
        stop=stop,
    )
    gate = Gate(
        authenticator=Authenticator(people, tokens, browsers, personas, rooms),
        resolver=resolver,
        authorizer=authorizer,
        throttle=throttle,
        slots=slots,
        energy=energy,
        approvals=approvals,
        executions=executions,
        recorder=Recorder(store, registry, clock, configured),
        events=events,
        clock=clock,
        settings=configured,
        context_for=context_for,
    )
    return House(
        home=home,
        settings=configured,
        gate=gate,
        services=services,
        models=models,
        keeper=keeper,
        throttle=throttle,
        made=[],
        recovered=await keeper.recover(),
    )


async def _first_use(house: House) -> list[str]:
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
        f"workspace     {_workspaces(house.home, house.settings)(LOCAL)}",
    ]


async def tidy(house: House) -> None:
    """Delete expired data: before-images, long results, and the parameters of expired approvals."""
    limits, now = house.settings.limits, house.services.clock.now()
    await house.services.store.write(
        before_images.forget(now - limits.undo_days * 86_400),
        results.forget(now - limits.result_hours * 3_600),
        *house.services.approvals.tidy(),
        *house.services.files.tidy(),
        *house.services.accounts.tidy(),
        *house.services.sessions.tidy(),
        keeper_waits.forget(now - _LEFT_OFF),
        answers.forget(now - answers.kept_seconds(limits)),
    )


async def keep_tidy(house: House) -> None:
    """Tidy periodically until cancelled."""
    while True:
        await asyncio.sleep(_BETWEEN_TIDYING)
        try:
            await tidy(house)
        except LedgerUnavailable as error:
            log.warning("expired data could not be deleted: %s", error)


async def _leave(house: House) -> None:
    """Save the state that the next process needs. A failure is logged and does not affect stored data."""
    clock, store = house.services.clock, house.services.store
    await house.gate.settled()
    try:
        await tidy(house)
        await store.write(keepsakes.put(_THROTTLE, json.dumps(house.throttle.state(clock.boot()))))
        await house.keeper.checkpoint()
    except (LedgerUnavailable, OSError) as error:
        log.warning("the state could not be saved at shutdown: %s", error)


def _workspaces(home: Home, configured: Settings) -> Callable[[str], str]:
    """A function that returns the workspace of a tenant and creates it on first use."""
    known: dict[str, str] = {}

    def workspace_of(tenant: str) -> str:
        if tenant not in known:
            folder = home.workspace(configured.files.workspace, tenant, LOCAL).absolute()
            try:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            except OSError as error:
                raise Conflict(f"The workspace {folder} cannot be created: {error.strerror}.") from error
            known[tenant] = str(folder)
        return known[tenant]

    return workspace_of
