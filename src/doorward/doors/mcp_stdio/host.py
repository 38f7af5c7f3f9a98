"""The server side of MCP over stdio: a socket for the owner only, with one connection per relay."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import Callable
from types import TracebackType

from doorward.backends.context import Services
from doorward.doors.mcp.door import McpDoor
from doorward.doors.mcp.peer import Peer
from doorward.doors.mcp_stdio import frames, hello
from doorward.doors.mcp_stdio.frames import Head, Lines
from doorward.doors.mcp_stdio.hello import Hello, Welcome
from doorward.errors import BadParams, DoorwardError, Overloaded
from doorward.gate.gate import Gate
from doorward.home import Home, listen_private
from doorward.model import Credential
from doorward.rooms.people import LOCAL

log = logging.getLogger(__name__)

NAMELESS = "agent"
"""The agent name of a client whose own name is not valid for an agent."""
_PIECE = 65_536
_LAST_WORDS = 0.3
"""Seconds that a client has to read the last answers when its connection ends."""
_FAREWELL = 1.0
"""Seconds that clients have to finish when the server stops; idle clients leave at once."""
_MOST_GUESTS = 256
_PERSON = Credential(owner=True)
"""The person at the client: the operating system allows only the owner on this socket."""


class Host:
    """Accepts relays while it is entered. The caller holds the home's lock."""

    def __init__(
        self, home: Home, gate: Gate, services: Services, door: McpDoor, hand_over: Callable[[], None] | None = None
    ) -> None:
        """`hand_over` is called when a permanent server asks for the home; without it the home is never handed over."""
        self._path = home.mcp_socket
        self._gate = gate
        self._services = services
        self._door = door
        self._hand_over = hand_over
        self._guests: dict[asyncio.Task[None], Guest | None] = {}
        self._listening: socket.socket | None = None
        self._accepting: asyncio.Task[None] | None = None
        self.heir: socket.socket | None = None
        """The connection of the permanent server that asked for the home, if one did."""

    async def __aenter__(self) -> Host:
        self._listening = listen_private(self._path)
        self._listening.setblocking(False)
        self._accepting = asyncio.create_task(self._accept(self._listening))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.leave(_FAREWELL)

    def own(self) -> socket.socket:
        """A connection for the MCP client of this process."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self._take_in(theirs)
        return ours

    async def leave(self, patience: float) -> None:
        """Accept no more clients, ask all to finish, and after `patience` seconds disconnect the rest."""
        if self._accepting is not None and self._listening is not None:
            self._accepting.cancel()
            await asyncio.gather(self._accepting, return_exceptions=True)
            self._path.unlink(missing_ok=True)
            self._listening.close()
            self._accepting = self._listening = None
        for guest in self._guests.values():
            if guest is not None:
                guest.say(hello.MOVING)
        if self._guests:
            await asyncio.wait(self._guests, timeout=patience)
        for task in self._guests:
            task.cancel()
        await asyncio.gather(*self._guests, return_exceptions=True)

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                sock, _ = await loop.sock_accept(listening)
            except OSError as error:  # no file descriptor is free; one may be later
                log.warning("cannot accept an MCP client: %s", error)
                await asyncio.sleep(0.1)
                continue
            self._take_in(sock)

    def _take_in(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        task = asyncio.create_task(self._attend(sock))
        self._guests[task] = None
        task.add_done_callback(self._gone)

    def _gone(self, task: asyncio.Task[None]) -> None:
        self._guests.pop(task, None)
        if not task.cancelled() and task.exception() is not None:
            log.error("the connection of an MCP client failed", exc_info=task.exception())

    async def _attend(self, sock: socket.socket) -> None:
        """Serve one connection. A server that asks for the home stays connected until the home is free."""
        loop = asyncio.get_running_loop()
        try:
            try:
                wanted = await hello.hear(sock)
                self._check(wanted)
            except DoorwardError as error:
                await loop.sock_sendall(sock, hello.line(hello.refusal(error)))
            else:
                if wanted.hand_over and self._hand_over is not None:
                    self.heir = sock
                    self._hand_over()
                else:
                    await loop.sock_sendall(sock, hello.line(Welcome(os.getpid())))
                    await self._receive(sock, wanted)
        except OSError:
            return  # the client has disconnected, or sent nothing
        finally:
            if sock is not self.heir:
                sock.close()

    async def _receive(self, sock: socket.socket, wanted: Hello) -> None:
        guest = Guest(self._door, self._credential, wanted)
        task = asyncio.current_task()
        if task is not None:
            self._guests[task] = guest
        await guest.stay(sock)

    def _check(self, wanted: Hello) -> None:
        """Refuse what would fail later, with the gate's own error."""
        if wanted.hand_over:
            if self._hand_over is None or self.heir is not None:
                raise Overloaded("A Doorward server is already running here, and does not hand over.")
            return
        if len(self._guests) > _MOST_GUESTS:
            raise Overloaded(f"{_MOST_GUESTS} MCP clients are already connected. Close one of them.")
        if not wanted.room:
            raise BadParams("An agent needs a room; name one with --room.")
        self._services.rooms.known(LOCAL, wanted.room)
        self._gate.caller(Credential(owner=True, speak_as=wanted.speak_as or NAMELESS))

    def _credential(self, wanted: Hello, head: Head) -> Credential:
        """The agent that the person named, or the client's own name, if it is valid for an agent."""
        name = wanted.speak_as or wanted.client or frames.agent_name(head) or NAMELESS
        chosen = Credential(owner=True, speak_as=name)
        try:
            self._gate.caller(chosen)
        except BadParams:
            return Credential(owner=True, speak_as=NAMELESS)
        return chosen


class Guest:
    """One connected MCP client."""

    def __init__(self, door: McpDoor, credential_of: Callable[[Hello, Head], Credential], wanted: Hello) -> None:
        self._door = door
        self._credential_of = credential_of
        self._wanted = wanted
        self._writer: asyncio.StreamWriter | None = None

    def say(self, line: bytes) -> None:
        """Send one line, unless the client has disconnected."""
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(line + b"\n")

    async def _send(self, frame: bytes) -> None:
        """Send a message, and wait while the client reads slowly, so that nothing piles up."""
        self.say(frame)
        if self._writer is not None:
            with contextlib.suppress(ConnectionError):
                await self._writer.drain()

    async def stay(self, sock: socket.socket) -> None:
        reader, writer = await asyncio.open_connection(sock=sock)
        self._writer = writer
        peer: Peer | None = None
        lines = Lines()
        try:
            while data := await reader.read(_PIECE):
                for line in lines.feed(data):
                    if line is None:
                        self.say(frames.too_long())
                        continue
                    if peer is None:
                        peer = self._peer(line)
                    await self._door.receive(peer, line)
        finally:
            if peer is not None:
                await self._door.close(peer)
            await self._hang_up(writer)

    async def _hang_up(self, writer: asyncio.StreamWriter) -> None:
        """Send the last answers, and drop them if the client does not read them."""
        writer.close()
        with contextlib.suppress(OSError):
            try:
                async with asyncio.timeout(_LAST_WORDS):
                    await writer.wait_closed()
            except TimeoutError:
                writer.transport.abort()

    def _peer(self, line: bytes) -> Peer:
        credential = self._credential_of(self._wanted, frames.peek(line))
        room, tools = self._wanted.room, self._wanted.tools or None
        return self._door.peer(credential, room, _PERSON, self._send, "stdio", tools)
