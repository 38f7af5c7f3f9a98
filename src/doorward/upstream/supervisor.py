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

from doorward.core.clock import Clock
from doorward.core.errors import DEFECT, DoorwardError, TimedOut, Unreachable
from doorward.upstream.config import ServerConfig
from doorward.upstream.connection import Connect
from doorward.upstream.negotiation import ProtocolEra, ServerInfo, negotiate
from doorward.upstream.resilience import FAILURE_LIMIT, Backoff, InterruptibleTimer, SetTimer, call_listener
from doorward.upstream.secret_mask import SecretMask
from doorward.upstream.server_lists import ServerLists, fetch_lists
from doorward.upstream.session import ServerError, Session, format_seconds, with_server_name
from doorward.upstream.stats import LogBuffer, ServerCounters
from doorward.upstream.subscriptions import ChangeSubscription

log = logging.getLogger(__name__)

ServerState = Literal["starting", "ready", "waiting", "broken", "stopped", "disabled"]

_STABLE_SECONDS = 10.0
"""A server that was up for this many seconds starts a new series of failures when it ends."""
_MAX_MISSED_PINGS = 2
"""Unanswered pings after which a server is restarted."""
_LONGEST_PING = 10.0
_COMBINE_SECONDS = 0.2
"""Seconds in which several list changes are combined into one."""
_RETRY_SECONDS = 2.0
"""Seconds after which to retry a call to a server that is starting."""
_RELIST_FACTOR = 20.0
"""Wait at least this many times the duration of a listing before the next."""


class ServerSupervisor:
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
        self.state: ServerState = "stopped" if config.enabled else "disabled"
        self.problem = ""
        """A sentence that says why it is not ready."""
        self.session: Session | None = None
        self.info = ServerInfo()
        self.lists = ServerLists()
        self.counters = ServerCounters()
        self.discretion = SecretMask(config.secrets)
        self.log = LogBuffer(clock, self.discretion)
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
        self._era: ProtocolEra = ""
        self._attempt = self._ended_attempt = self._reported_attempt = 0
        """Connection numbers: the newest, the last that ended, and the last whose end was reported."""
        self._ended: tuple[DoorwardError, bool] | None = None
        self._lists_stale = self._check_requested = False
        self._relist_pause = _COMBINE_SECONDS
        self._subscription: ChangeSubscription | None = None
        self._task: asyncio.Task[None] | None = None
        self._stopping = False
        self._timer = InterruptibleTimer(timer)
        self._state_waiters: list[asyncio.Future[None]] = []

    def start(self) -> None:
        if self._task is None and self._config.enabled:
            self.state = "starting"
            self._task = asyncio.get_running_loop().create_task(self._run())

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
            self._set_state("stopped", "")

    async def wait_ready(self, within: float) -> Session:
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
                    if self.state in ("broken", "stopped", "disabled") or self._reported_attempt >= awaited:
                        raise self.unavailable_error()
                    await self._wait_for_state()
        except TimeoutError as error:
            raise TimedOut(f"The server {self._config.id} did not become ready within {within:g} seconds.") from error

    @property
    def retry_seconds(self) -> float | None:
        """Seconds until the next attempt; None when none is scheduled."""
        if self.state not in ("waiting", "broken"):
            return None
        return max(round(self._retry_at - self._clock.steady(), 1), 0.0)

    def check_alive(self) -> None:
        """Check at once whether the server still answers."""
        self._check_requested = True
        self._timer.wake()

    async def subscribe(self, uris: frozenset[str]) -> None:
        """Subscribe to exactly these resources, also after a restart of the server."""
        self.subscribed = uris
        if self._subscription is not None:
            await self._subscription.subscribe(uris)

    # Events of the session.

    def changed(self, what: str) -> None:
        self._lists_stale = True
        self._timer.wake()

    def updated(self, uri: str) -> None:
        for told in self.updates:
            call_listener(told, uri)

    def ended(self, error: DoorwardError, again: bool) -> None:
        self._ended = (error, again)
        self._timer.wake()

    def noted(self, source: str, line: str) -> None:
        self.log.add(source, line)

    # The task.

    async def _run(self) -> None:
        at_once = False
        while True:
            if self.state != "starting":
                self._set_state("starting", self.problem)
            error, again = await self._run_connection()
            self.log.add("ended", error.message)
            self.counters.record_error(error.message, self._clock.now())
            if again and not at_once:
                at_once = True
                continue
            at_once = False
            self._reported_attempt = self._attempt
            pause = self._backoff.record_failure()
            self._retry_at = self._clock.steady() + pause
            state: ServerState = "broken" if self._backoff.failures >= FAILURE_LIMIT else "waiting"
            self._set_state(state, error.message)
            await self._timer.wait(pause, news=False)

    async def _run_connection(self) -> tuple[DoorwardError, bool]:
        """Run one connection to its end and return how it ended."""
        self._ended, self._lists_stale, self._check_requested = None, False, False
        self._attempt += 1
        self._timer.reset()
        began = self._clock.steady()
        session = Session(self._config.id, self, self.discretion, sampling=self._config.sampling)
        try:
            try:
                async with asyncio.timeout(self._config.start_seconds):
                    await self._open_session(session)
            except TimeoutError:
                return self._start_timeout_error(), False
            self.session = session
            self.counters.up_since = self._clock.now()
            self._set_state("ready", "")
            began = self._clock.steady()
            error, again = await self._watch_session(session)
            self._set_state("waiting", error.message)  # no longer ready while it shuts down
            return error, again
        except DoorwardError as error:
            # The reason for the end of the connection says more than the error of a single request.
            return self._end_reason() or (self.discretion.mask_error(error), False)
        except OSError as error:
            return Unreachable(f"The server {self._config.id} cannot be reached: {error.strerror or error}."), False
        except Exception:
            log.exception("the supervisor of an upstream server raised an exception")
            return Unreachable(DEFECT), False
        finally:
            self._ended_attempt = self._attempt
            self.session, self.counters.up_since, self._subscription = None, None, None
            self.counters.faults += session.faults
            if self._clock.steady() - began >= _STABLE_SECONDS:
                self._backoff.reset()
            await session.close()

    async def _open_session(self, session: Session) -> None:
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
        everything = await fetch_lists(session, info.capabilities, within=within, most=self._most)
        self.info = info
        self._store_lists(everything)
        self._subscription = listening = ChangeSubscription(session, info.capabilities, self._subscription_ended)
        await listening.open(self.subscribed)

    async def _watch_session(self, session: Session) -> tuple[DoorwardError, bool]:
        """Watch a connection until it ends: relist on changes, and ping."""
        missed = 0
        every = self._config.ping_seconds
        while (end := self._end_reason()) is None:
            if self._lists_stale:
                await self._timer.wait(self._relist_pause, news=False)
                if not session.over:
                    await self._relist(session)
                continue
            if self._check_requested and not session.pending_calls:
                self._check_requested = False
                if not await self._is_alive(session, _LONGEST_PING) and not session.over:
                    return Unreachable(f"The server {self._config.id} answers neither calls nor pings."), False
            if not await self._timer.wait(every if every > 0 else 3_600.0) or every <= 0 or session.over:
                continue
            if session.pending_calls or session.heard:
                session.heard = False
                missed = 0
            elif await self._is_alive(session, min(every, _LONGEST_PING)):
                missed = 0
            else:
                missed += 1
                if missed >= _MAX_MISSED_PINGS and not session.over:
                    return Unreachable(f"The server {self._config.id} did not answer {missed} pings."), False
        return end

    def _end_reason(self) -> tuple[DoorwardError, bool] | None:
        return self._ended

    async def _is_alive(self, session: Session, within: float) -> bool:
        """Whether it is alive. An error response counts as alive. The newer version has no ping."""
        try:
            await session.request("server/discover" if session.is_stateless else "ping", {}, within=within)
        except ServerError:
            return True
        except DoorwardError as error:
            self.log.add("ping", error.message)
            return False
        return True

    async def _relist(self, session: Session) -> None:
        self._lists_stale = False
        began = time.monotonic()
        within = self._config.start_seconds
        try:
            async with asyncio.timeout(within):
                everything = await fetch_lists(session, self.info.capabilities, within=within, most=self._most)
        except (DoorwardError, TimeoutError) as error:
            if not session.over:
                late = f"The server {self._config.id} did not list everything within {within:g} seconds."
                sentence = error.message if isinstance(error, DoorwardError) else late
                self.log.add("list", sentence)
                self.counters.record_error(sentence, self._clock.now())
        else:
            if self._store_lists(everything):
                call_listener(self._on_change)
            if self._subscription is not None and self._subscription.over:
                self._subscription.renew()
        self._relist_pause = max(_COMBINE_SECONDS, _RELIST_FACTOR * (time.monotonic() - began))

    def _store_lists(self, everything: ServerLists) -> bool:
        """Store the lists and return whether they changed. An unchanged tool list stays the same object."""
        if everything == self.lists:
            return False
        for remark in everything.remarks:
            if remark not in self.lists.remarks:
                self.log.add("list", remark)
        if everything.tools == self.lists.tools:
            everything = msgspec.structs.replace(everything, tools=self.lists.tools)
        self.lists = everything
        return True

    def _subscription_ended(self) -> None:
        """The subscription stream ended: list everything again, then reopen it."""
        self.changed("everything")

    def _set_state(self, state: ServerState, problem: str) -> None:
        self.state, self.problem = state, problem
        watching, self._state_waiters = self._state_waiters, []
        for one in watching:
            if not one.done():
                one.set_result(None)
        call_listener(self._on_change)

    async def _wait_for_state(self) -> None:
        one: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._state_waiters.append(one)
        await one

    def unavailable_error(self) -> Unreachable:
        """The error that says why it is not available and, if known, when the next attempt is."""
        id = self._config.id
        if self.state == "disabled":
            return Unreachable(f"The server {id} is disabled.", hint=f"Enable it: doorward servers enable {id}")
        if self.state == "stopped":
            return Unreachable(f"The server {id} is not running.")
        if self.state == "starting":
            return still_starting_error(id, self.problem)
        left = max(math.ceil(self._retry_at - self._clock.steady()), 1)
        sentence = with_server_name(id, f"{self.problem.rstrip('.')}. The next attempt is in {format_seconds(left)}.")
        return Unreachable(sentence, retry_after=float(left))

    def _start_timeout_error(self) -> Unreachable:
        seconds = self._config.start_seconds
        return Unreachable(
            f"The server {self._config.id} did not start within {seconds:g} seconds.",
            hint="If it needs longer to start, set a larger `startSeconds`.",
        )


def still_starting_error(id: str, problem: str = "") -> Unreachable:
    """The error for a server that is starting, with its previous problem."""
    return Unreachable(
        f"The server {id} is still starting.{f' {problem}' if problem else ''}", retry_after=_RETRY_SECONDS
    )
