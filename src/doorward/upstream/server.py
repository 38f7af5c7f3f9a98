"""One upstream server: its state, what it offers, and calls to it."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Mapping
from typing import Any

from doorward.core.clock import Clock
from doorward.core.command import shorten
from doorward.core.errors import NotPermitted, TimedOut, Unreachable
from doorward.upstream import input_required
from doorward.upstream.calls import CallHooks, ToolCallResult
from doorward.upstream.config import ServerConfig
from doorward.upstream.connection import Connect, NotProcessed
from doorward.upstream.negotiation import ServerInfo
from doorward.upstream.resilience import CircuitBreaker, SetTimer
from doorward.upstream.session import ServerError, format_seconds
from doorward.upstream.stats import ServerStatistics
from doorward.upstream.supervisor import ServerState, ServerSupervisor
from doorward.upstream.tool_definitions import ToolDefinition

MOST_ENTRIES = 2_000
"""Limit on tools, resources and prompts of one server, each."""
_RETRY_SECONDS = 2.0
"""Seconds until it is known whether a server is still there after a failed call."""


class ServerClient:
    """Supervises and calls one server. `on_change` is called when its state, problem or offer changes.

    `chance` (the jitter) and `timer` are for tests.
    """

    def __init__(
        self,
        config: ServerConfig,
        connect: Connect,
        clock: Clock,
        on_change: Callable[[ServerClient], None],
        *,
        most: int = MOST_ENTRIES,
        chance: Callable[[], float] = random.random,
        timer: SetTimer | None = None,
    ) -> None:
        self.config = config
        self.id = config.id
        self._on_change = on_change
        self._breaker = CircuitBreaker(clock)
        self._supervisor = ServerSupervisor(
            config, connect, clock, self._changed, most=most, chance=chance, timer=timer
        )
        self._counters = self._supervisor.counters
        self._clock = clock
        self._compared: tuple[ToolDefinition, ...] | None = None
        self._digests: dict[str, str] = {}

    def start(self) -> None:
        """Start to connect, without waiting."""
        self._supervisor.start()

    async def stop(self) -> None:
        """Stop it; no process or task is left."""
        await self._supervisor.stop()

    @property
    def state(self) -> ServerState:
        return self._supervisor.state

    @property
    def problem(self) -> str:
        """A sentence that says why it is not ready or, when it is ready, what was left out."""
        return self._supervisor.problem or " ".join(self._supervisor.lists.remarks)

    def unavailable_error(self) -> Unreachable:
        """The error that says why it is not available."""
        return self._supervisor.unavailable_error()

    @property
    def retry_seconds(self) -> float | None:
        """Seconds until the next attempt; None when none is scheduled."""
        return self._supervisor.retry_seconds

    @property
    def info(self) -> ServerInfo:
        return self._supervisor.info

    @property
    def definitions(self) -> tuple[ToolDefinition, ...]:
        """Its tools as last listed. An unchanged list stays the same object."""
        return self._supervisor.lists.tools

    @property
    def resources(self) -> tuple[dict[str, Any], ...]:
        return self._supervisor.lists.resources

    @property
    def resource_templates(self) -> tuple[dict[str, Any], ...]:
        return self._supervisor.lists.resource_templates

    @property
    def prompts(self) -> tuple[dict[str, Any], ...]:
        return self._supervisor.lists.prompts

    @property
    def log(self) -> tuple[str, ...]:
        """Its recent log lines, oldest first."""
        return self._supervisor.log.lines()

    @property
    def confinement(self) -> str:
        """The sandbox level of its process; empty without a process."""
        session = self._supervisor.session
        return session.connection.confinement if session is not None else ""

    def stats(self) -> ServerStatistics:
        session = self._supervisor.session
        shown = self._counters.snapshot(session.connection.process if session is not None else None)
        return shown if session is None else shown.with_faults(session.faults)

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        hooks: CallHooks | None,
        timeout: float,  # noqa: ASYNC109 - the server is told when it is up
        *,
        digest: str | None = None,
    ) -> ToolCallResult:
        """Call a tool. Raises Unreachable, TimedOut or CommandFailed with a plain message.

        `digest` identifies the approved definition. The server may have been replaced while the call waited for it, so
        the digest is compared with the tools listed over the connection that carries the call; NotPermitted when they
        differ. None skips the check.
        """
        answer = await self._request("tools/call", {"name": tool, "arguments": arguments}, hooks, timeout, digest)
        content = answer.get("content", [])
        if type(content) is not list:
            raise Unreachable(f"The server {self.id} answered the call of {tool} without a list of `content`.")
        for place, block in enumerate(content):
            if type(block) is not dict or type(block.get("type")) is not str:
                raise Unreachable(
                    f"The server {self.id} answered the call of {tool} with an invalid `content`: entry {place} must be"
                    f" an object with a `type`; given {_describe_block(block)}."
                )
        return ToolCallResult(
            content=content, structured=answer.get("structuredContent"), is_error=answer.get("isError") is True
        )

    async def read(self, uri: str, hooks: CallHooks | None = None) -> dict[str, Any]:
        """Read a resource; returns the result as received."""
        return await self._request("resources/read", {"uri": uri}, hooks, self.config.timeout_seconds)

    async def prompt(self, name: str, arguments: Mapping[str, Any], hooks: CallHooks | None = None) -> dict[str, Any]:
        """Get a prompt; returns the result as received."""
        params = {"name": name, "arguments": arguments}
        return await self._request("prompts/get", params, hooks, self.config.timeout_seconds)

    async def complete(
        self, ref: Mapping[str, Any], argument: Mapping[str, Any], context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Complete an argument of a prompt or resource template; returns the result as received."""
        params: dict[str, Any] = {"ref": ref, "argument": argument}
        if context is not None:
            params["context"] = context
        return await self._request("completion/complete", params, None, self.config.timeout_seconds)

    async def subscribe(self, uris: frozenset[str]) -> None:
        """Subscribe to exactly these resources."""
        await self._supervisor.subscribe(uris)

    def on_update(self, told: Callable[[str], None]) -> Callable[[], None]:
        """Call `told` with the URI of each updated resource. Call the returned function to unsubscribe."""
        self._supervisor.updates.append(told)
        return lambda: self._supervisor.updates.remove(told)

    async def _request(
        self,
        method: str,
        params: Mapping[str, Any],
        hooks: CallHooks | None,
        within: float,
        digest: str | None = None,
    ) -> dict[str, Any]:
        counters, life = self._counters, self._supervisor
        counters.calls += 1
        began = time.perf_counter()
        try:
            if blocked := self._breaker.seconds_blocked():
                raise Unreachable(
                    f"The server {self.id} did not answer its last calls; the next attempt is in"
                    f" {format_seconds(math.ceil(blocked))}.",
                    retry_after=float(math.ceil(blocked)),
                )
            answer = await self._send(method, params, hooks, within, digest)
        except ServerError:
            self._breaker.record_success()
            raise
        except TimedOut as error:
            counters.timeouts += 1
            if self._breaker.record_failure():
                self._supervisor.check_alive()
            self._record_failure(error.message)
            raise
        except Unreachable as error:
            self._breaker.abandon_attempt()
            if self.config.transport == "http" and life.session is not None and not life.session.over:
                life.check_alive()  # over HTTP, only a request reveals that a server is gone
                if error.retry_after is None:
                    error.retry_after = _RETRY_SECONDS
            self._record_failure(error.message)
            raise
        except BaseException:
            self._breaker.abandon_attempt()
            raise
        self._breaker.record_success()
        counters.record_duration(time.perf_counter() - began)
        return self._supervisor.discretion.mask_value(answer)

    async def _send(
        self, method: str, params: Mapping[str, Any], hooks: CallHooks | None, within: float, digest: str | None
    ) -> dict[str, Any]:
        """Send a request, and retry once when the server certainly did not process it."""
        life, sampling = self._supervisor, self.config.sampling
        session = life.session
        if session is None or session.over:
            session = await life.wait_ready(within)
        if digest is not None:
            self._check_digest(params["name"], digest)
        try:
            return await input_required.request_with_input(
                session, method, params, within=within, hooks=hooks, sampling=sampling
            )
        except NotProcessed:
            session = await life.wait_ready(within)
            if digest is not None:
                self._check_digest(params["name"], digest)
            return await input_required.request_with_input(
                session, method, params, within=within, hooks=hooks, sampling=sampling
            )

    def _check_digest(self, tool: str, digest: str) -> None:
        """Refuse a call to a tool that the connected server does not offer in its approved form."""
        tools = self._supervisor.lists.tools
        if tools is not self._compared:
            self._compared, self._digests = tools, {one.name: one.digest for one in tools}
        if self._digests.get(tool) != digest:
            raise NotPermitted(
                f"The server {self.id} no longer has the tool {tool} in the approved form, so it was not called.",
                hint=f"See what changed: doorward servers approve {self.id}",
            )

    def _changed(self) -> None:
        if self._supervisor.state != "ready":
            self._breaker.record_success()  # a new process or connection starts without failures
        self._on_change(self)

    def _record_failure(self, sentence: str) -> None:
        self._counters.failures += 1
        self._counters.record_error(sentence, self._clock.now())


def _describe_block(block: Any) -> str:
    """Describe an invalid block briefly."""
    return (
        f"an object with {', '.join(map(repr, list(block)[:5])) or 'nothing in it'}"
        if type(block) is dict
        else (shorten(block))
    )
