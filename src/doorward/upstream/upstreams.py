"""All upstream servers: kept as the file says, and what of their tools is offered.

A change of the file touches the servers that it changes and no other. A server's tools are offered from the moment it
is known, also while it is away or nobody has needed it yet: a call then starts it, or says why it cannot be had.
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
"""Seconds in which changes of several servers become one: a hundred of them start together."""
_AT_ONCE = 20
_HOLD = 0.01
"""How many commands are made of tools, and for how many seconds, before everybody else has a turn."""
_BRIEFLY = 10.0
"""Seconds in which to see servers that nobody asked for by name."""

Put = Callable[[list[ToolOffer]], None]
"""Makes commands of what is offered and puts them in force."""


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
        """`tenant` owns the servers; `taken` are the names, folded, that commands of other kinds have.

        `prepare` does beforehand what `put` would have to do for an offer that is new.
        `read` makes the commands by which what these servers have beside tools is read; it is told whether approval
        is required.
        """
        self.offers: list[ToolOffer] = []
        """Every tool that is a command now."""
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
        """Whether tools are not what they were when it was last worked out what is offered."""
        self._over = False
        self._gathering: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._endings: dict[str, asyncio.Task[None]] = {}
        """Servers that are being ended, by their ids: the folder of one is not free before."""

    def __iter__(self) -> Iterator[Upstream]:
        return iter(self._upstreams.values())

    def get(self, server: str) -> Upstream:
        found = self._upstreams.get(server)
        if found is None:
            there = f"there are: {', '.join(self._upstreams)}" if self._upstreams else "there are none"
            raise NotFound(f"There is no server {server[:60]!r}; {there}.")
        return found

    def of(self, server: str) -> list[ToolOffer]:
        """The tools that are offered of one server."""
        return self._by_server.get(server, [])

    def absent(self, command: str) -> Absent | None:
        """Why there is no such command although its server is in the file; None when that is not why."""
        named = {one.id: (f"{naming.AREA}/{one.id}/", f"{one.id}_") for one in self}
        meant = max((id for id, prefixes in named.items() if command.startswith(prefixes)), key=len, default=None)
        if meant is None:
            return None
        upstream = self._upstreams[meant]
        away = upstream.away() or self._not_seen_yet(upstream)
        if away is None or (self.of(meant) and folded(command) not in reserved([meant])):
            return None  # of a server whose tools are known, away or not, this is none
        tool = command.partition("_" if command.startswith(f"{meant}_") else f"/{meant}/")[2]
        shown = visible(command[:_LONGEST_NAME], lines=False)
        return Absent(
            name=f"{naming.AREA}/{meant}/{tool}",
            tier=upstream.config.tier,
            message=f"There is no command {shown!r} now. {away.message}",
            why=away.message,
            hint=away.hint,
            retry_after=away.retry_after,
        )

    def _not_seen_yet(self, upstream: Upstream) -> Unreachable | None:
        """A server that is about to be started, or has just said what it offers, is as good as starting."""
        if upstream.server.state == "stopped" or (self.settling and not self.of(upstream.id)):
            return still_starting(upstream.id)
        return None

    def configure(self, servers: Servers) -> None:
        """The file says this now."""
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
        """What earlier processes saw; before the file is read."""
        await self._pins.load()

    def renamed(self) -> None:
        """Commands of other kinds have other names now, which come before those of tools."""
        self.refresh(again=True)

    def start(self) -> None:
        """Connect to all that are enabled, without waiting for any."""
        self._running = True
        for upstream in self:
            if upstream.config.enabled:
                self._in_background(upstream.begin())

    async def stop(self) -> None:
        """Leave none running, and nothing unsaid."""
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
        """End a server and start it anew, at once."""
        upstream = self.get(server)
        await upstream.server.stop()
        await upstream.up()
        self.refresh()
        return upstream

    async def trial(self, server: str) -> Trial:
        """A look at a server of the file, over a connection of its own; one that runs is left alone."""
        return await tried(self.get(server).config, self._make)

    async def look(self, server: str = "") -> None:
        """Go and see what a server offers, or each, if nobody has seen it yet. All of them are not waited for long."""
        unseen = [one for one in self if one.config.enabled and not one.definitions and server in ("", one.id)]
        if unseen:
            await asyncio.wait(
                [asyncio.ensure_future(one.up()) for one in unseen], timeout=None if server else _BRIEFLY
            )
        if unseen or (server and self.settling and not self.of(server)):
            self.refresh()

    async def look_for(self, command: str) -> None:
        """The same for the server that a command's name can mean, before that is looked up."""
        for one in self:
            if command.startswith((f"{naming.AREA}/{one.id}/", f"{one.id}_")):
                await self.look(one.id)

    @property
    def settling(self) -> bool:
        """Whether what is offered is about to be worked out again, since servers have changed."""
        return self._gathering is not None or self._preparing

    def refresh(self, *, again: bool = False) -> None:
        """Work out what is offered, and put it in force if it is anything new, or `again`."""
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
            self._read((), True)  # first of all they let go of their names, which others may have by now
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
        """Servers changed. Most often only their state did, and working out names for all tools can be spared."""
        if self._stale:
            self._gathering = None
            if not self._preparing:
                self._preparing = True
                self._in_background(self._refresh_gently())
        else:
            self._put_in_force(False, False)

    async def _refresh_gently(self) -> None:
        """The same for a server's new list, which can be long: nobody waits while commands are made of all of it."""
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
        """A person stands behind these tools of a server as they are now."""
        await self._pins.approve(server, {one.definition.name: one.definition.digest for one in offers})
        self.refresh()

    async def approved(self, offer: ToolOffer) -> dict[str, Any]:
        """The definition of a tool that people stand behind, without secrets."""
        return offer.without_secrets(await self._pins.approved(offer.upstream.id, offer.definition.name))

    def problems(self, server: str = "") -> list[str]:
        """What is not as it should be with servers that are meant to be there, or with one of them."""
        found = []
        for one in self:
            changed = sum(offer.changed for offer in self.of(one.id))
            if one.problem and server in ("", one.id):
                found.append(f"server {one.id}: {one.said}")
            if changed and server in ("", one.id):
                count = "a tool" if changed == 1 else f"{changed} tools"
                found.append(
                    f"server {one.id}: It changed {count} since that was approved; see doorward servers approve."
                )
        return found

    def _kept(self, before: Upstream | None, config: ServerConfig) -> Upstream:
        """A server as the file has it now: the one that runs, if nothing changed that it depends on."""
        if before is not None and same_process(before.config, config):
            before.config = config
            return before
        definitions = before.definitions if before is not None and origin(before.config) == origin(config) else None
        known = self._pins.known(config.id, origin(config))
        return Upstream(config, self._make, self._changed, known if definitions is None else definitions)

    def _spoken_for(self) -> frozenset[str]:
        """The names, folded, that no tool can have."""
        return self._taken() | reserved(self._upstreams)

    def _news_to_read(self) -> bool:
        """Whether what there is beside tools is not what it was."""
        before, self._readable = self._readable, {one.id: readable(one) for one in self}
        return before.keys() != self._readable.keys() or not all(
            one.same(before[id]) for id, one in self._readable.items()
        )

    def _changed(self, upstream: Upstream) -> None:
        """A server says that something about it is different now."""
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
        """Tell, and store, how servers stand, where that is not as it was last told."""
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
        """End it without waiting; the next one with its id waits for this, and for those before it."""
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
        log.exception("an upstream server could not be started or ended in good order")


def _unless_new(offer: ToolOffer, *known: ToolOffer | None) -> ToolOffer:
    """The offer that was there before, if it is the same: whatever was made of it is then kept."""
    return next((one for one in known if one is not None and one.mark == offer.mark), offer)
