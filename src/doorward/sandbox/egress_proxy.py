"""The HTTP proxy through which the programs of a room reach the hosts that its recipe lists.

It listens on the room's own loopback, the only network that these programs have. It checks the host against the list,
resolves it once, and connects to exactly the address that was checked.
"""

from __future__ import annotations

import asyncio
import collections
import ipaddress
import logging
import re
import socket
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol
from urllib.parse import urlsplit

import msgspec

from doorward.core.errors import DoorwardError
from doorward.core.host_rules import HostRule, find_rule, normalize_host
from doorward.sandbox.program import RoomKey
from doorward.sandbox.relay import LARGEST_HEAD, relay, write_text

log = logging.getLogger(__name__)

_HEAD_SECONDS = 30.0
_CONNECT_SECONDS = 20.0
_MOST_CONNECTIONS = 128
_MOST_REFUSALS = 200
_REQUEST = re.compile(rb"([A-Z]{1,32}) ([!-~]+) HTTP/1\.[01]")
_OF_THE_HOP = (b"connection", b"proxy-connection", b"proxy-authorization", b"keep-alive", b"host", b"upgrade")


class Resolve(Protocol):
    def __call__(self, host: str, port: int, *, named: bool = False) -> Awaitable[list[str]]: ...


class EgressRules(msgspec.Struct, frozen=True):
    """What the sandbox needs to know about the networks of rooms."""

    list_hosts: Callable[[RoomKey], Sequence[HostRule]]
    """The hosts that the programs of a room may reach now; none for no network."""
    resolve: Resolve
    """Resolves a host to addresses that may be used. `named` means that a person wrote this very host."""
    environment: Mapping[str, str] = {}
    """Variables for programs that use the proxy, such as the files of trusted certificates."""


class _Refused(Exception):
    def __init__(self, status: str, text: str) -> None:
        super().__init__(text)
        self.status = status


class EgressProxy:
    def __init__(self, room: RoomKey, rules: EgressRules) -> None:
        self._room = room
        self._rules = rules
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()
        self._refusals: collections.deque[tuple[int, str]] = collections.deque(maxlen=_MOST_REFUSALS)
        self.reached_loopback = False
        """Whether it connected to a port of this machine."""

    async def listen(self, sock: socket.socket) -> None:
        """Accept connections on this socket, which it does not close."""
        if self._server is None:
            self._server = await asyncio.start_server(self._accept, sock=sock.dup(), limit=LARGEST_HEAD)

    def list_refused(self, since: int) -> list[str]:
        """The refusals since this time in nanoseconds, each once: the host, the port and the reason."""
        return list(dict.fromkeys(text for at, text in self._refusals if at >= since))

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._open:
            task.cancel()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._open) >= _MOST_CONNECTIONS:
            writer.transport.abort()
            return
        task = asyncio.create_task(self._serve(reader, writer))
        self._open.add(task)
        task.add_done_callback(self._open.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            try:
                async with asyncio.timeout(_HEAD_SECONDS):
                    head = await reader.readuntil(b"\r\n\r\n")
                await self._forward(head, reader, writer)
            except asyncio.LimitOverrunError as error:
                raise _Refused("431 Request Header Fields Too Large", "The header is too long.") from error
        except _Refused as error:
            await write_text(writer, error.status, str(error))
        except (OSError, EOFError, TimeoutError):
            pass  # the program closed the connection, or sent nothing
        finally:
            writer.close()

    async def _forward(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line, _, fields = head.partition(b"\r\n")
        request = _REQUEST.fullmatch(line)
        if request is None:
            raise _Refused("400 Bad Request", "This is Doorward's proxy for programs. It takes HTTP/1.1 requests.")
        method, target = request[1].decode(), request[2].decode()
        host, port, path = _parse_target(method, target)
        theirs, onward = await self._connect(host, port)
        try:
            begin = b""
            if method == "CONNECT":
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                begin = _rewrite_head(method, path, urlsplit(target).netloc, fields)
                onward.write(begin)
            sent, received = await asyncio.gather(relay(reader, onward), relay(theirs, writer))
            sent += len(begin)
            log.info("room %s: %s:%d ended, %d bytes sent, %d received", self._room[1], host, port, sent, received)
        finally:
            onward.close()

    async def _connect(self, host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to a host that is listed, at an address that was checked."""
        rules = self._rules.list_hosts(self._room)
        rule = find_rule(rules, host, port)
        if rule is None:
            listed = ", ".join(one.text for one in rules[:20]) or "no hosts"
            more = f" and {len(rules) - 20} more" if len(rules) > 20 else ""
            raise self._refuse(host, port, f"the recipe of this room (strategy.sandbox.network) lists {listed}{more}.")
        try:
            addresses = await self._rules.resolve(host, port, named=rule.is_address)
        except DoorwardError as error:
            raise self._refuse(host, port, error.message) from error
        failure = ""
        for address in addresses:
            if ipaddress.ip_address(address.partition("%")[0]).is_loopback:
                self.reached_loopback = True
            try:
                async with asyncio.timeout(_CONNECT_SECONDS):
                    streams = await asyncio.open_connection(address, port)
            except (OSError, TimeoutError) as error:
                failure = getattr(error, "strerror", None) or "it did not answer in time"
                continue
            log.info("room %s: %s:%d allowed by %s, at %s", self._room[1], host, port, rule.text, address)
            return streams
        raise _Refused("502 Bad Gateway", f"{host}:{port} cannot be reached: {failure}.")

    def _refuse(self, host: str, port: int, why: str) -> _Refused:
        self._refusals.append((time.time_ns(), f"{host}:{port}: {why}"))
        log.warning("room %s: %s:%d refused: %s", self._room[1], host, port, why)
        return _Refused("403 Forbidden", f"Doorward refused {host}:{port}: {why}")


def _parse_target(method: str, target: str) -> tuple[str, int, str]:
    """The host, the port and the path that a request names."""
    try:
        parts = urlsplit(f"//{target}" if method == "CONNECT" else target)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise _Refused("400 Bad Request", f"The target is not valid: {error}.") from error
    if method == "CONNECT" and host and port and parts.netloc == target and "@" not in target:
        return normalize_host(host), port, ""
    if method != "CONNECT" and parts.scheme == "http" and host:
        path = parts.path or "/"
        return normalize_host(host), port or 80, f"{path}?{parts.query}" if parts.query else path
    raise _Refused("400 Bad Request", "Name the host: CONNECT host:port, or a request for http://host/path.")


def _rewrite_head(method: str, path: str, host: str, fields: bytes) -> bytes:
    """The head for the host itself: its own path and name, without what concerns the proxy. One request each."""
    kept = [one for one in fields.split(b"\r\n") if one and one.partition(b":")[0].strip().lower() not in _OF_THE_HOP]
    name = host.rpartition("@")[2]
    lines = [f"{method} {path} HTTP/1.1".encode(), f"Host: {name}".encode(), *kept, b"Connection: close"]
    return b"\r\n".join(lines) + b"\r\n\r\n"
