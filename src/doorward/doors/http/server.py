"""The HTTP server on the public address and the owner's socket, with limits and a graceful shutdown."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import resource
import signal
import socket
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterator

import uvicorn
from starlette.types import ASGIApp
from uvicorn.server import ServerState

from doorward.config.settings import ServerSettings
from doorward.core.byte_budget import ByteBudget
from doorward.doors.http.applications import HttpApplications
from doorward.doors.http.connection import ServerConnection
from doorward.doors.http.public_address import TrustedProxies
from doorward.gate.executions.registry import ExecutionRegistry
from doorward.rooms.people import OWNER

_GC_THRESHOLDS = 50_000, 20, 100
"""With Python's defaults a collection starts every few calls and takes about a tenth of their time."""


def tune_garbage_collection() -> None:
    """Exclude start-up objects from garbage collection, and collect less often. Call this once the server is open.

    Start-up objects live as long as the process, so scanning them is wasted work. Reference counting already frees
    nearly everything that a call leaves behind.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_GC_THRESHOLDS)


SOCKETS = 2
"""The public address and the owner's socket."""
RESERVED_SHARE = 8
"""One in this many places of a door is reserved for authenticated clients."""
_TURNS_AT_ONCE = 8
"""Pipelined requests that are started in one iteration of the event loop."""
_RESERVED_FILES = 1_024
"""Files reserved for everything else: the database, helper processes, logs, other doors."""


def raise_file_limit(connections: int) -> tuple[int, str]:
    """Raise the limit on open files for `connections` on each socket.

    Returns how many connections each socket can have, and a warning when that is fewer. Without this limit, many
    connections could use up the files that the database and the sandbox need.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = SOCKETS * connections + _RESERVED_FILES
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return connections, ""
    allowed = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    if allowed > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    if allowed >= needed:
        return connections, ""
    most = max(allowed // 2, allowed - _RESERVED_FILES) // SOCKETS
    return most, (
        f"This account may open only {allowed} files, so each socket accepts {most} connections instead of "
        f"{connections}. To allow all of them, run `ulimit -Hn {needed}` before you start Doorward."
    )


log = logging.getLogger(__name__)


class ServerConnections(ServerState):
    """All connections of one socket. `most` is below the setting when the process may open too few files."""

    def __init__(self, limits: ServerSettings, most: int, budget: ByteBudget, owner: Hashable | None = None) -> None:
        """`owner` is the caller of every request, on a socket that only one account can open."""
        super().__init__()
        self.limits = limits
        self.max_connections = most
        self.budget = budget
        self.owner = owner
        self.proxies = TrustedProxies(limits.trusted_proxies)
        self.largest_body = min(limits.largest_body, budget.total - budget.total // 8, budget.each)
        self.strangers: dict[ServerConnection, None] = {}
        """Connections without an authenticated request so far, oldest first."""
        self._turns: deque[ServerConnection] = deque()
        """Connections that wait to go on with pipelined requests."""
        self._next_turns: asyncio.Handle | None = None
        self.closed_reasons: Counter[str] = Counter()
        """Why connections were closed since the last check, counted by reason."""

    def admit(self, connection: ServerConnection) -> bool:
        """Whether a new connection gets a place. Strangers give way to it, idle ones first, oldest first."""
        is_full = len(self.connections) >= self.max_connections
        most_strangers = self.max_connections - self.max_connections // RESERVED_SHARE
        if self.strangers and (is_full or len(self.strangers) >= most_strangers):
            next((one for one in self.strangers if one.is_idle), next(iter(self.strangers))).evict()
        elif is_full:
            return False
        if self.owner is None:
            self.strangers[connection] = None
        return True

    def queue_turn(self, connection: ServerConnection) -> None:
        """Let a connection go on with its pipelined requests when it is its turn.

        Only a few connections do so in each iteration of the event loop, so that other clients do not wait for
        thousands of pipelined requests.
        """
        self._turns.append(connection)
        if self._next_turns is None:
            self._next_turns = asyncio.get_running_loop().call_soon(self._give_turns)

    def _give_turns(self) -> None:
        for _ in range(min(len(self._turns), _TURNS_AT_ONCE)):
            self._turns.popleft().take_turn()
        self._next_turns = asyncio.get_running_loop().call_soon(self._give_turns) if self._turns else None

    def sweep(self, now: float) -> None:
        """Close connections that exceed a time limit. Many closed at once make one log line."""
        for connection in list(self.connections):
            if isinstance(connection, ServerConnection):
                connection.check_timeouts(now)
        if self.closed_reasons:
            reasons = ", ".join(f"{count} x {code}" for code, count in sorted(self.closed_reasons.items()))
            self.closed_reasons.clear()
            log.warning("closed connections: %s", reasons)

    def close_connections(self, *, all_of_them: bool) -> None:
        """At shutdown, close the connections that still stream, or all of them."""
        for connection in list(self.connections):
            if isinstance(connection, ServerConnection) and (all_of_them or connection.is_streaming):
                connection.disconnect()


_SHUTDOWN_SECONDS = 5
"""Seconds that open connections have at shutdown."""
_DRAIN_SECONDS = 1.0
"""Seconds that running calls have to finish at shutdown before they are cancelled."""
_FLUSH_SECONDS = 0.3
"""Seconds to send the last answers after all calls have ended."""
_TICKS_PER_SECOND = 10
"""uvicorn ticks ten times a second; connections are checked once a second."""


class _Listener(uvicorn.Server):
    """A uvicorn server that leaves signals to us, because two share this process, and reports when it is up."""

    def __init__(self, config: uvicorn.Config, connections: ServerConnections) -> None:
        super().__init__(config)
        self.server_state = self.connections = connections
        self.up = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.up.set()

    async def on_tick(self, counter: int) -> bool:
        if counter % _TICKS_PER_SECOND == 0:
            self.connections.sweep(asyncio.get_running_loop().time())
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        loop = asyncio.get_running_loop()
        last = loop.call_later(_SHUTDOWN_SECONDS - 1, lambda: self.connections.close_connections(all_of_them=True))
        try:
            await super().shutdown(sockets)
        finally:
            last.cancel()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def stop_on_signals(stopping: asyncio.Event) -> None:
    """Set `stopping` on SIGINT, SIGTERM and SIGHUP.

    SIGHUP stays ignored under `nohup`, so that the server outlives the terminal.
    """
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            loop.add_signal_handler(number, stopping.set)


async def serve(
    server: HttpApplications,
    public: socket.socket | None,
    private: socket.socket,
    stopping: asyncio.Event,
    ready: Callable[[], None],
    most: int | None = None,
) -> None:
    """Serve both sockets, or only the owner's, until `stopping` is set.

    `most` limits the connections of each socket when the settings' number is too high for this process.
    """
    limits = server.settings
    doors: list[tuple[ASGIApp, socket.socket]] = [(server.private, private)]
    if public is not None:
        doors.insert(0, (server.public, public))
    most = limits.connections if most is None else most
    owners = [None if app is server.public else OWNER for app, _ in doors]
    held = [ServerConnections(limits, most, server.budget, owner) for owner in owners]
    listeners = [_create_listener(app, some) for (app, _), some in zip(doors, held, strict=True)]
    async with asyncio.TaskGroup() as tasks:
        for listener, (_, sock) in zip(listeners, doors, strict=True):
            tasks.create_task(listener.serve(sockets=[sock]))
        for listener in listeners:
            await listener.up.wait()
        ready()
        await stopping.wait()
        for listener in listeners:
            listener.should_exit = True
        server.mcp.stop()
        await _drain_calls(server.executions)
        for connections in held:
            connections.close_connections(all_of_them=False)


async def _drain_calls(calls: ExecutionRegistry) -> None:
    """Wait for calls to end, cancel the rest, and leave time to send their answers.

    Endless streams, such as the event stream, wait for no call, so they are closed almost at once.
    """
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_DRAIN_SECONDS):
            for call in list(calls):
                await call.wait_closed()
    await calls.cancel_all("the end of Doorward", _SHUTDOWN_SECONDS - _DRAIN_SECONDS)
    await asyncio.sleep(_FLUSH_SECONDS)


def _create_listener(app: ASGIApp, connections: ServerConnections) -> _Listener:
    config = uvicorn.Config(
        app,
        interface="asgi3",
        http=ServerConnection,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )
    return _Listener(config, connections)
