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

from doorward.clock import Clock
from doorward.errors import NotFound, Unreachable
from doorward.events import Bus, UpstreamChanged, UpstreamOffered
from doorward.model import Absent
from doorward.names import folded
from doorward.upstream import naming, offering
from doorward.upstream.config import ServerConfig, Servers
from doorward.upstream.life import still_starting
from doorward.upstream.naming import Tool
from doorward.upstream.offering import ToolOffer
from doorward.upstream.pins import Pins
from doorward.upstream.readable import Readable, readable, reserved
from doorward.upstream.trial import Trial, tried
from doorward.upstream.upstream import Make, Upstream, origin, same_process
from doorward.visible import visible

log = logging.getLogger(__name__)

_EVERY_TENANT = ""
_LONGEST_NAME = 80
_GATHER = 0.05
"""Seconds in which changes of several servers are combined, because a hundred may start together."""
_AT_ONCE = 20
_HOLD = 0.01
"""Commands to build, and seconds to spend, before other tasks get a turn."""
_BRIEFLY = 10.0
"""Seconds to wait for servers that were not requested by name."""

Put = Callable[[list[ToolOffer]], None]
"""Turns offers into commands and registers them."""


class Upstreams:
    def __init__(
        self,
        tenant: str,
        pins: Pins,
        events: Bus,
        clock: Clock,
        *,
        make: Make,
        taken: Callable[[], frozenset[str]],
        put: Put,
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
        self._prepared: dict[Tool, ToolOffer] = {}
        self._preparing = False
        self._read = read
        self._readable: dict[str, Readable] = {}
        self._upstreams: dict[str, Upstream] = {}
        self._approval_required = True
        self._running = False
        self._configured = False
        self._stale = False
        """Whether tools changed since the offers were last computed."""
        self._over = False
        self._gathering: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._endings: dict[str, asyncio.Task[None]] = {}
        """Running shutdowns by server id; the server's folder is not free before they end."""

    def __iter__(self) -> Iterator[Upstream]:
        return iter(self._upstreams.values())

    def get(self, server: str) -> Upstream:
        found = self._upstreams.get(server)
        if found is None:
            there = f"known servers: {', '.join(self._upstreams)}" if self._upstreams else "there are no servers"
            raise NotFound(f"There is no server {server[:60]!r}; {there}.")
        return found

    def of(self, server: str) -> list[ToolOffer]:
        """The offered tools of one server."""
        return self._by_server.get(server, [])

    def absent(self, command: str) -> Absent | None:
        """Explain a missing command whose server is not available now; None for any other reason."""
        named = {one.id: (f"{naming.AREA}/{one.id}/", f"{one.id}_") for one in self}
        meant = max((id for id, prefixes in named.items() if command.startswith(prefixes)), key=len, default=None)
        if meant is None:
            return None
        upstream = self._upstreams[meant]
        away = upstream.away() or self._not_seen_yet(upstream)
        if away is None or (self.of(meant) and folded(command) not in reserved([meant])):
            return None  # the server's tools are known, and this is not one of them
        tool = command.partition("_" if command.startswith(f"{meant}_") else f"/{meant}/")[2]
        shown = visible(command[:_LONGEST_NAME], lines=False)
        return Absent(
            name=f"{naming.AREA}/{meant}/{tool}",
            tier=upstream.config.tier,
            message=f"The command {shown!r} is not available now. {away.message}",
            why=away.message,
            hint=away.hint,
            retry_after=away.retry_after,
        )

    def _not_seen_yet(self, upstream: Upstream) -> Unreachable | None:
        """Treat a server that is about to start, or has just listed its tools, as starting."""
        if upstream.server.state == "stopped" or (self.settling and not self.of(upstream.id)):
            return still_starting(upstream.id)
        return None

    def configure(self, servers: Servers) -> None:
        """Apply a new version of the file."""
        before = self._upstreams
        self._upstreams = {config.id: self._kept(before.get(config.id), config) for config in servers.servers}
        for upstream in before.values():
            after = self._upstreams.get(upstream.id)
            if after is not upstream:
                self._end(upstream)
        for upstream in self:
            if before.get(upstream.id) is upstream:
                continue
            upstream.predecessor = self._endings.get(upstream.id)
            if self._running and upstream.config.enabled:
                self._in_background(upstream.begin())
        self._approval_required = servers.approval_required
        self._configured = True
        self.refresh()

    async def load(self) -> None:
        """Load what earlier processes stored; call it before the file is read."""
        await self._pins.load()

    def renamed(self) -> None:
        """Other commands changed their names, which have priority over those of tools."""
        self.refresh(again=True)

    def start(self) -> None:
        """Connect to all enabled servers, without waiting."""
        self._running = True
        for upstream in self:
            if upstream.config.enabled:
                self._in_background(upstream.begin())

    async def stop(self) -> None:
        """Stop all servers, and report and store their last states."""
        self._running, self._over = False, True
        if self._gathering is not None:
            self._gathering.cancel()
        for upstream in self:
            self._end(upstream)
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._configured:
            self._note_states()
        await self._pins.saved()

    async def restart(self, server: str) -> Upstream:
        """Restart a server at once."""
        upstream = self.get(server)
        await upstream.server.stop()
        await upstream.up()
        self.refresh()
        return upstream

    async def trial(self, server: str) -> Trial:
        """Test a configured server over a separate connection. A running instance is not affected."""
        return await tried(self.get(server).config, self._make)

    async def look(self, server: str = "") -> None:
        """Start a server, or all servers, whose tools are unknown, and wait for them; for all servers only briefly."""
        unseen = [one for one in self if one.config.enabled and not one.definitions and server in ("", one.id)]
        if unseen:
            await asyncio.wait(
                [asyncio.ensure_future(one.up()) for one in unseen], timeout=None if server else _BRIEFLY
            )
        if unseen or (server and self.settling and not self.of(server)):
            self.refresh()

    async def look_for(self, command: str) -> None:
        """Do the same for the server that a command's name may belong to, before the command is looked up."""
        for one in self:
            if command.startswith((f"{naming.AREA}/{one.id}/", f"{one.id}_")):
                await self.look(one.id)

    @property
    def settling(self) -> bool:
        """Whether the offers are about to be computed again, because servers changed."""
        return self._gathering is not None or self._preparing

    def refresh(self, *, again: bool = False) -> None:
        """Compute the offers and apply them if they changed, or if `again`."""
        self._stale = False
        offers = self._worked_out()
        news = [offer.mark for offer in offers] != [offer.mark for offer in self.offers]
        if news:
            known = {offer.tool: offer for offer in self.offers}
            self.offers = [
                _unless_new(offer, known.get(offer.tool), self._prepared.get(offer.tool)) for offer in offers
            ]
            self._prepared = {}
            self._by_server = {}
            for offer in self.offers:
                self._by_server.setdefault(offer.upstream.id, []).append(offer)
        self._put_in_force(news, again)

    def _put_in_force(self, news: bool, again: bool) -> None:
        if self._gathering is not None:
            self._gathering.cancel()
            self._gathering = None
        reads = self._news_to_read()
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
            self._note_states()

    def _gathered(self) -> None:
        """Handle combined changes. Usually only states changed, and the names of tools stay the same."""
        if self._stale:
            self._gathering = None
            if not self._preparing:
                self._preparing = True
                self._in_background(self._refresh_gently())
        else:
            self._put_in_force(False, False)

    async def _refresh_gently(self) -> None:
        """Refresh after a server listed its tools. The list can be long, so other tasks get turns in between."""
        try:
            while self._stale and not self._over:
                self._stale = False
                known = {offer.tool: offer.mark for offer in self.offers}
                new = [offer for offer in self._worked_out() if offer.mark != known.get(offer.tool)]
                self._prepared = {offer.tool: offer for offer in new}
                began, count = time.monotonic(), 0
                for offer in new:
                    if count >= _AT_ONCE or time.monotonic() - began > _HOLD:
                        await asyncio.sleep(0)
                        began, count = time.monotonic(), 0
                    self._prepare(offer)
                    count += 1
            if not self._over:
                self.refresh()
        finally:
            self._preparing = False

    def _worked_out(self) -> list[ToolOffer]:
        return offering.offers(self, self._pins, self._spoken_for, self._approval_required)

    async def approve(self, server: str, offers: Iterable[ToolOffer]) -> None:
        """Record a person's approval of these tools in their current form."""
        await self._pins.approve(server, {one.definition.name: one.definition.digest for one in offers})
        self.refresh()

    async def approved(self, offer: ToolOffer) -> dict[str, Any]:
        """The approved definition of a tool, with secrets masked."""
        return offer.without_secrets(await self._pins.approved(offer.upstream.id, offer.definition.name))

    def problems(self, server: str = "") -> list[str]:
        """The problems of enabled servers, or of one server."""
        found = []
        for one in self:
            changed = sum(offer.changed for offer in self.of(one.id))
            if one.problem and server in ("", one.id):
                found.append(f"server {one.id}: {one.said}")
            if changed and server in ("", one.id):
                count = "a tool" if changed == 1 else f"{changed} tools"
                found.append(f"server {one.id}: It changed {count} after approval; run doorward servers approve.")
        return found

    def _kept(self, before: Upstream | None, config: ServerConfig) -> Upstream:
        """The server for a configuration: the running one, if nothing that it depends on changed."""
        if before is not None and same_process(before.config, config):
            before.config = config
            return before
        definitions = before.definitions if before is not None and origin(before.config) == origin(config) else None
        known = self._pins.known(config.id, origin(config))
        return Upstream(config, self._make, self._changed, known if definitions is None else definitions)

    def _spoken_for(self) -> frozenset[str]:
        """Folded names that no tool may have."""
        return self._taken() | reserved(self._upstreams)

    def _news_to_read(self) -> bool:
        """Whether resources, prompts or completions changed."""
        before, self._readable = self._readable, {one.id: readable(one) for one in self}
        return before.keys() != self._readable.keys() or not all(
            one.same(before[id]) for id, one in self._readable.items()
        )

    def _changed(self, upstream: Upstream) -> None:
        """Handle a change of a server."""
        server = upstream.server
        upstream.changed()
        if self._over or self._upstreams.get(upstream.id) is not upstream:
            return
        if server.state == "ready" and server.definitions is not upstream.listed:
            upstream.listed = server.definitions
            before, after = upstream.definitions, server.definitions
            if not self._pins.seen(upstream.id) or [one.digest for one in before] != [one.digest for one in after]:
                upstream.definitions = server.definitions
                self._pins.note(upstream.id, upstream.definitions)
                self._stale = True
        if self._gathering is None:
            self._gathering = asyncio.get_running_loop().call_later(_GATHER, self._gathered)

    def _note_states(self) -> None:
        """Publish and store the states of servers that changed."""
        now = self._clock.now()
        for upstream in self:
            told = (upstream.state, upstream.problem)
            if told == upstream.told:
                continue
            since = self._pins.since(upstream.id, *told) if upstream.told is None else None
            upstream.told, upstream.since = told, since or now
            if since is None:
                self._events.publish(
                    UpstreamChanged(tenant=self._tenant, at=now, server=upstream.id, state=told[0], problem=told[1])
                )
        self._pins.standing([upstream.row(self._tenant) for upstream in self])

    def _end(self, upstream: Upstream) -> None:
        """Stop a server in the background. The next server with its id waits for this shutdown."""
        upstream.over = True
        ending = self._in_background(_ended(upstream, self._endings.get(upstream.id)))
        self._endings[upstream.id] = ending
        ending.add_done_callback(lambda _: self._endings.get(upstream.id) is ending and self._endings.pop(upstream.id))

    def _in_background(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(_guarded(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


async def _ended(upstream: Upstream, before: asyncio.Task[None] | None) -> None:
    await upstream.server.stop()
    if before is not None:
        await asyncio.wait([before])


async def _guarded(work: Coroutine[Any, Any, None]) -> None:
    try:
        await work
    except Exception:
        log.exception("an upstream server could not be started or stopped cleanly")


def _unless_new(offer: ToolOffer, *known: ToolOffer | None) -> ToolOffer:
    """Return the earlier offer if it is the same, so that what was built from it is reused."""
    return next((one for one in known if one is not None and one.mark == offer.mark), offer)
