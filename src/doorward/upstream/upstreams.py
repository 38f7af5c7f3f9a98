"""All upstream servers, kept in line with the file, and the tools they offer.

A change of the file affects only the servers that it changes. A known server's tools are offered even while it is not
running: a call then starts it, or fails with the reason.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator
from typing import Any

from doorward.core.clock import Clock
from doorward.core.errors import NotFound, Unreachable
from doorward.core.escape_invisible import escape_invisible
from doorward.core.events import Bus, UpstreamChanged, UpstreamOffered
from doorward.core.model import UnavailableCommand
from doorward.core.names import normalise
from doorward.upstream import tool_names, tool_offers
from doorward.upstream.config import ServerConfig, ServersConfig
from doorward.upstream.pins import ToolPins
from doorward.upstream.resources import ServerResources, reserved_names, snapshot_resources
from doorward.upstream.supervisor import still_starting_error
from doorward.upstream.tool_names import ToolKey
from doorward.upstream.tool_offers import ToolOffer
from doorward.upstream.upstream import ConnectionTest, MakeClient, Upstream, check_connection, hash_origin, same_process

log = logging.getLogger(__name__)

_EVERY_TENANT = ""
_LONGEST_NAME = 80
_COMBINE_SECONDS = 0.05
"""Seconds in which changes of several servers are combined, because a hundred may start together."""
_AT_ONCE = 20
_MAX_STEP_SECONDS = 0.01
"""Commands to build, and seconds to spend, before other tasks get a turn."""
_DISCOVER_SECONDS = 10.0
"""Seconds to wait for servers that were not requested by name."""

RegisterOffers = Callable[[list[ToolOffer]], None]
"""Turns offers into commands and registers them."""


class Upstreams:
    def __init__(
        self,
        tenant: str,
        pins: ToolPins,
        events: Bus,
        clock: Clock,
        *,
        make: MakeClient,
        taken: Callable[[], frozenset[str]],
        put: RegisterOffers,
        prepare: Callable[[ToolOffer], None] = lambda _: None,
        read: Callable[[Iterable[Upstream], bool], None] = lambda _, __: None,
    ) -> None:
        """`tenant` owns the servers. `taken` returns the folded names of other commands.

        `prepare` does the work of `put` for a new offer in advance. `read` registers the commands for resources,
        prompts and completions; its second argument says whether approval is required.
        """
        self.offers: list[ToolOffer] = []
        """Every tool that is currently a command."""
        self._by_server: dict[str, list[ToolOffer]] = {}
        self._tenant = tenant
        self._pins = pins
        self._events = events
        self._clock = clock
        self._make = make
        self._taken = taken
        self._put = put
        self._prepare = prepare
        self._prepared: dict[ToolKey, ToolOffer] = {}
        self._preparing = False
        self._read = read
        self._readable: dict[str, ServerResources] = {}
        self._upstreams: dict[str, Upstream] = {}
        self._approval_required = True
        self._running = False
        self._configured = False
        self._stale = False
        """Whether tools changed since the offers were last computed."""
        self._stopped = False
        self._change_timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._shutdowns: dict[str, asyncio.Task[None]] = {}
        """Running shutdowns by server id; the server's folder is not free before they end."""

    def __iter__(self) -> Iterator[Upstream]:
        return iter(self._upstreams.values())

    def get(self, server: str) -> Upstream:
        found = self._upstreams.get(server)
        if found is None:
            there = f"known servers: {', '.join(self._upstreams)}" if self._upstreams else "there are no servers"
            raise NotFound(f"There is no server {server[:60]!r}; {there}.")
        return found

    def offers_of(self, server: str) -> list[ToolOffer]:
        """The offered tools of one server."""
        return self._by_server.get(server, [])

    def explain_absent(self, command: str) -> UnavailableCommand | None:
        """Explain a missing command whose server is not available now; None for any other reason."""
        named = {one.id: (f"{tool_names.AREA}/{one.id}/", f"{one.id}_") for one in self}
        meant = max((id for id, prefixes in named.items() if command.startswith(prefixes)), key=len, default=None)
        if meant is None:
            return None
        upstream = self._upstreams[meant]
        away = upstream.unavailable_error() or self._starting_error(upstream)
        if away is None or (self.offers_of(meant) and normalise(command) not in reserved_names([meant])):
            return None  # the server's tools are known, and this is not one of them
        tool = command.partition("_" if command.startswith(f"{meant}_") else f"/{meant}/")[2]
        shown = escape_invisible(command[:_LONGEST_NAME], lines=False)
        return UnavailableCommand(
            name=f"{tool_names.AREA}/{meant}/{tool}",
            tier=upstream.config.tier,
            message=f"The command {shown!r} is not available now. {away.message}",
            why=away.message,
            hint=away.hint,
            retry_after=away.retry_after,
        )

    def _starting_error(self, upstream: Upstream) -> Unreachable | None:
        """Treat a server that is about to start, or has just listed its tools, as starting."""
        if upstream.server.state == "stopped" or (self.is_settling and not self.offers_of(upstream.id)):
            return still_starting_error(upstream.id)
        return None

    def configure(self, servers: ServersConfig) -> None:
        """Apply a new version of the file."""
        before = self._upstreams
        self._upstreams = {
            config.id: self._reuse_or_create(before.get(config.id), config) for config in servers.servers
        }
        for upstream in before.values():
            after = self._upstreams.get(upstream.id)
            if after is not upstream:
                self._stop_in_background(upstream)
        for upstream in self:
            if before.get(upstream.id) is upstream:
                continue
            upstream.predecessor = self._shutdowns.get(upstream.id)
            if self._running and upstream.config.enabled:
                self._run_in_background(upstream.start())
        self._approval_required = servers.approval_required
        self._configured = True
        self.refresh()

    async def load(self) -> None:
        """Load what earlier processes stored; call it before the file is read."""
        await self._pins.load()

    def refresh_names(self) -> None:
        """Other commands changed their names, which have priority over those of tools."""
        self.refresh(again=True)

    def start(self) -> None:
        """Connect to all enabled servers, without waiting."""
        self._running = True
        for upstream in self:
            if upstream.config.enabled:
                self._run_in_background(upstream.start())

    async def stop(self) -> None:
        """Stop all servers, and report and store their last states."""
        self._running, self._stopped = False, True
        if self._change_timer is not None:
            self._change_timer.cancel()
        for upstream in self:
            self._stop_in_background(upstream)
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._configured:
            self._report_states()
        await self._pins.flush()

    async def restart(self, server: str) -> Upstream:
        """Restart a server at once."""
        upstream = self.get(server)
        await upstream.server.stop()
        await upstream.start_and_wait()
        self.refresh()
        return upstream

    async def test(self, server: str | ServerConfig) -> ConnectionTest:
        """Test a server over a separate connection, configured or not yet. A running instance is not affected."""
        config = self.get(server).config if isinstance(server, str) else server
        return await check_connection(config, self._make)

    async def discover(self, server: str = "") -> None:
        """Start a server, or all servers, whose tools are unknown, and wait for them; for all servers only briefly."""
        unseen = [one for one in self if one.config.enabled and not one.definitions and server in ("", one.id)]
        if unseen:
            await asyncio.wait(
                [asyncio.ensure_future(one.start_and_wait()) for one in unseen],
                timeout=None if server else _DISCOVER_SECONDS,
            )
        if unseen or (server and self.is_settling and not self.offers_of(server)):
            self.refresh()

    async def discover_for(self, command: str) -> None:
        """Do the same for the server that a command's name may belong to, before the command is looked up."""
        for one in self:
            if command.startswith((f"{tool_names.AREA}/{one.id}/", f"{one.id}_")):
                await self.discover(one.id)

    @property
    def is_settling(self) -> bool:
        """Whether the offers are about to be computed again, because servers changed."""
        return self._change_timer is not None or self._preparing

    def refresh(self, *, again: bool = False) -> None:
        """Compute the offers and apply them if they changed, or if `again`."""
        self._stale = False
        offers = self._compute_offers()
        news = [offer.fingerprint for offer in offers] != [offer.fingerprint for offer in self.offers]
        if news:
            known = {offer.key: offer for offer in self.offers}
            self.offers = [_reuse_offer(offer, known.get(offer.key), self._prepared.get(offer.key)) for offer in offers]
            self._prepared = {}
            self._by_server = {}
            for offer in self.offers:
                self._by_server.setdefault(offer.upstream.id, []).append(offer)
        self._apply(news, again)

    def _apply(self, news: bool, again: bool) -> None:
        if self._change_timer is not None:
            self._change_timer.cancel()
            self._change_timer = None
        reads = self._resources_changed()
        if reads:
            self._read((), True)  # first release their names, which tools may use now
        if news or again:
            self._put(self.offers)
        if reads:
            self._read(self, self._approval_required)
        if news or reads:
            now = self._clock.now()
            self._events.publish(UpstreamOffered(tenant=_EVERY_TENANT, at=now, tools=len(self.offers)))
        if self._configured:
            self._report_states()

    def _apply_changes(self) -> None:
        """Handle combined changes. Usually only states changed, and the names of tools stay the same."""
        if self._stale:
            self._change_timer = None
            if not self._preparing:
                self._preparing = True
                self._run_in_background(self._refresh_in_steps())
        else:
            self._apply(False, False)

    async def _refresh_in_steps(self) -> None:
        """Refresh after a server listed its tools. The list can be long, so other tasks get turns in between."""
        try:
            while self._stale and not self._stopped:
                self._stale = False
                known = {offer.key: offer.fingerprint for offer in self.offers}
                new = [offer for offer in self._compute_offers() if offer.fingerprint != known.get(offer.key)]
                self._prepared = {offer.key: offer for offer in new}
                began, count = time.monotonic(), 0
                for offer in new:
                    if count >= _AT_ONCE or time.monotonic() - began > _MAX_STEP_SECONDS:
                        await asyncio.sleep(0)
                        began, count = time.monotonic(), 0
                    self._prepare(offer)
                    count += 1
            if not self._stopped:
                self.refresh()
        finally:
            self._preparing = False

    def _compute_offers(self) -> list[ToolOffer]:
        return tool_offers.make_offers(self, self._pins, self._reserved_names, self._approval_required)

    async def approve(self, server: str, offers: Iterable[ToolOffer]) -> None:
        """Record a person's approval of these tools in their current form."""
        await self._pins.approve(server, {one.definition.name: one.definition.digest for one in offers})
        self.refresh()

    async def get_approved(self, offer: ToolOffer) -> dict[str, Any]:
        """The approved definition of a tool, with secrets masked."""
        return offer.mask_secrets(await self._pins.get_approved(offer.upstream.id, offer.definition.name))

    def problems(self, server: str = "") -> list[str]:
        """The problems of enabled servers, or of one server."""
        found = []
        for one in self:
            changed = sum(offer.is_changed for offer in self.offers_of(one.id))
            if one.problem and server in ("", one.id):
                found.append(f"server {one.id}: {one.problem_without_name}")
            if changed and server in ("", one.id):
                count = "a tool" if changed == 1 else f"{changed} tools"
                found.append(f"server {one.id}: It changed {count} after approval; run doorward servers approve.")
        return found

    def _reuse_or_create(self, before: Upstream | None, config: ServerConfig) -> Upstream:
        """The server for a configuration: the running one, if nothing that it depends on changed."""
        if before is not None and same_process(before.config, config):
            before.config = config
            return before
        definitions = (
            before.definitions if before is not None and hash_origin(before.config) == hash_origin(config) else None
        )
        known = self._pins.known_tools(config.id, hash_origin(config))
        return Upstream(config, self._make, self._changed, known if definitions is None else definitions)

    def _reserved_names(self) -> frozenset[str]:
        """Folded names that no tool may have."""
        return self._taken() | reserved_names(self._upstreams)

    def _resources_changed(self) -> bool:
        """Whether resources, prompts or completions changed."""
        before, self._readable = self._readable, {one.id: snapshot_resources(one) for one in self}
        return before.keys() != self._readable.keys() or not all(
            one.is_same(before[id]) for id, one in self._readable.items()
        )

    def _changed(self, upstream: Upstream) -> None:
        """Handle a change of a server."""
        server = upstream.server
        upstream.notify_waiters()
        if self._stopped or self._upstreams.get(upstream.id) is not upstream:
            return
        if server.state == "ready" and server.definitions is not upstream.listed:
            upstream.listed = server.definitions
            before, after = upstream.definitions, server.definitions
            if not self._pins.has_listed(upstream.id) or [one.digest for one in before] != [
                one.digest for one in after
            ]:
                upstream.definitions = server.definitions
                self._pins.record_tools(upstream.id, upstream.definitions)
                self._stale = True
        if self._change_timer is None:
            self._change_timer = asyncio.get_running_loop().call_later(_COMBINE_SECONDS, self._apply_changes)

    def _report_states(self) -> None:
        """Publish and store the states of servers that changed."""
        now = self._clock.now()
        for upstream in self:
            told = (upstream.state, upstream.problem)
            if told == upstream.reported:
                continue
            since = self._pins.state_since(upstream.id, *told) if upstream.reported is None else None
            upstream.reported, upstream.since = told, since or now
            if since is None:
                self._events.publish(
                    UpstreamChanged(tenant=self._tenant, at=now, server=upstream.id, state=told[0], problem=told[1])
                )
        self._pins.record_states([upstream.row(self._tenant) for upstream in self])

    def _stop_in_background(self, upstream: Upstream) -> None:
        """Stop a server in the background. The next server with its id waits for this shutdown."""
        upstream.over = True
        ending = self._run_in_background(_stop_after(upstream, self._shutdowns.get(upstream.id)))
        self._shutdowns[upstream.id] = ending
        ending.add_done_callback(
            lambda _: self._shutdowns.get(upstream.id) is ending and self._shutdowns.pop(upstream.id)
        )

    def _run_in_background(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(_log_errors(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


async def _stop_after(upstream: Upstream, before: asyncio.Task[None] | None) -> None:
    await upstream.server.stop()
    if before is not None:
        await asyncio.wait([before])


async def _log_errors(work: Coroutine[Any, Any, None]) -> None:
    try:
        await work
    except Exception:
        log.exception("an upstream server could not be started or stopped cleanly")


def _reuse_offer(offer: ToolOffer, *known: ToolOffer | None) -> ToolOffer:
    """Return the earlier offer if it is the same, so that what was built from it is reused."""
    return next((one for one in known if one is not None and one.fingerprint == offer.fingerprint), offer)
