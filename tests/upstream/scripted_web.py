"""A web server on this machine that answers as a test says, byte by byte where it matters."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, NamedTuple


class Asked(NamedTuple):
    """One request as it came."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def message(self) -> dict[str, Any]:
        return dict(json.loads(self.body))


class Reply:
    """Writes the answer to one request."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self.closes = False

    async def whole(self, status: int, body: Any = b"", **headers: str) -> None:
        """A complete answer: bytes as they are, anything else as JSON."""
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
            fields.setdefault("Content-Type", "application/json")
        lines = [f"HTTP/1.1 {status} -", f"Content-Length: {len(body)}", *(f"{k}: {v}" for k, v in fields.items())]
        await self.raw("\r\n".join(lines).encode() + b"\r\n\r\n" + body)

    async def stream(self, **headers: str) -> None:
        """The head of a stream of events, which `event` goes on with and `end` ends."""
        lines = [
            "HTTP/1.1 200 OK",
            "Content-Type: text/event-stream",
            "Transfer-Encoding: chunked",
            *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items()),
        ]
        await self.raw("\r\n".join(lines).encode() + b"\r\n\r\n")

    async def event(self, message: Any = None, **fields: str) -> None:
        text = "".join(f"{name}: {value}\n" for name, value in fields.items())
        text += f"data: {json.dumps(message)}\n\n" if message is not None else "\n"
        await self.raw(f"{len(text.encode()):x}\r\n{text}\r\n".encode())

    async def end(self) -> None:
        await self.raw(b"0\r\n\r\n")

    async def raw(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()


Answer = Callable[[Asked, Reply], Awaitable[None]]


class ScriptedWeb:
    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.asked: list[Asked] = []
        self.connections = 0
        self.hung_up = asyncio.Event()
        self.port = 0
        self.scheme = "http"
        self._visits: set[asyncio.Task[None]] = set()

    @property
    def root(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    async def visited(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._visits.add(task)
        left = _told_of_the_end(reader)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                method, path, _ = head[0].split(" ")
                fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
                body = await reader.readexactly(int(fields.get("content-length", 0)))
                asked, reply = Asked(method, path, fields, body), Reply(writer)
                self.asked.append(asked)
                answering = asyncio.ensure_future(self.answer(asked, reply))
                await asyncio.wait([answering, left], return_when=asyncio.FIRST_COMPLETED)
                if not answering.done():
                    self.hung_up.set()
                    answering.cancel()
                    return
                await answering
                if reply.closes:
                    return
        except (asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        except ConnectionError:
            self.hung_up.set()
        finally:
            self._visits.discard(task)
            writer.close()

    async def ended(self) -> None:
        for task in list(self._visits):
            task.cancel()
        await asyncio.gather(*self._visits, return_exceptions=True)


def _told_of_the_end(reader: asyncio.StreamReader) -> asyncio.Future[None]:
    """Done as soon as the client has hung up, whatever is read at that moment."""
    left: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    class Reader(asyncio.StreamReader):
        def feed_eof(self) -> None:
            super().feed_eof()
            if not left.done():
                left.set_result(None)

        def set_exception(self, error: Exception) -> None:
            super().set_exception(error)
            if not left.done():
                left.set_result(None)

    reader.__class__ = Reader
    return left


@contextlib.asynccontextmanager
async def scripted(answer: Answer, tls: ssl.SSLContext | None = None) -> AsyncIterator[ScriptedWeb]:
    web = ScriptedWeb(answer)
    server = await asyncio.start_server(web.visited, "127.0.0.1", 0, ssl=tls)
    web.port = server.sockets[0].getsockname()[1]
    web.scheme = "https" if tls is not None else "http"
    try:
        yield web
    finally:
        server.close()
        await web.ended()
        await server.wait_closed()
