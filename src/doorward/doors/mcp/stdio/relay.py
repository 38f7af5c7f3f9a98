"""The relay: carries messages between one MCP client and the current server process.

The server process can change in the middle of a session: a permanent server starts, or the current process ends or is
killed. The client does not notice, except that a call whose outcome is unknown is answered with an error.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from collections.abc import Awaitable, Callable

import msgspec

from doorward.core.errors import DoorwardError, Overloaded
from doorward.doors.mcp.stdio import frames, handshake
from doorward.doors.mcp.stdio.frames import LineSplitter
from doorward.doors.mcp.stdio.handshake import Hello
from doorward.doors.mcp.stdio.relay_state import RelayState
from doorward.doors.mcp.stdio.streams import StandardStreams

ConnectServer = Callable[[Hello], Awaitable[socket.socket]]
"""Finds the server process, or becomes it, and returns a connection after the handshake."""

_CHUNK = 65_536
_LARGEST_ANSWER = 256 * 1024 * 1024
_FIRST_MESSAGE_TIMEOUT = 1.0
"""Seconds to wait for the first message of a client that cannot be served, to answer it with the reason."""
_LAST_WORDS = 0.5
"""Seconds that open requests have after the client closed its end; then they are cancelled."""
_AT_ONCE = 0.1
"""If the input ends within this many seconds of the last request, the requests were piped in."""
_PIPED_TIMEOUT = 30.0
"""Seconds that open requests have after the end of the input, if they were piped in."""
_MAX_WAITING = 256
"""Most messages that are read ahead of a slow server process."""
_INTERRUPTED = "The call was interrupted: the Doorward process that ran it has ended or was replaced."
_CLOSED = "The call was cancelled, because the client has closed its end."
_HINT = "To see whether it changed anything, read the ledger: doorward audit tail"


class Relay:
    def __init__(self, streams: StandardStreams, wanted: Hello, reach: ConnectServer, stopping: asyncio.Event) -> None:
        """`stopping` is set from outside to end the session at once."""
        self._streams = streams
        self._wanted = wanted
        self._reach = reach
        self._state = RelayState()
        self._more = asyncio.Event()
        self._closed = asyncio.Event()
        self._piped = False
        self._over = False
        self._moving = False
        self._served = False
        self._held: list[bytes] = []
        self._fewer = asyncio.Event()
        self._stopping = stopping

    async def run(self) -> None:
        """Serve the client until it closes its end, can no longer be written to, or `stopping` is set."""
        working = [
            asyncio.ensure_future(work)
            for work in (self._serve(), self._wait_for_disconnect(), self._wait_for_stop(), self._wait_until_unread())
        ]
        reading = asyncio.ensure_future(self._read())
        try:
            done, _ = await asyncio.wait(working, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in (*working, reading):
                task.cancel()
            await asyncio.gather(*working, reading, return_exceptions=True)
            await self._streams.flush(_LAST_WORDS)

    async def _wait_for_stop(self) -> None:
        await self._stopping.wait()

    async def _wait_for_disconnect(self) -> None:
        await self._streams.gone.wait()

    async def _wait_until_unread(self) -> None:
        """Wait until a client that has closed its end stops reading."""
        await self._closed.wait()
        await self._streams.wait_until_unread(_LAST_WORDS)

    async def _serve(self) -> None:
        while not self._over:
            try:
                sock = await self._reach(msgspec.structs.replace(self._wanted, client=self._state.client))
            except DoorwardError as error:
                await self._refuse(error)
                if self._served and isinstance(error, Overloaded):
                    continue
                raise
            await self._carry_messages(sock)
            await self._report_lost()

    async def _carry_messages(self, sock: socket.socket) -> None:
        """Carry messages both ways until one end closes."""
        reader, writer = await asyncio.open_connection(sock=sock)
        self._moving = False
        ways = [
            asyncio.ensure_future(self._send_to_server(writer)),
            asyncio.ensure_future(self._send_to_client(reader)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for task in ways:
                if task.done():
                    task.result()
        finally:
            for task in ways:
                task.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _send_to_server(self, writer: asyncio.StreamWriter) -> None:
        memory = self._state
        with contextlib.suppress(ConnectionError):
            for frame in memory.replay_opening():
                writer.write(frame + b"\n")
            if self._served and memory.initialized:  # the tools may have changed meanwhile
                await self._streams.write(frames.notification("notifications/tools/list_changed") + b"\n")
            self._served = True
            while True:
                while memory.waiting:
                    frame = memory.waiting.popleft()
                    head = frames.peek(frame)
                    if self._moving and head.method and head.key is not None:
                        self._held.append(frame)
                    elif memory.record_sent(head, frame):
                        writer.write(frame + b"\n")
                await writer.drain()
                self._fewer.set()
                if self._moving and not memory.busy:
                    return
                if self._closed.is_set():
                    writer.write(memory.last_request() + b"\n")
                    await writer.drain()
                    await self._wait_for_last_answers()
                    self._over = True
                    return
                self._more.clear()
                await self._more.wait()

    async def _wait_for_last_answers(self) -> None:
        """Wait for the last answers after the client closed its end: briefly, or longer if its requests were piped
        in."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_PIPED_TIMEOUT if self._piped else _LAST_WORDS):
                while self._state.busy:
                    self._more.clear()
                    await self._more.wait()

    async def _send_to_client(self, reader: asyncio.StreamReader) -> None:
        lines = LineSplitter(_LARGEST_ANSWER)
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(_CHUNK):
                whole = bytearray()
                for line in lines.feed(data):
                    if line is None:
                        return
                    if line.startswith(handshake.CONTROL_PREFIX):
                        self._moving = self._moving or line == handshake.MOVING
                    elif self._state.record_received(frames.peek(line)):
                        whole += line + b"\n"
                if whole:
                    await self._streams.write(bytes(whole))
                self._more.set()

    async def _report_lost(self) -> None:
        """Answer the calls, and withdraw the questions, that ended with the server process."""
        self._state.waiting.extendleft(reversed(self._held))
        self._held.clear()
        calls, questions = self._state.take_lost()
        message = _CLOSED if self._over else _INTERRUPTED
        for asked in calls:
            said = frames.error(
                asked.id,
                frames.NOT_SERVED,
                message,
                status="failed",
                code="interrupted",
                effect="unknown",
                hint=_HINT,
            )
            await self._write_line(said)
        for id in questions:
            await self._write_line(
                frames.notification("notifications/cancelled", requestId=id, reason="The process that asked has ended.")
            )

    async def _refuse(self, error: DoorwardError) -> None:
        """Answer all waiting requests with the reason. Clients send the first one right after they start the relay."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_FIRST_MESSAGE_TIMEOUT):
                while not self._served and not self._state.waiting and not self._closed.is_set():
                    self._more.clear()
                    await self._more.wait()
        for id in self._state.take_unanswered():
            said = frames.error(
                id, frames.NOT_SERVED, error.message, status="refused", code=error.code, effect="none", hint=error.hint
            )
            await self._write_line(said)

    async def _read(self) -> None:
        """Read the client's messages. A line that cannot be a message is answered here."""
        lines = LineSplitter()
        clock = asyncio.get_running_loop().time
        came = clock()
        while True:
            data = await self._streams.read()
            before, came = came, clock()
            for line in lines.feed(data) if data else lines.flush():
                await self._take_line(line)
            if not data:
                self._piped = came - before < _AT_ONCE
                self._closed.set()
            self._more.set()
            if not data:
                return
            while len(self._state.waiting) + len(self._held) > _MAX_WAITING:
                self._fewer.clear()
                await self._fewer.wait()

    async def _take_line(self, line: bytes | None) -> None:
        if line is None:
            await self._write_line(frames.too_long())
        elif line.startswith(handshake.CONTROL_PREFIX):
            await self._write_line(frames.error(None, frames.PARSE_ERROR, "The line is not JSON: it begins with '#'."))
        elif line.strip():
            self._state.waiting.append(line.rstrip(b"\r"))

    async def _write_line(self, frame: bytes) -> None:
        await self._streams.write(frame + b"\n")


def print_note(text: str) -> None:
    """Print a message for people to stderr; clients show it in their log, if at all."""
    print(f"doorward: {text}", file=sys.stderr, flush=True)
