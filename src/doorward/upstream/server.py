"""One upstream server, as the rest of the house knows it: its state, what it offers, and calls to it."""

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
"""How many tools, resources and prompts are taken of one server, each."""
_SOON = 2.0
"""Seconds in which it is known whether a server that failed a call is there at all."""


class Server:
    """`on_change` is told after the state, the problem or anything that is offered became another.

    `chance` and `timer` are for tests: how much of a wait is taken off, and who rings when it is over.
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
        """Begin to connect, without waiting for it."""
        self._life.start()

    async def stop(self) -> None:
        """End it; no process and no task of it is left."""
        await self._life.stop()

    @property
    def state(self) -> State:
        return self._life.state

    @property
    def problem(self) -> str:
        """Why it is not ready or, when it is, what of its offer was left out; as a sentence."""
        return self._life.problem or " ".join(self._life.listed.remarks)

    def absence(self) -> Unreachable:
        """Why it cannot be used now, while it is not ready."""
        return self._life.absence()

    @property
    def retry_seconds(self) -> float | None:
        """In how many seconds it is tried again; None when it does not wait for that."""
        return self._life.retry_seconds

    @property
    def info(self) -> Info:
        return self._life.info

    @property
    def definitions(self) -> tuple[Definition, ...]:
        """Its tools, as they were when it last said; the very same object for as long as they are the same."""
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
        """The last lines about it, oldest first."""
        return self._life.journal.lines()

    @property
    def confinement(self) -> str:
        """How well its process is held; empty when it has none."""
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
        """Call a tool. Unreachable, TimedOut and CommandFailed say in a sentence what went wrong.

        `digest` is of the definition that the call was let in for. Whoever waits for a server can find another one when
        it is back, so it is held against what the server offers over the very connection that the call is sent on:
        NotPermitted when it is not that. None where nobody was shown a definition.
        """
        answer = await self._asked("tools/call", {"name": tool, "arguments": arguments}, hooks, timeout, digest)
        content = answer.get("content", [])
        if type(content) is not list:
            raise Unreachable(f"The server {self.id} answered the call of {tool} without a list of `content`.")
        for place, block in enumerate(content):
            if type(block) is not dict or type(block.get("type")) is not str:
                raise Unreachable(
                    f"The server {self.id} answered the call of {tool} with a list of `content` in which entry {place}"
                    f" is no block, that is, an object with a `type`, but {_told(block)}."
                )
        return Result(
            content=content, structured=answer.get("structuredContent"), is_error=answer.get("isError") is True
        )

    async def read(self, uri: str, hooks: Hooks | None = None) -> dict[str, Any]:
        """The contents of a resource, as they came."""
        return await self._asked("resources/read", {"uri": uri}, hooks, self.config.timeout_seconds)

    async def prompt(self, name: str, arguments: Mapping[str, Any], hooks: Hooks | None = None) -> dict[str, Any]:
        """The messages of a prompt, as they came."""
        params = {"name": name, "arguments": arguments}
        return await self._asked("prompts/get", params, hooks, self.config.timeout_seconds)

    async def complete(
        self, ref: Mapping[str, Any], argument: Mapping[str, Any], context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """What could stand for an argument of a prompt, or of the address of a resource; as it came."""
        params: dict[str, Any] = {"ref": ref, "argument": argument}
        if context is not None:
            params["context"] = context
        return await self._asked("completion/complete", params, None, self.config.timeout_seconds)

    async def subscribe(self, uris: frozenset[str]) -> None:
        """Be told of changes of these resources and of no others, for as long as nothing else is said."""
        await self._life.subscribe(uris)

    def on_update(self, told: Callable[[str], None]) -> Callable[[], None]:
        """Tell of resources that changed, by their addresses; what is returned ends that."""
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
                    f"The server {self.id} did not answer its last calls; it is tried again in"
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
                life.doubt()  # over HTTP nothing but a request tells that a server is gone
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
        """Send it, and once more where the server certainly did nothing the first time."""
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
        """Refuse a call of what the server that is connected now does not offer, or not as it was."""
        tools = self._life.listed.tools
        if tools is not self._compared:
            self._compared, self._digests = tools, {one.name: one.digest for one in tools}
        if self._digests.get(tool) != digest:
            raise NotPermitted(
                f"The server {self.id} no longer has the tool {tool} as it was when this call was let in; nothing was"
                " called.",
                hint=f"See what changed: doorward servers approve {self.id}",
            )

    def _changed(self) -> None:
        if self._life.state != "ready":
            self._breaker.succeeded()  # whatever comes next is a new process or connection, which did nothing wrong yet
        self._on_change(self)

    def _went_wrong(self, sentence: str) -> None:
        self._counters.failures += 1
        self._counters.went_wrong(sentence, self._clock.now())


def _told(block: Any) -> str:
    """What somebody sent in place of a block, briefly."""
    return (
        f"an object with {', '.join(map(repr, list(block)[:5])) or 'nothing in it'}"
        if type(block) is dict
        else (shortened(block))
    )
