"""The HTTP server on the public address and the owner's socket, with a graceful shutdown."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable, Iterator

import uvicorn
from starlette.types import ASGIApp

from doorward.doors.connection import Connection
from doorward.doors.connections import Connections
from doorward.doors.http import Server
from doorward.executions.executions import Executions

_PATIENCE = 5
"""Seconds that open connections have at shutdown."""
_LAST_CALLS = 1.0
"""Seconds that running calls have to finish at shutdown before they are cancelled."""
_LAST_WORDS = 0.3
"""Seconds to send the last answers after all calls have ended."""
_TICKS = 10
"""uvicorn ticks ten times a second; connections are checked once a second."""


class _Listener(uvicorn.Server):
    """A uvicorn server that leaves signals to us, because two share this process, and reports when it is up."""

    def __init__(self, config: uvicorn.Config, connections: Connections) -> None:
        super().__init__(config)
        self.server_state = self.connections = connections
        self.up = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.up.set()

    async def on_tick(self, counter: int) -> bool:
        if counter % _TICKS == 0:
            self.connections.sweep(asyncio.get_running_loop().time())
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        loop = asyncio.get_running_loop()
        last = loop.call_later(_PATIENCE - 1, lambda: self.connections.leave(all_of_them=True))
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
    server: Server,
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
    held = [Connections(limits, limits.connections if most is None else most) for _ in doors]
    listeners = [_listener(app, some) for (app, _), some in zip(doors, held, strict=True)]
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
        await _end(server.calls)
        for connections in held:
            connections.leave(all_of_them=False)


async def _end(calls: Executions) -> None:
    """Wait for calls to end, cancel the rest, and leave time to send their answers.

    Endless streams, such as the event stream, wait for no call, so they are closed almost at once.
    """
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_LAST_CALLS):
            for call in list(calls):
                await call.closed()
    await calls.stop("the end of Doorward", _PATIENCE - _LAST_CALLS)
    await asyncio.sleep(_LAST_WORDS)


def _listener(app: ASGIApp, connections: Connections) -> _Listener:
    config = uvicorn.Config(
        app,
        interface="asgi3",
        http=Connection,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_PATIENCE,
    )
    return _Listener(config, connections)
