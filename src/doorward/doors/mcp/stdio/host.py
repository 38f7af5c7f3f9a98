"""The server side of MCP over stdio: a socket for the owner only, with one connection per relay."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
from collections.abc import Callable
from types import TracebackType

import msgspec

from doorward.commands.context import Services
from doorward.config.home import Home, bind_private_socket
from doorward.core.errors import BadParams, DoorwardError, Overloaded
from doorward.core.model import Credential
from doorward.doors.mcp.door import McpDoor
from doorward.doors.mcp.peer import Peer
from doorward.doors.mcp.stdio import frames, handshake
from doorward.doors.mcp.stdio.frames import LineSplitter, MessageHead
from doorward.doors.mcp.stdio.handshake import Hello, Welcome
from doorward.gate.gate import Gate
from doorward.rooms.people import LOCAL

log = logging.getLogger(__name__)

DEFAULT_AGENT = "agent"
"""The agent name of a client whose own name is not valid for an agent."""
_CHUNK = 65_536
_FLUSH_TIMEOUT = 0.3
"""Seconds that a client has to read the last answers when its connection ends."""
_SHUTDOWN_TIMEOUT = 1.0
"""Seconds that clients have to finish when the server stops; idle clients leave at once."""
_MAX_CONNECTIONS = 256
_OWNER = Credential(owner=True)
"""The person at the client: the operating system allows only the owner on this socket."""


class StdioHost:
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
        self._connections: dict[asyncio.Task[None], StdioConnection | None] = {}
        self._socket: socket.socket | None = None
        self._accept_task: asyncio.Task[None] | None = None
        self.successor: socket.socket | None = None
        """The connection of the permanent server that asked for the home, if one did."""

    async def __aenter__(self) -> StdioHost:
        self._socket = bind_private_socket(self._path)
        self._socket.setblocking(False)
        self._accept_task = asyncio.create_task(self._accept(self._socket))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.shut_down(_SHUTDOWN_TIMEOUT)

    def connect_local(self) -> socket.socket:
        """A connection for the MCP client of this process."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self._start_connection(theirs)
        return ours

    async def shut_down(self, patience: float) -> None:
        """Accept no more clients, ask all to finish, and after `patience` seconds disconnect the rest."""
        if self._accept_task is not None and self._socket is not None:
            self._accept_task.cancel()
            await asyncio.gather(self._accept_task, return_exceptions=True)
            self._path.unlink(missing_ok=True)
            self._socket.close()
            self._accept_task = self._socket = None
        for guest in self._connections.values():
            if guest is not None:
                guest.send_line(handshake.MOVING)
        if self._connections:
            await asyncio.wait(self._connections, timeout=patience)
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                sock, _ = await loop.sock_accept(listening)
            except OSError as error:  # no file descriptor is free; one may be later
                log.warning("cannot accept an MCP client: %s", error)
                await asyncio.sleep(0.1)
                continue
            self._start_connection(sock)

    def _start_connection(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        task = asyncio.create_task(self._serve_connection(sock))
        self._connections[task] = None
        task.add_done_callback(self._handle_end)

    def _handle_end(self, task: asyncio.Task[None]) -> None:
        self._connections.pop(task, None)
        if not task.cancelled() and task.exception() is not None:
            log.error("the connection of an MCP client failed", exc_info=task.exception())

    async def _serve_connection(self, sock: socket.socket) -> None:
        """Serve one connection. A server that asks for the home stays connected until the home is free."""
        loop = asyncio.get_running_loop()
        try:
            try:
                wanted = self._place(await handshake.receive_hello(sock))
                self._check_hello(wanted)
            except DoorwardError as error:
                await loop.sock_sendall(sock, handshake.encode_line(handshake.refusal(error)))
            else:
                if wanted.hand_over and self._hand_over is not None:
                    self.successor = sock
                    self._hand_over()
                else:
                    await loop.sock_sendall(sock, handshake.encode_line(Welcome(os.getpid())))
                    await self._serve_client(sock, wanted)
        except OSError:
            return  # the client has disconnected, or sent nothing
        finally:
            if sock is not self.successor:
                sock.close()

    async def _serve_client(self, sock: socket.socket, wanted: Hello) -> None:
        guest = StdioConnection(self._door, self._choose_credential, wanted)
        task = asyncio.current_task()
        if task is not None:
            self._connections[task] = guest
        await guest.serve(sock)

    def _place(self, wanted: Hello) -> Hello:
        """Put a client that named no room into the room of its folder, if there is one."""
        found = self._services.rooms.find_by_folder(LOCAL, wanted.folder) if wanted.folder else ""
        return msgspec.structs.replace(wanted, room=found) if found else wanted

    def _check_hello(self, wanted: Hello) -> None:
        """Refuse what would fail later, with the gate's own error."""
        if wanted.hand_over:
            if self._hand_over is None or self.successor is not None:
                raise Overloaded("A Doorward server is already running here, and does not hand over.")
            return
        if len(self._connections) > _MAX_CONNECTIONS:
            raise Overloaded(f"{_MAX_CONNECTIONS} MCP clients are already connected. Close one of them.")
        if not wanted.room:
            raise BadParams("An agent needs a room; name one with --room.")
        self._services.rooms.require(LOCAL, wanted.room)
        self._gate.caller(Credential(owner=True, speak_as=wanted.speak_as or DEFAULT_AGENT))

    def _choose_credential(self, wanted: Hello, head: MessageHead) -> Credential:
        """The agent that the person named, or the client's own name, if it is valid for an agent."""
        name = wanted.speak_as or wanted.client or frames.read_agent_name(head) or DEFAULT_AGENT
        chosen = Credential(owner=True, speak_as=name)
        try:
            self._gate.caller(chosen)
        except BadParams:
            return Credential(owner=True, speak_as=DEFAULT_AGENT)
        return chosen


class StdioConnection:
    """One connected MCP client."""

    def __init__(self, door: McpDoor, credential_of: Callable[[Hello, MessageHead], Credential], wanted: Hello) -> None:
        self._door = door
        self._credential_of = credential_of
        self._wanted = wanted
        self._writer: asyncio.StreamWriter | None = None

    def send_line(self, line: bytes) -> None:
        """Send one line, unless the client has disconnected."""
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(line + b"\n")

    async def _send(self, frame: bytes) -> None:
        """Send a message, and wait while the client reads slowly, so that nothing piles up."""
        self.send_line(frame)
        if self._writer is not None:
            with contextlib.suppress(ConnectionError):
                await self._writer.drain()

    async def serve(self, sock: socket.socket) -> None:
        reader, writer = await asyncio.open_connection(sock=sock)
        self._writer = writer
        peer: Peer | None = None
        lines = LineSplitter()
        try:
            while data := await reader.read(_CHUNK):
                for line in lines.feed(data):
                    if line is None:
                        self.send_line(frames.too_long())
                        continue
                    if peer is None:
                        peer = self._make_peer(line)
                    await self._door.receive(peer, line)
        finally:
            if peer is not None:
                await self._door.close(peer)
            await self._disconnect(writer)

    async def _disconnect(self, writer: asyncio.StreamWriter) -> None:
        """Send the last answers, and drop them if the client does not read them."""
        writer.close()
        with contextlib.suppress(OSError):
            try:
                async with asyncio.timeout(_FLUSH_TIMEOUT):
                    await writer.wait_closed()
            except TimeoutError:
                writer.transport.abort()

    def _make_peer(self, line: bytes) -> Peer:
        credential = self._credential_of(self._wanted, frames.peek(line))
        room, tools = self._wanted.room, self._wanted.tools or None
        return self._door.make_peer(credential, room, _OWNER, self._send, "stdio", tools)
