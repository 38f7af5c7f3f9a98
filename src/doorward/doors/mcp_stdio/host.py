"""The house's side: a socket for its owner only, and behind it every MCP client that a relay brings."""

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
"""The agent of a client whose own name no agent can carry."""
_PIECE = 65_536
_LAST_WORDS = 0.3
"""Seconds in which the last answers must be read when a connection ends."""
_FAREWELL = 1.0
"""Seconds in which clients may finish when the house closes; whoever waits for nothing goes at once."""
_MOST_GUESTS = 256
_PERSON = Credential(owner=True)
"""Who sits at the client: the operating system let nobody else to this socket."""


class Host:
    """Takes in relays for as long as it is entered. The caller holds the home's lock."""

    def __init__(
        self, home: Home, gate: Gate, services: Services, door: McpDoor, hand_over: Callable[[], None] | None = None
    ) -> None:
        """`hand_over` is told when a server asks for the house; without it the house is given to nobody."""
        self._path = home.mcp_socket
        self._gate = gate
        self._services = services
        self._door = door
        self._hand_over = hand_over
        self._guests: dict[asyncio.Task[None], Guest | None] = {}
        self._listening: socket.socket | None = None
        self._accepting: asyncio.Task[None] | None = None
        self.heir: socket.socket | None = None
        """The connection of a server that asked for the house, if one did."""

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
        """A connection for the client of this very process."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self._take_in(theirs)
        return ours

    async def leave(self, patience: float) -> None:
        """Let nobody in any more; ask everybody to finish and go, and after `patience` seconds show them out."""
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
            except OSError as error:  # no descriptor is free; one may be later
                log.warning("a client could not be taken in: %s", error)
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
            log.error("an MCP client's connection broke", exc_info=task.exception())

    async def _attend(self, sock: socket.socket) -> None:
        """Hear what somebody wants, and let them in; who asks for the house stays connected until it is free."""
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
            return  # whoever came has left, or never said anything
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
        """Refuse what could only fail later, with the words that the gate has for it."""
        if wanted.hand_over:
            if self._hand_over is None or self.heir is not None:
                raise Overloaded("A server keeps this house, and hands it to nobody.")
            return
        if len(self._guests) > _MOST_GUESTS:
            raise Overloaded(f"{_MOST_GUESTS} MCP clients are connected already; close one of them.")
        if not wanted.room:
            raise BadParams("Agents act in rooms; name one with --room.")
        self._services.rooms.known(LOCAL, wanted.room)
        self._gate.caller(Credential(owner=True, speak_as=wanted.speak_as or NAMELESS))

    def _credential(self, wanted: Hello, head: Head) -> Credential:
        """Who asks: the agent the person named, or the client by its own name, if an agent can carry that."""
        name = wanted.speak_as or wanted.client or frames.agent_name(head) or NAMELESS
        chosen = Credential(owner=True, speak_as=name)
        try:
            self._gate.caller(chosen)
        except BadParams:
            return Credential(owner=True, speak_as=NAMELESS)
        return chosen


class Guest:
    """One MCP client, as the house sees it."""

    def __init__(self, door: McpDoor, credential_of: Callable[[Hello, Head], Credential], wanted: Hello) -> None:
        self._door = door
        self._credential_of = credential_of
        self._wanted = wanted
        self._writer: asyncio.StreamWriter | None = None

    def say(self, line: bytes) -> None:
        """Send one line, unless the client is gone."""
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(line + b"\n")

    async def _send(self, frame: bytes) -> None:
        """Send a message, and wait while the client reads too slowly, so that nothing piles up for it."""
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
        """Let the last answers out; whoever does not read them does not get them."""
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
