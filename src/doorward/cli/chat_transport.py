"""Transport of `doorward chat`: runs commands and follows a room's event stream over the owner's socket.

Without a running server, this process runs an embedded one and connects to it, so every request uses the same door.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

import httptools
import msgspec

from doorward.cli.local_client import connect, error_from_response, read_body_lines
from doorward.config.home import Home, HomeLock
from doorward.core.errors import DoorwardError, Unreachable
from doorward.core.model import Outcome
from doorward.doors.terminal.messages import TerminalRequest

if TYPE_CHECKING:
    from doorward.cli.embedded_server import EmbeddedServer

_PATIENCE = 20.0
"""Seconds to wait for another process to release the home folder, or to answer."""
_POLL_SECONDS = 0.02


class RoomEvent(NamedTuple):
    """One event of a room's stream; `id` is the cursor to continue after it."""

    name: str
    data: dict[str, Any]
    id: str


class ChatTransport:
    def __init__(self, home: Home, stop: Callable[[], None]) -> None:
        """`stop` is called when a person asks the embedded server to shut down."""
        self._home = home
        self._stop = stop
        self._embedded: EmbeddedServer | None = None
        self._lock = HomeLock(home)

    @property
    def is_embedded(self) -> bool:
        """Whether the server is embedded in this process, and ends with it."""
        return self._embedded is not None and not self._embedded.is_stopping

    async def open_connection(self) -> socket.socket:
        """Connect to the running server, starting an embedded one if there is none."""
        self._home.create()
        deadline = time.monotonic() + _PATIENCE
        while True:
            if self._embedded is not None and (self._embedded.is_stopping or self._embedded.has_ended):
                await self._embedded.stop()
                self._embedded = None
            sock = connect(self._home)
            if sock is not None:
                return sock
            if self._embedded is None and self._lock.take():
                from doorward.cli import embedded_server  # noqa: PLC0415 - slow to import

                self._embedded = embedded_server.EmbeddedServer(self._home, self._lock, self._stop, head_start=0.0)
            if time.monotonic() > deadline:
                raise self._lock.busy_error()
            await asyncio.sleep(_POLL_SECONDS)

    async def close(self) -> None:
        if self._embedded is not None:
            await self._embedded.stop()

    async def ask(self, command: str, **params: Any) -> Outcome:
        """Run a command as the person at this terminal, outside rooms."""
        answer = await self._post("/api/run", msgspec.json.encode(TerminalRequest(command=command, params=params)))
        return msgspec.convert(answer, Outcome)

    async def send_typing(self, room: str) -> None:
        """Send a typing indicator. Failures are ignored."""
        with contextlib.suppress(DoorwardError):
            await self._post(f"/api/rooms/{quote(room, safe='')}/typing", b"")

    async def follow_room(self, room: str, since: str) -> AsyncIterator[RoomEvent]:
        """Yield the room's events after the cursor `since`, until the connection ends."""
        path = f"/api/console/stream?room={quote(room, safe='')}&since={quote(since, safe='')}"
        head = f"GET {path} HTTP/1.1\r\nHost: doorward\r\nAccept: text/event-stream\r\n\r\n"
        name = id = data = ""
        async with contextlib.aclosing(self._request_lines(head.encode())) as answered:
            async for line in answered:
                field, _, value = line.decode("utf-8", "replace").partition(": ")
                if field == "event":
                    name = value
                elif field == "id":
                    id = value
                elif field == "data":
                    data = value
                elif field.startswith("{"):  # an error body instead of an event stream
                    raise _error_from_body(msgspec.json.decode(line))
                elif not field and data:
                    yield RoomEvent(name, msgspec.json.decode(data), id)
                    name = id = data = ""

    async def _post(self, path: str, body: bytes) -> Any:
        head = (
            f"POST {path} HTTP/1.1\r\nHost: doorward\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        try:
            whole = b"\n".join([line async for line in self._request_lines(head.encode() + body)])
            answer = msgspec.json.decode(whole) if whole else {}
        except msgspec.DecodeError as error:
            raise no_answer_error(error) from error
        if "error" in answer:
            raise error_from_response(answer["error"])
        return answer

    async def _request_lines(self, asked: bytes) -> AsyncGenerator[bytes, None]:
        """Send one request on its own connection, and yield the lines of the response body."""
        reader, writer = await asyncio.open_unix_connection(sock=await self.open_connection())
        try:
            writer.write(asked)
            async for line in read_body_lines(reader):
                yield line
        except (OSError, httptools.HttpParserError) as error:
            raise no_answer_error(error) from error
        finally:
            writer.close()


def _error_from_body(answer: dict[str, Any]) -> DoorwardError:
    if "error" in answer:
        return error_from_response(answer["error"])
    return error_from_response(
        {"code": answer.get("code", ""), "message": answer.get("detail", ""), "hint": answer.get("hint", "")}
    )


def no_answer_error(error: Exception) -> Unreachable:
    """Return the error for a server that gave no usable answer."""
    return Unreachable(f"Doorward did not answer: {error}.", hint="To see whether it ran: doorward audit tail")
