"""One configured server, running or not, with its known tools and its test connections."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from doorward.core.errors import TimedOut, Unreachable
from doorward.core.escape_invisible import escape_invisible
from doorward.upstream.calls import CallHooks, ToolCallResult
from doorward.upstream.config import ServerConfig
from doorward.upstream.server import ServerClient
from doorward.upstream.tool_definitions import ToolDefinition

MakeClient = Callable[[ServerConfig, Callable[[ServerClient], None]], ServerClient]
"""Creates a Server with a callback for changes."""

_LONGEST_NAME = 200
_GRACE = 1.0
_CALL_FIELDS = ("name", "tier", "cost", "allow", "deny", "auto_approve", "tools", "timeout_seconds")
"""Fields that govern calls only, so that a change does not restart the server."""


class Upstream:
    def __init__(
        self,
        config: ServerConfig,
        make: MakeClient,
        on_change: Callable[[Upstream], None],
        definitions: tuple[ToolDefinition, ...],
    ) -> None:
        self.config = config
        self.process_hash = _hash_process(config)
        """Hash of what runs: program, arguments, environment and sandbox. An approval holds for one mark only."""
        self.server = make(config, lambda _: on_change(self))
        self.definitions = definitions
        """The tools it listed last, possibly in an earlier process."""
        self.problems: tuple[str, ...] = ()
        """Clauses about problems with its tools."""
        self.listed: tuple[ToolDefinition, ...] | None = None
        """The last list of tools that was processed."""
        self.reported: tuple[str, str] | None = None
        """The state and problem last reported."""
        self.since = 0.0
        """When that state began."""
        self.predecessor: asyncio.Task[None] | None = None
        """The shutdown of the previous server with this id, whose folder this one uses next."""
        self.over = False
        """Whether it was removed from the file or replaced."""
        self._waiters: list[asyncio.Future[None]] = []

    @property
    def id(self) -> str:
        return self.config.id

    @property
    def state(self) -> str:
        return self.server.state if self.config.enabled else "disabled"

    @property
    def problem(self) -> str:
        """A sentence about its current problem; empty when there is none or it is disabled on purpose."""
        if not self.config.enabled:
            return self.config.problem
        words = [self.server.problem, *self.problems]
        return "; ".join(word.rstrip(".") for word in words if word) + "." if any(words) else ""

    @property
    def problem_without_name(self) -> str:
        """The problem without the server's name, for texts that name it already."""
        opening = f"The server {self.id} "
        if self.problem.startswith(opening):
            return f"It {self.problem.removeprefix(opening)}"
        return self.problem.removeprefix(f"Server {self.id}: ")

    @property
    def own_name(self) -> str:
        """Its own name and version, which are untrusted."""
        said = self.server.info.server
        words = [said[key] for key in ("name", "version") if isinstance(said.get(key), str)]
        return escape_invisible(" ".join(filter(None, words))[:_LONGEST_NAME], lines=False)

    async def call(
        self, definition: ToolDefinition, arguments: Mapping[str, Any], hooks: CallHooks | None, seconds: float
    ) -> ToolCallResult:
        """Call a tool in its approved form. A stopped server is started first."""
        server = self.server
        if server.state in ("stopped", "starting"):
            await self.start_and_wait(seconds)
        if server.state == "starting":
            raise TimedOut(f"The server {self.id} did not become ready within {seconds:g} seconds.")
        return await server.call(definition.name, arguments, hooks, seconds, digest=definition.digest)

    async def start(self) -> None:
        """Start it if it is stopped, after its predecessor has ended."""
        if self.predecessor is not None:
            await asyncio.wait([self.predecessor])
            self.predecessor = None
        if not self.over and self.server.state == "stopped":
            self.server.start()

    async def start_and_wait(self, within: float = math.inf) -> None:
        """Start it if necessary, and wait until it is ready or has failed, within its time limit."""
        await self.start()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(within, self.config.start_seconds + _GRACE)):
                while self.server.state == "starting":
                    waiting = asyncio.get_running_loop().create_future()
                    self._waiters.append(waiting)
                    await waiting

    def unavailable_error(self) -> Unreachable | None:
        """The error that says why it is not available; None when it is ready or a call would start it."""
        if not self.config.enabled:
            why = f": {self.config.problem[:1].lower()}{self.config.problem[1:]}" if self.config.problem else "."
            hint = "" if self.config.problem else f"Enable it: doorward servers enable {self.id}"
            return Unreachable(f"The server {self.id} is disabled{why}", hint=hint)
        return None if self.server.state in ("ready", "stopped") else self.server.unavailable_error()

    def row(self, tenant: str) -> dict[str, Any]:
        """Its database row."""
        state, problem = self.reported or ("", "")
        return {
            "id": self.id,
            "tenant": tenant,
            "name": self.config.name,
            "transport": self.config.transport,
            "origin": hash_origin(self.config),
            "enabled": int(self.config.enabled),
            "state": state,
            "problem": problem,
            "since": self.since,
        }

    def notify_waiters(self) -> None:
        """Wake up tasks that wait for a state change."""
        waiting, self._waiters = self._waiters, []
        for one in waiting:
            if not one.done():
                one.set_result(None)


def hash_origin(config: ServerConfig) -> str:
    """A hash that identifies the server: its program or URL. It is hashed because it can contain a secret."""
    what = config.url if config.transport == "http" else config.command
    return hashlib.sha256(f"{config.transport}\n{what}".encode()).hexdigest()


def same_process(one: ServerConfig, other: ServerConfig) -> bool:
    """Whether two configurations agree in everything that a running server depends on."""
    return all(getattr(one, field) == getattr(other, field) for field in _process_fields())


def _hash_process(config: ServerConfig) -> str:
    parts = msgspec.to_builtins([getattr(config, field) for field in _process_fields()])
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _process_fields() -> list[str]:
    return [field for field in ServerConfig.__struct_fields__ if field not in _CALL_FIELDS]


class ConnectionTest(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a test connection."""

    ok: bool
    problem: str
    calls_itself: str = ""
    protocol_version: str = ""
    tools: tuple[str, ...] = ()
    resources: int = 0
    prompts: int = 0
    log: tuple[str, ...] = ()


async def check_connection(config: ServerConfig, make: MakeClient) -> ConnectionTest:
    """Start a separate instance of a server, see what it offers, and stop it.

    This works for disabled servers too, so that people can test one before they enable it.
    """
    if config.lacks:
        return ConnectionTest(ok=False, problem=config.lacks)
    upstream = Upstream(msgspec.structs.replace(config, enabled=True), make, Upstream.notify_waiters, ())
    server = upstream.server
    try:
        await upstream.start_and_wait()
        return ConnectionTest(
            ok=server.state == "ready",
            problem=upstream.problem if server.state == "ready" else _failure_reason(upstream),
            calls_itself=upstream.own_name,
            protocol_version=server.info.protocol,
            tools=tuple(one.name for one in server.definitions),
            resources=len(server.resources) + len(server.resource_templates),
            prompts=len(server.prompts),
            log=server.log[-20:],
        )
    finally:
        await server.stop()


def _failure_reason(upstream: Upstream) -> str:
    """Why it is not ready. A silent server may not even have ended when its time is over."""
    seconds = upstream.config.start_seconds
    silent = (
        f"The server {upstream.id} did not start within {seconds:g} seconds. If it needs longer to start, set a larger"
        " startSeconds."
    )
    return upstream.problem or upstream.server.stats().last_error or silent
