"""Opens a port of a room to one person's browser: a listener on this machine's loopback that only its link unlocks.

Each port has a host name of its own below `localhost`, so the browser sends it no cookie of another page, and its pages
none to the console.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import re
import secrets
import socket
from collections.abc import Awaitable, Callable

from doorward.sandbox.connection_listener import ConnectionListener
from doorward.sandbox.relay import relay, write_text

LINK_SECONDS = 60.0
_PATH = "/.doorward-open/"
_REQUEST = re.compile(rb"[A-Z]{1,32} ([!-~]+) HTTP/1\.[01]")


class PortForwarder:
    def __init__(self, name: str, connect: Callable[[], Awaitable[socket.socket]]) -> None:
        """`name` is a label for its host name; `connect` connects to the port in the room."""
        self._host = f"{name}.localhost"
        self._connect = connect
        self._cookie = secrets.token_urlsafe(32)
        self._links: dict[str, float] = {}
        """Links that were not used yet, with the loop time until which each works."""
        self._listener = ConnectionListener(self._answer)
        self._port = 0

    async def listen(self) -> None:
        sock = socket.create_server(("127.0.0.1", 0))
        self._port = sock.getsockname()[1]
        await self._listener.listen(sock)

    def make_link(self) -> str:
        """A link that works once, within a minute. The browser that opens it may use the port from then on."""
        now = asyncio.get_running_loop().time()
        self._links = {token: until for token, until in self._links.items() if until > now}
        token = secrets.token_urlsafe(32)
        self._links[token] = now + LINK_SECONDS
        return f"http://{self._host}:{self._port}{_PATH}{token}"

    def close(self) -> None:
        self._listener.close()

    async def _answer(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line, _, fields = head.partition(b"\r\n")
        request = _REQUEST.fullmatch(line)
        given = {name.strip().lower(): value.strip() for name, _, value in map(_split, fields.split(b"\r\n"))}
        if request is None or given.get(b"host", b"").decode("latin-1") != f"{self._host}:{self._port}":
            await write_text(writer, "400 Bad Request", "This is a port of a room. Open it with its link.")
            return
        target = request[1].decode()
        if target.startswith(_PATH):
            await self._unlock(target.removeprefix(_PATH), writer)
            return
        proof = f"{self._cookie_name}={self._cookie}"
        cookies = [one.strip() for one in given.get(b"cookie", b"").decode("latin-1").split(";")]
        if not any(hmac.compare_digest(one.encode("latin-1"), proof.encode()) for one in cookies):
            await write_text(writer, "403 Forbidden", "This port is locked. Open it with a new link: process/open")
            return
        try:
            sock = await self._connect()
        except OSError as error:
            await write_text(writer, "502 Bad Gateway", f"The program does not answer on this port: {error.strerror}.")
            return
        theirs, onward = await asyncio.open_connection(sock=sock)
        try:
            onward.write(head.replace(proof.encode(), b"doorward=1"))  # the program need not know it
            await asyncio.gather(relay(reader, onward), relay(theirs, writer))
        finally:
            onward.close()

    @property
    def _cookie_name(self) -> str:
        return f"doorward-port-{self._port}"

    async def _unlock(self, token: str, writer: asyncio.StreamWriter) -> None:
        until = self._links.pop(token, 0.0)
        if until < asyncio.get_running_loop().time():
            await write_text(writer, "403 Forbidden", "This link was used already, or is too old: process/open")
            return
        cookie = f"Set-Cookie: {self._cookie_name}={self._cookie}; HttpOnly; SameSite=Lax; Path=/"
        fields = (cookie, "Location: /", "Referrer-Policy: no-referrer", "Cache-Control: no-store")
        await write_text(writer, "303 See Other", "", fields)


def _split(line: bytes) -> tuple[bytes, bytes, bytes]:
    return line.partition(b":")


async def connect_in_room(sock: socket.socket, port: int) -> socket.socket:
    """Connect a socket of a room's network to a port of the room's loopback."""
    host = "::1" if sock.family == socket.AF_INET6 else "127.0.0.1"
    sock.setblocking(False)
    try:
        await asyncio.get_running_loop().sock_connect(sock, (host, port))
    except BaseException:
        with contextlib.suppress(OSError):
            sock.close()
        raise
    return sock
