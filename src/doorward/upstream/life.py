"""Supervises one server: connects, lists what it offers, checks that it is alive, and reconnects.

One task owns every connection, so that nothing happens twice at once and nothing is left when the task ends.
"""

from __future__ import annotations

import asyncio
import logging
import math
import random
import time
from collections.abc import Callable
from typing import Literal

import msgspec

from doorward.clock import Clock
from doorward.errors import DEFECT, DoorwardError, TimedOut, Unreachable
from doorward.upstream.alarm import Alarm, SetTimer
from doorward.upstream.backoff import Backoff
from doorward.upstream.breaker import FAILURES
from doorward.upstream.config import ServerConfig
from doorward.upstream.connection import Connect
from doorward.upstream.discretion import Discretion
from doorward.upstream.guarded import guarded
from doorward.upstream.journal import Journal
from doorward.upstream.listening import Listening
from doorward.upstream.listing import Listed, listed
from doorward.upstream.negotiating import Era, Info, negotiate
from doorward.upstream.session import Said, Session, naming_server, seconds
from doorward.upstream.stats import Counters

log = logging.getLogger(__name__)

State = Literal["starting", "ready", "waiting", "broken", "stopped", "disabled"]

_STABLE = 10.0
"""A server that was up for this many seconds starts a new series of failures when it ends."""
_MISSED = 2
"""Unanswered pings after which a server is restarted."""
_LONGEST_PING = 10.0
_GATHER = 0.2
"""Seconds in which several list changes are combined into one."""
_SOON = 2.0
"""Seconds after which to retry a call to a server that is starting."""
_SHARE = 20.0
"""Wait at least this many times the duration of a listing before the next."""


class Life:
    """Implements `News` for its session."""

    def __init__(
        self,
        config: ServerConfig,
        connect: Connect,
        clock: Clock,
        on_change: Callable[[], None],
        *,
        most: int,
        chance: Callable[[], float] = random.random,
        timer: SetTimer | None = None,
    ) -> None:
        self.state: State = "stopped" if config.enabled else "disabled"
        self.problem = ""
        """A sentence that says why it is not ready."""
        self.session: Session | None = None
        self.info = Info()
        self.listed = Listed()
        self.counters = Counters()
        self.discretion = Discretion(config.secrets)
        self.journal = Journal(clock, self.discretion)
        self.updates: list[Callable[[str], None]] = []
        """Listeners for resource updates."""
        self.subscribed: frozenset[str] = frozenset()
        """URIs of the resources with subscribers."""
        self._config = config
        self._connect = connect
        self._clock = clock
        self._on_change = on_change
        self._most = most
        self._backoff = Backoff(chance)
        self._retry_at = 0.0
        self._era: Era = ""
        self._attempt = self._ended_attempt = self._told_attempt = 0
        """Connection numbers: the newest, the last that ended, and the last whose end was reported."""
        self._ended: tuple[DoorwardError, bool] | None = None
        self._stale = self._doubted = False
        self._rest = _GATHER
        self._listening: Listening | None = None
        self._task: asyncio.Task[None] | None = None
        self._stopping = False
        self._alarm = Alarm(timer)
        self._watching: list[asyncio.Future[None]] = []

    def start(self) -> None:
        if self._task is None and self._config.enabled:
            self.state = "starting"
            self._task = asyncio.get_running_loop().create_task(self._own())

    async def stop(self) -> None:
        """Stop the server. Concurrent callers wait for the same stop."""
        task = self._task
        if task is not None:
            if not self._stopping:  # a second cancel would interrupt the shutdown of its process
                self._stopping = True
                task.cancel()
            await asyncio.wait([task])
            if not task.cancelled():
                task.exception()  # a bug, which is logged elsewhere
        if self._task is not task:
            return  # another caller stopped it too, and it may have been restarted since
        self._task, self._stopping = None, False
        if self._config.enabled:
            self._become("stopped", "")

    async def ready(self, within: float) -> Session:
        """Wait for a usable session; raises Unreachable when there will be none soon.

        While the server is starting or waits to be restarted, this waits for the result of that attempt.
        """
        session = self.session
        if session is not None and not session.over:
            return session
        awaited = self._attempt + (session is not None or self._ended_attempt == self._attempt)
        try:
            async with asyncio.timeout(within):
                while True:
                    session = self.session
                    if session is not None and not session.over:
                        return session
                    if self.state in ("broken", "stopped", "disabled") or self._told_attempt >= awaited:
                        raise self.absence()
                    await self._next_state()
        except TimeoutError as error:
            raise TimedOut(f"The server {self._config.id} did not become ready within {within:g} seconds.") from error

    @property
    def retry_seconds(self) -> float | None:
        """Seconds until the next attempt; None when none is scheduled."""
        if self.state not in ("waiting", "broken"):
            return None
        return max(round(self._retry_at - self._clock.steady(), 1), 0.0)

    def doubt(self) -> None:
        """Check at once whether the server still answers."""
        self._doubted = True
        self._alarm.ring()

    async def subscribe(self, uris: frozenset[str]) -> None:
        """Subscribe to exactly these resources, also after a restart of the server."""
        self.subscribed = uris
        if self._listening is not None:
            await self._listening.follow(uris)

    # Events of the session.

    def changed(self, what: str) -> None:
        self._stale = True
        self._alarm.ring()

    def updated(self, uri: str) -> None:
        for told in self.updates:
            guarded(told, uri)

    def ended(self, error: DoorwardError, again: bool) -> None:
        self._ended = (error, again)
        self._alarm.ring()

    def noted(self, source: str, line: str) -> None:
        self.journal.note(source, line)

    # The task.

    async def _own(self) -> None:
        at_once = False
        while True:
            if self.state != "starting":
                self._become("starting", self.problem)
            error, again = await self._once()
            self.journal.note("ended", error.message)
            self.counters.went_wrong(error.message, self._clock.now())
            if again and not at_once:
                at_once = True
                continue
            at_once = False
            self._told_attempt = self._attempt
            pause = self._backoff.failed()
            self._retry_at = self._clock.steady() + pause
            state: State = "broken" if self._backoff.failures >= FAILURES else "waiting"
            self._become(state, error.message)
            await self._alarm.nap(pause, news=False)

    async def _once(self) -> tuple[DoorwardError, bool]:
        """Run one connection to its end and return how it ended."""
        self._ended, self._stale, self._doubted = None, False, False
        self._attempt += 1
        self._alarm.forget()
        began = self._clock.steady()
        session = Session(self._config.id, self, self.discretion, sampling=self._config.sampling)
        try:
            try:
                async with asyncio.timeout(self._config.start_seconds):
                    await self._begin(session)
            except TimeoutError:
                return self._too_slow(), False
            self.session = session
            self.counters.up_since = self._clock.now()
            self._become("ready", "")
            began = self._clock.steady()
            error, again = await self._tend(session)
            self._become("waiting", error.message)  # no longer ready while it shuts down
            return error, again
        except DoorwardError as error:
            # The reason for the end of the connection says more than the error of a single request.
            return self._how_it_ended() or (self.discretion.with_error(error), False)
        except OSError as error:
            return Unreachable(f"The server {self._config.id} cannot be reached: {error.strerror or error}."), False
        except Exception:
            log.exception("the supervisor of an upstream server raised an exception")
            return Unreachable(DEFECT), False
        finally:
            self._ended_attempt = self._attempt
            self.session, self.counters.up_since, self._listening = None, None, None
            self.counters.faults += session.faults
            if self._clock.steady() - began >= _STABLE:
                self._backoff.succeeded()
            await session.close()

    async def _begin(self, session: Session) -> None:
        config = self._config
        self.counters.starts += 1
        await session.open(config, self._connect)
        within = config.start_seconds
        known = self._era
        try:
            info = await negotiate(session, known, within=within, sampling=config.sampling)
        except DoorwardError:
            # A server that dies of the first request of the newer version gets the older handshake next time. A server
            # that no longer speaks its earlier version is probed again.
            self._era = "handshake" if not known and self._ended is not None else ""
            raise
        self._era = info.era
        everything = await listed(session, info.capabilities, within=within, most=self._most)
        self.info = info
        self._take(everything)
        self._listening = listening = Listening(session, info.capabilities, self._deaf)
        await listening.begin(self.subscribed)

    async def _tend(self, session: Session) -> tuple[DoorwardError, bool]:
        """Watch a connection until it ends: relist on changes, and ping."""
        missed = 0
        every = self._config.ping_seconds
        while (end := self._how_it_ended()) is None:
            if self._stale:
                await self._alarm.nap(self._rest, news=False)
                if not session.over:
                    await self._list_again(session)
                continue
            if self._doubted and not session.calls:
                self._doubted = False
                if not await self._answers(session, _LONGEST_PING) and not session.over:
                    return Unreachable(f"The server {self._config.id} answers neither calls nor pings."), False
            if not await self._alarm.nap(every if every > 0 else 3_600.0) or every <= 0 or session.over:
                continue
            if session.calls or session.heard:
                session.heard = False
                missed = 0
            elif await self._answers(session, min(every, _LONGEST_PING)):
                missed = 0
            else:
                missed += 1
                if missed >= _MISSED and not session.over:
                    return Unreachable(f"The server {self._config.id} did not answer {missed} pings."), False
        return end

    def _how_it_ended(self) -> tuple[DoorwardError, bool] | None:
        return self._ended

    async def _answers(self, session: Session, within: float) -> bool:
        """Whether it is alive. An error response counts as alive. The newer version has no ping."""
        try:
            await session.request("server/discover" if session.modern else "ping", {}, within=within)
        except Said:
            return True
        except DoorwardError as error:
            self.journal.note("ping", error.message)
            return False
        return True

    async def _list_again(self, session: Session) -> None:
        self._stale = False
        began = time.monotonic()
        within = self._config.start_seconds
        try:
            async with asyncio.timeout(within):
                everything = await listed(session, self.info.capabilities, within=within, most=self._most)
        except (DoorwardError, TimeoutError) as error:
            if not session.over:
                late = f"The server {self._config.id} did not list everything within {within:g} seconds."
                sentence = error.message if isinstance(error, DoorwardError) else late
                self.journal.note("list", sentence)
                self.counters.went_wrong(sentence, self._clock.now())
        else:
            if self._take(everything):
                guarded(self._on_change)
            if self._listening is not None and self._listening.over:
                self._listening.renew()
        self._rest = max(_GATHER, _SHARE * (time.monotonic() - began))

    def _take(self, everything: Listed) -> bool:
        """Store the lists and return whether they changed. An unchanged tool list stays the same object."""
        if everything == self.listed:
            return False
        for remark in everything.remarks:
            if remark not in self.listed.remarks:
                self.journal.note("list", remark)
        if everything.tools == self.listed.tools:
            everything = msgspec.structs.replace(everything, tools=self.listed.tools)
        self.listed = everything
        return True

    def _deaf(self) -> None:
        """The subscription stream ended: list everything again, then reopen it."""
        self.changed("everything")

    def _become(self, state: State, problem: str) -> None:
        self.state, self.problem = state, problem
        watching, self._watching = self._watching, []
        for one in watching:
            if not one.done():
                one.set_result(None)
        guarded(self._on_change)

    async def _next_state(self) -> None:
        one: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._watching.append(one)
        await one

    def absence(self) -> Unreachable:
        """The error that says why it is not available and, if known, when the next attempt is."""
        id = self._config.id
        if self.state == "disabled":
            return Unreachable(f"The server {id} is disabled.", hint=f"Enable it: doorward servers enable {id}")
        if self.state == "stopped":
            return Unreachable(f"The server {id} is not running.")
        if self.state == "starting":
            return still_starting(id, self.problem)
        left = max(math.ceil(self._retry_at - self._clock.steady()), 1)
        sentence = naming_server(id, f"{self.problem.rstrip('.')}. The next attempt is in {seconds(left)}.")
        return Unreachable(sentence, retry_after=float(left))

    def _too_slow(self) -> Unreachable:
        seconds = self._config.start_seconds
        return Unreachable(
            f"The server {self._config.id} did not start within {seconds:g} seconds.",
            hint="If it needs longer to start, set a larger `startSeconds`.",
        )


def still_starting(id: str, problem: str = "") -> Unreachable:
    """The error for a server that is starting, with its previous problem."""
    return Unreachable(f"The server {id} is still starting.{f' {problem}' if problem else ''}", retry_after=_SOON)
