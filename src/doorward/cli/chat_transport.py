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

import msgspec

from doorward.cli.local_client import connect, error_from_response
from doorward.client import owner_socket
from doorward.client.effects import NoResponse, Send
from doorward.client.owner_socket import OwnerResponse
from doorward.config.home import Home, HomeLock
from doorward.core.errors import DoorwardError, Unreachable
from doorward.core.model import Outcome
from doorward.core.strictjson import DECODE_ERRORS
from doorward.doors.terminal.messages import ROOM_OF_FOLDER_PATH, TerminalRequest

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

    async def find_room(self, folder: str) -> str:
        """Return the room whose workspace contains a folder; empty if there is none."""
        send = Send(method="GET", path=ROOM_OF_FOLDER_PATH, query={"folder": folder})
        return str((await self._send(send))["room"])

    async def send_typing(self, room: str) -> None:
        """Send a typing indicator. Failures are ignored."""
        with contextlib.suppress(DoorwardError):
            await self._post(f"/api/rooms/{quote(room, safe='')}/typing", b"")

    async def follow_room(self, room: str, since: str) -> AsyncIterator[RoomEvent]:
        """Yield the room's events after the cursor `since`, until the connection ends."""
        send = Send(method="GET", path="/api/console/stream", query={"room": room, "since": since}, listen=True)
        async with self._open_response(send) as response:
            if not response.is_event_stream:
                raise _error_from_body(msgspec.json.decode((await response.read()).body))
            async for event in response.events():
                if event.data:
                    yield RoomEvent(event.name, msgspec.json.decode(event.data), event.id)

    async def _post(self, path: str, body: bytes) -> Any:
        return await self._send(Send(method="POST", path=path, body=body))

    async def _send(self, send: Send) -> Any:
        async with self._open_response(send) as response:
            whole = (await response.read()).body
            answer = msgspec.json.decode(whole) if whole else {}
        if "error" in answer:
            raise error_from_response(answer["error"])
        return answer

    @contextlib.asynccontextmanager
    async def _open_response(self, send: Send) -> AsyncGenerator[OwnerResponse, None]:
        """Send one request on its own connection. A response that cannot be read or decoded raises Unreachable."""
        try:
            async with owner_socket.open_response(await self.open_connection(), send) as response:
                yield response
        except (NoResponse, *DECODE_ERRORS) as error:
            raise _no_answer_error(error) from error


def _error_from_body(answer: dict[str, Any]) -> DoorwardError:
    if "error" in answer:
        return error_from_response(answer["error"])
    return error_from_response(
        {"code": answer.get("code", ""), "message": answer.get("detail", ""), "hint": answer.get("hint", "")}
    )


def _no_answer_error(error: Exception) -> Unreachable:
    """Return the error for a server that gave no usable answer."""
    return Unreachable(f"Doorward did not answer: {error}.", hint="To see whether it ran: doorward audit tail")
