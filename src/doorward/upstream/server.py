"""One upstream server: its state, what it offers, and calls to it."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Mapping
from typing import Any

from doorward.clock import Clock
from doorward.command import shortened
from doorward.errors import NotPermitted, TimedOut, Unreachable
from doorward.upstream import rounds
from doorward.upstream.alarm import SetTimer
from doorward.upstream.answering import Hooks, Result
from doorward.upstream.breaker import Breaker
from doorward.upstream.config import ServerConfig
from doorward.upstream.connection import Connect, Unsent
from doorward.upstream.definition import Definition
from doorward.upstream.life import Life, State
from doorward.upstream.negotiating import Info
from doorward.upstream.session import Said, seconds
from doorward.upstream.stats import Statistics

MOST_ENTRIES = 2_000
"""Limit on tools, resources and prompts of one server, each."""
_SOON = 2.0
"""Seconds until it is known whether a server is still there after a failed call."""


class Server:
    """Supervises and calls one server. `on_change` is called when its state, problem or offer changes.

    `chance` (the jitter) and `timer` are for tests.
    """

    def __init__(
        self,
        config: ServerConfig,
        connect: Connect,
        clock: Clock,
        on_change: Callable[[Server], None],
        *,
        most: int = MOST_ENTRIES,
        chance: Callable[[], float] = random.random,
        timer: SetTimer | None = None,
    ) -> None:
        self.config = config
        self.id = config.id
        self._on_change = on_change
        self._breaker = Breaker(clock)
        self._life = Life(config, connect, clock, self._changed, most=most, chance=chance, timer=timer)
        self._counters = self._life.counters
        self._clock = clock
        self._compared: tuple[Definition, ...] | None = None
        self._digests: dict[str, str] = {}

    def start(self) -> None:
        """Start to connect, without waiting."""
        self._life.start()

    async def stop(self) -> None:
        """Stop it; no process or task is left."""
        await self._life.stop()

    @property
    def state(self) -> State:
        return self._life.state

    @property
    def problem(self) -> str:
        """A sentence that says why it is not ready or, when it is ready, what was left out."""
        return self._life.problem or " ".join(self._life.listed.remarks)

    def absence(self) -> Unreachable:
        """The error that says why it is not available."""
        return self._life.absence()

    @property
    def retry_seconds(self) -> float | None:
        """Seconds until the next attempt; None when none is scheduled."""
        return self._life.retry_seconds

    @property
    def info(self) -> Info:
        return self._life.info

    @property
    def definitions(self) -> tuple[Definition, ...]:
        """Its tools as last listed. An unchanged list stays the same object."""
        return self._life.listed.tools

    @property
    def resources(self) -> tuple[dict[str, Any], ...]:
        return self._life.listed.resources

    @property
    def resource_templates(self) -> tuple[dict[str, Any], ...]:
        return self._life.listed.resource_templates

    @property
    def prompts(self) -> tuple[dict[str, Any], ...]:
        return self._life.listed.prompts

    @property
    def log(self) -> tuple[str, ...]:
        """Its recent log lines, oldest first."""
        return self._life.journal.lines()

    @property
    def confinement(self) -> str:
        """The sandbox level of its process; empty without a process."""
        session = self._life.session
        return session.connection.confinement if session is not None else ""

    def stats(self) -> Statistics:
        session = self._life.session
        shown = self._counters.shown(session.connection.process if session is not None else None)
        return shown if session is None else shown.with_faults(session.faults)

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        hooks: Hooks | None,
        timeout: float,  # noqa: ASYNC109 - the server is told when it is up
        *,
        digest: str | None = None,
    ) -> Result:
        """Call a tool. Raises Unreachable, TimedOut or CommandFailed with a plain message.

        `digest` identifies the approved definition. The server may have been replaced while the call waited for it, so
        the digest is compared with the tools listed over the connection that carries the call; NotPermitted when they
        differ. None skips the check.
        """
        answer = await self._asked("tools/call", {"name": tool, "arguments": arguments}, hooks, timeout, digest)
        content = answer.get("content", [])
        if type(content) is not list:
            raise Unreachable(f"The server {self.id} answered the call of {tool} without a list of `content`.")
        for place, block in enumerate(content):
            if type(block) is not dict or type(block.get("type")) is not str:
                raise Unreachable(
                    f"The server {self.id} answered the call of {tool} with an invalid `content`: entry {place} must be"
                    f" an object with a `type`; given {_told(block)}."
                )
        return Result(
            content=content, structured=answer.get("structuredContent"), is_error=answer.get("isError") is True
        )

    async def read(self, uri: str, hooks: Hooks | None = None) -> dict[str, Any]:
        """Read a resource; returns the result as received."""
        return await self._asked("resources/read", {"uri": uri}, hooks, self.config.timeout_seconds)

    async def prompt(self, name: str, arguments: Mapping[str, Any], hooks: Hooks | None = None) -> dict[str, Any]:
        """Get a prompt; returns the result as received."""
        params = {"name": name, "arguments": arguments}
        return await self._asked("prompts/get", params, hooks, self.config.timeout_seconds)

    async def complete(
        self, ref: Mapping[str, Any], argument: Mapping[str, Any], context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Complete an argument of a prompt or resource template; returns the result as received."""
        params: dict[str, Any] = {"ref": ref, "argument": argument}
        if context is not None:
            params["context"] = context
        return await self._asked("completion/complete", params, None, self.config.timeout_seconds)

    async def subscribe(self, uris: frozenset[str]) -> None:
        """Subscribe to exactly these resources."""
        await self._life.subscribe(uris)

    def on_update(self, told: Callable[[str], None]) -> Callable[[], None]:
        """Call `told` with the URI of each updated resource. Call the returned function to unsubscribe."""
        self._life.updates.append(told)
        return lambda: self._life.updates.remove(told)

    async def _asked(
        self,
        method: str,
        params: Mapping[str, Any],
        hooks: Hooks | None,
        within: float,
        digest: str | None = None,
    ) -> dict[str, Any]:
        counters, life = self._counters, self._life
        counters.calls += 1
        began = time.perf_counter()
        try:
            if blocked := self._breaker.blocked():
                raise Unreachable(
                    f"The server {self.id} did not answer its last calls; the next attempt is in"
                    f" {seconds(math.ceil(blocked))}.",
                    retry_after=float(math.ceil(blocked)),
                )
            answer = await self._sent(method, params, hooks, within, digest)
        except Said:
            self._breaker.succeeded()
            raise
        except TimedOut as error:
            counters.timeouts += 1
            if self._breaker.failed():
                self._life.doubt()
            self._went_wrong(error.message)
            raise
        except Unreachable as error:
            self._breaker.undecided()
            if self.config.transport == "http" and life.session is not None and not life.session.over:
                life.doubt()  # over HTTP, only a request reveals that a server is gone
                if error.retry_after is None:
                    error.retry_after = _SOON
            self._went_wrong(error.message)
            raise
        except BaseException:
            self._breaker.undecided()
            raise
        self._breaker.succeeded()
        counters.took(time.perf_counter() - began)
        return self._life.discretion.hiding(answer)

    async def _sent(
        self, method: str, params: Mapping[str, Any], hooks: Hooks | None, within: float, digest: str | None
    ) -> dict[str, Any]:
        """Send a request, and retry once when the server certainly did not process it."""
        life, sampling = self._life, self.config.sampling
        session = life.session
        if session is None or session.over:
            session = await life.ready(within)
        if digest is not None:
            self._still(params["name"], digest)
        try:
            return await rounds.request(session, method, params, within=within, hooks=hooks, sampling=sampling)
        except Unsent:
            session = await life.ready(within)
            if digest is not None:
                self._still(params["name"], digest)
            return await rounds.request(session, method, params, within=within, hooks=hooks, sampling=sampling)

    def _still(self, tool: str, digest: str) -> None:
        """Refuse a call to a tool that the connected server does not offer in its approved form."""
        tools = self._life.listed.tools
        if tools is not self._compared:
            self._compared, self._digests = tools, {one.name: one.digest for one in tools}
        if self._digests.get(tool) != digest:
            raise NotPermitted(
                f"The server {self.id} no longer has the tool {tool} in the approved form, so it was not called.",
                hint=f"See what changed: doorward servers approve {self.id}",
            )

    def _changed(self) -> None:
        if self._life.state != "ready":
            self._breaker.succeeded()  # a new process or connection starts without failures
        self._on_change(self)

    def _went_wrong(self, sentence: str) -> None:
        self._counters.failures += 1
        self._counters.went_wrong(sentence, self._clock.now())


def _told(block: Any) -> str:
    """Describe an invalid block briefly."""
    return (
        f"an object with {', '.join(map(repr, list(block)[:5])) or 'nothing in it'}"
        if type(block) is dict
        else (shortened(block))
    )
