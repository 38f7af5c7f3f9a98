"""Answering on one public address and on the socket in the home folder, and an end in good order."""

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
"""Seconds that open connections are given at the end."""
_LAST_CALLS = 1.0
"""Seconds that calls are given at the end to come to theirs by themselves."""
_LAST_WORDS = 0.3
"""Seconds that answers are given to leave once no call runs any more."""
_TICKS = 10
"""The HTTP server looks around ten times a second; once a second is enough for connections."""


class _Listener(uvicorn.Server):
    """A server that leaves signals to us, since two of them share this process, and says when it is up."""

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
    """Let Ctrl-C, the usual signal for the end and the end of the terminal set `stopping`.

    Whoever started it with `nohup` wants it to outlive the terminal.
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
    """Answer on both sockets, or on the owner's alone, until `stopping` is set.

    `most` is how many connections each may hold, where that must be fewer than the settings say.
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
    """Let calls end, stop those that do not, and leave their answers a moment to go out.

    Streams without an end of their own, such as one of events, wait for no call and so end almost at once.
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
