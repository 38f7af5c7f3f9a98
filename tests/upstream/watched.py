"""A server over a script and timers that ring when a test says so, with everything that it told of itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scripted import Scripted, Wire, turns

from doorward.upstream.config import ServerConfig
from doorward.upstream.resilience import Timer
from doorward.upstream.server import ServerClient

CONFIG = ServerConfig(id="it", name="it", ping_seconds=30.0, start_seconds=5.0, timeout_seconds=5.0)


class Timers:
    """Rings when a test says so."""

    def __init__(self, clock: Any) -> None:
        self._clock = clock
        self._set: list[tuple[float, Callable[[], None]]] = []

    def __call__(self, seconds: float, ring: Callable[[], None]) -> Timer:
        timer = (seconds, ring)
        self._set.append(timer)

        class Set:
            def cancel(_) -> None:
                self._set = [one for one in self._set if one is not timer]

        return Set()

    @property
    def waits(self) -> list[float]:
        return [seconds for seconds, _ in self._set]

    async def ring(self) -> None:
        """Let the time of the one timer that is set pass."""
        ((seconds, ring),) = self._set
        self._clock.advance(seconds)
        ring()
        await turns(20)


class Watched:
    """A server over a script, and everything that it told of itself."""

    def __init__(self, script: Scripted, clock: Any) -> None:
        self.script = script
        self.clock = clock
        self.timers = Timers(clock)
        self.states: list[str] = []
        self.server = self._made(CONFIG)

    def _made(self, config: ServerConfig) -> ServerClient:
        return ServerClient(
            config, self.script.connect, self.clock, self._told, most=10, chance=lambda: 0.0, timer=self.timers
        )

    def _told(self, server: ServerClient) -> None:
        self.states.append(server.state)

    @property
    def wire(self) -> Wire:
        return self.script.wire

    async def ready(self) -> ServerClient:
        self.server.start()
        await turns(20)
        assert self.server.state == "ready", self.server.problem
        return self.server

    async def call(self, within: float = 5.0) -> str:
        result = await self.server.call("a", {}, None, within)
        return str(result.content[0]["text"])
