"""One configured server, running or not, with its known tools."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from doorward.errors import TimedOut, Unreachable
from doorward.upstream.answering import Hooks, Result
from doorward.upstream.config import ServerConfig
from doorward.upstream.definition import Definition
from doorward.upstream.server import Server
from doorward.visible import visible

Make = Callable[[ServerConfig, Callable[[Server], None]], Server]
"""Creates a Server with a callback for changes."""

_LONGEST_NAME = 200
_GRACE = 1.0
_GOVERNING = ("name", "tier", "cost", "allow", "deny", "auto_approve", "tools", "timeout_seconds")
"""Fields that govern calls only, so that a change does not restart the server."""


class Upstream:
    def __init__(
        self,
        config: ServerConfig,
        make: Make,
        on_change: Callable[[Upstream], None],
        definitions: tuple[Definition, ...],
    ) -> None:
        self.config = config
        self.mark = _mark(config)
        """Hash of what runs: program, arguments, environment and sandbox. An approval holds for one mark only."""
        self.server = make(config, lambda _: on_change(self))
        self.definitions = definitions
        """The tools it listed last, possibly in an earlier process."""
        self.problems: tuple[str, ...] = ()
        """Clauses about problems with its tools."""
        self.listed: tuple[Definition, ...] | None = None
        """The last list of tools that was processed."""
        self.told: tuple[str, str] | None = None
        """The state and problem last reported."""
        self.since = 0.0
        """When that state began."""
        self.predecessor: asyncio.Task[None] | None = None
        """The shutdown of the previous server with this id, whose folder this one uses next."""
        self.over = False
        """Whether it was removed from the file or replaced."""
        self._waiting: list[asyncio.Future[None]] = []

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
    def said(self) -> str:
        """The problem without the server's name, for texts that name it already."""
        opening = f"The server {self.id} "
        if self.problem.startswith(opening):
            return f"It {self.problem.removeprefix(opening)}"
        return self.problem.removeprefix(f"Server {self.id}: ")

    @property
    def calls_itself(self) -> str:
        """Its own name and version, which are untrusted."""
        said = self.server.info.server
        words = [said[key] for key in ("name", "version") if isinstance(said.get(key), str)]
        return visible(" ".join(filter(None, words))[:_LONGEST_NAME], lines=False)

    async def call(
        self, definition: Definition, arguments: Mapping[str, Any], hooks: Hooks | None, seconds: float
    ) -> Result:
        """Call a tool in its approved form. A stopped server is started first."""
        server = self.server
        if server.state in ("stopped", "starting"):
            await self.up(seconds)
        if server.state == "starting":
            raise TimedOut(f"The server {self.id} did not become ready within {seconds:g} seconds.")
        return await server.call(definition.name, arguments, hooks, seconds, digest=definition.digest)

    async def begin(self) -> None:
        """Start it if it is stopped, after its predecessor has ended."""
        if self.predecessor is not None:
            await asyncio.wait([self.predecessor])
            self.predecessor = None
        if not self.over and self.server.state == "stopped":
            self.server.start()

    async def up(self, within: float = math.inf) -> None:
        """Start it if necessary, and wait until it is ready or has failed, within its time limit."""
        await self.begin()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(within, self.config.start_seconds + _GRACE)):
                while self.server.state == "starting":
                    waiting = asyncio.get_running_loop().create_future()
                    self._waiting.append(waiting)
                    await waiting

    def away(self) -> Unreachable | None:
        """The error that says why it is not available; None when it is ready or a call would start it."""
        if not self.config.enabled:
            why = f": {self.config.problem[:1].lower()}{self.config.problem[1:]}" if self.config.problem else "."
            hint = "" if self.config.problem else f"Enable it: doorward servers enable {self.id}"
            return Unreachable(f"The server {self.id} is disabled{why}", hint=hint)
        return None if self.server.state in ("ready", "stopped") else self.server.absence()

    def row(self, tenant: str) -> dict[str, Any]:
        """Its database row."""
        state, problem = self.told or ("", "")
        return {
            "id": self.id,
            "tenant": tenant,
            "name": self.config.name,
            "transport": self.config.transport,
            "origin": origin(self.config),
            "enabled": int(self.config.enabled),
            "state": state,
            "problem": problem,
            "since": self.since,
        }

    def changed(self) -> None:
        """Wake up tasks that wait for a state change."""
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            if not one.done():
                one.set_result(None)


def origin(config: ServerConfig) -> str:
    """A hash that identifies the server: its program or URL. It is hashed because it can contain a secret."""
    what = config.url if config.transport == "http" else config.command
    return hashlib.sha256(f"{config.transport}\n{what}".encode()).hexdigest()


def same_process(one: ServerConfig, other: ServerConfig) -> bool:
    """Whether two configurations agree in everything that a running server depends on."""
    return all(getattr(one, field) == getattr(other, field) for field in _what_runs())


def _mark(config: ServerConfig) -> str:
    parts = msgspec.to_builtins([getattr(config, field) for field in _what_runs()])
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _what_runs() -> list[str]:
    return [field for field in ServerConfig.__struct_fields__ if field not in _GOVERNING]
