"""The real listener inside the test, with an application of the test's own or a whole house behind it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from doorward.config.home import bind_private_socket, short_path
from doorward.config.settings import ServerSettings as Limits
from doorward.config.settings import Settings
from doorward.core.byte_budget import ByteBudget
from doorward.core.clock import Clock
from doorward.core.events import Bus
from doorward.doors.http.applications import HttpApplications
from doorward.doors.http.ports import listen
from doorward.doors.http.server import serve
from doorward.gate.executions.registry import ExecutionRegistry
from waiting import PATIENCE

App = Callable[[Any, Any, Any], Awaitable[None]]


class Answer(NamedTuple):
    status: int
    head: str
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """One connection, spoken to in raw bytes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, data: bytes) -> None:
        with contextlib.suppress(ConnectionError):
            self.writer.write(data)
            await self.writer.drain()

    async def answer(self) -> Answer:
        """The next answer on this connection, whole; its length is stated or it ends with the connection."""
        async with asyncio.timeout(PATIENCE):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            fields = dict(line.lower().split(": ", 1) for line in head.strip().splitlines()[1:])
            length = fields.get("content-length")
            body = await (self.reader.read() if length is None else self.reader.readexactly(int(length)))
        return Answer(int(head.split()[1]), head, body)

    async def rest(self) -> bytes:
        """All that comes until the server closes; a reset is a close too."""
        got = bytearray()
        async with asyncio.timeout(PATIENCE):
            with contextlib.suppress(ConnectionError):
                while piece := await self.reader.read(65_536):
                    got += piece
        return bytes(got)

    def hang_up(self) -> None:
        self.writer.transport.abort()


class Listening:
    """A server that listens on a free port of one address and on a socket."""

    def __init__(self, server: Any, public: socket.socket, path: Path, stopping: asyncio.Event) -> None:
        self.server = server
        self.host, self.port = public.getsockname()[:2]
        self.stopping = stopping
        self._path = path
        self._clients: list[Client] = []

    async def connect(self, *, takes: int = 0) -> Client:
        """A connection; `takes` is how many bytes its end holds that nobody has read, where that matters."""
        near = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)
        sock = socket.socket(socket.AF_INET6 if ":" in near else socket.AF_INET)
        sock.setblocking(False)
        if takes:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, takes)
        await asyncio.get_running_loop().sock_connect(sock, (near, self.port))
        return self._kept(await asyncio.open_connection(sock=sock))

    async def connect_private(self, limit: int = 65_536) -> Client:
        with short_path(self._path) as address:
            return self._kept(await asyncio.open_unix_connection(address, limit=limit))

    async def ask(self, request: bytes) -> Answer:
        """One request on a connection of its own."""
        client = await self.connect()
        try:
            await client.send(request)
            return await client.answer()
        finally:
            client.hang_up()

    def close(self) -> None:
        for client in self._clients:
            client.hang_up()

    def _kept(self, streams: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> Client:
        client = Client(*streams)
        self._clients.append(client)
        return client


@contextlib.asynccontextmanager
async def listening(server: Any, path: Path) -> AsyncIterator[Listening]:
    """Serve until the block ends; `path` is where the private socket goes."""
    stopping, up = asyncio.Event(), asyncio.Event()
    with (
        contextlib.closing(listen(server.settings.host, 0)) as public,
        contextlib.closing(bind_private_socket(path)) as private,
    ):
        serving = asyncio.create_task(serve(server, public, private, stopping, up.set))
        await up.wait()
        one = Listening(server, public, path, stopping)
        try:
            yield one
        finally:
            one.close()
            stopping.set()
            await asyncio.wait_for(serving, PATIENCE)


def bare(app: App, limits: Limits) -> Any:
    """What listens, with nothing behind it but one application."""
    executions = ExecutionRegistry(Clock(), Bus(), Settings())
    nobody_listens = SimpleNamespace(stop=lambda: None)
    budget = ByteBudget(limits.inflight_bytes, limits.inflight_bytes_each, limits.inflight_bytes_strangers)
    return SimpleNamespace(
        public=app, private=app, settings=limits, executions=executions, mcp=nobody_listens, budget=budget
    )


def house(driver: Any) -> HttpApplications:
    return HttpApplications(driver.house.gate, driver.house.services)


def post(path: str, body: Any, *fields: str) -> bytes:
    """A whole request with a JSON body."""
    text = json.dumps(body).encode()
    head = [f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json", *fields]
    return "\r\n".join([*head, f"Content-Length: {len(text)}", "", ""]).encode() + text


def get(path: str, *fields: str) -> bytes:
    return "\r\n".join([f"GET {path} HTTP/1.1", "Host: localhost", *fields, "", ""]).encode()
