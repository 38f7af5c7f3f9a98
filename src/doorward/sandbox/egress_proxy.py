"""The HTTP proxy through which the programs of a room reach the hosts that its recipe lists.

It listens on the room's own loopback, the only network that these programs have. It checks the host against the list,
or asks a person where the recipe says so, resolves it once, and connects to exactly the address that was checked.
"""

from __future__ import annotations

import asyncio
import collections
import ipaddress
import logging
import re
import socket
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol
from urllib.parse import urlsplit

import msgspec

from doorward.core.errors import DoorwardError
from doorward.core.host_rules import HostTerms, find_rule, is_address, normalize_host
from doorward.sandbox.connection_listener import ConnectionListener
from doorward.sandbox.program import RoomKey
from doorward.sandbox.proxy_access import ProxyAccess, parse_credentials
from doorward.sandbox.relay import relay, write_text

log = logging.getLogger(__name__)

_CONNECT_SECONDS = 20.0
_MOST_REFUSALS = 200
_HOW_TO_CHANGE = 'A person can add the host there, or change it to "ask".'
_UNKNOWN_PROGRAM = (
    "a person must be asked, and the request does not say which program it comes from. Use the proxy with its user and "
    "password, as the variables http_proxy and https_proxy have it."
)
_CHALLENGE = ('Proxy-Authenticate: Basic realm="Doorward"',)
_REQUEST = re.compile(rb"([A-Z]{1,32}) ([!-~]+) HTTP/1\.[01]")
_OF_THE_HOP = (b"connection", b"proxy-connection", b"proxy-authorization", b"keep-alive", b"host", b"upgrade")


class Resolve(Protocol):
    def __call__(self, host: str, port: int, *, named: bool = False) -> Awaitable[list[str]]: ...


class EgressRules(msgspec.Struct, frozen=True):
    """What the sandbox needs to know about the networks of rooms."""

    find_terms: Callable[[RoomKey], HostTerms]
    """The hosts that the programs of a room may reach now, and whether a person is asked about others."""
    resolve: Resolve
    """Resolves a host to addresses that may be used. `named` means that a person wrote this very host."""
    environment: Mapping[str, str] = {}
    """Variables for programs that use the proxy, such as the files of trusted certificates."""


class _Refused(Exception):
    def __init__(self, status: str, text: str, fields: tuple[str, ...] = ()) -> None:
        super().__init__(text)
        self.status = status
        self.fields = fields


class EgressProxy:
    def __init__(self, room: RoomKey, rules: EgressRules) -> None:
        self._room = room
        self._rules = rules
        self._listener = ConnectionListener(self._serve)
        self._accesses: dict[str, ProxyAccess] = {}
        """The access of each program that runs now, by the user of its credentials."""
        self._refusals: collections.deque[tuple[int, str]] = collections.deque(maxlen=_MOST_REFUSALS)
        self.reached_loopback = False
        """Whether it connected to a port of this machine."""

    async def listen(self, sock: socket.socket) -> None:
        """Accept connections on this socket, which it does not close."""
        if not self._listener.is_listening:
            await self._listener.listen(sock.dup())

    def admit(self, access: ProxyAccess) -> None:
        """Accept the credentials of a program until `dismiss`."""
        self._accesses[access.user] = access

    async def dismiss(self, access: ProxyAccess) -> None:
        del self._accesses[access.user]
        await access.close()

    def list_refused(self, since: int) -> list[str]:
        """The refusals since this time in nanoseconds, each once: the host, the port and the reason."""
        return list(dict.fromkeys(text for at, text in self._refusals if at >= since))

    def close(self) -> None:
        self._listener.close()

    async def _serve(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if not head:
                raise _Refused("431 Request Header Fields Too Large", "The header is too long.")
            await self._forward(head, reader, writer)
        except _Refused as error:
            await write_text(writer, error.status, str(error), error.fields)

    async def _forward(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line, _, fields = head.partition(b"\r\n")
        request = _REQUEST.fullmatch(line)
        if request is None:
            raise _Refused("400 Bad Request", "This is Doorward's proxy for programs. It takes HTTP/1.1 requests.")
        method, target = request[1].decode(), request[2].decode()
        host, port, path = _parse_target(method, target)
        theirs, onward = await self._connect(host, port, fields)
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

    async def _connect(self, host: str, port: int, fields: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to a host that is listed or that a person allowed, at an address that was checked."""
        terms = self._rules.find_terms(self._room)
        rule = find_rule(terms.hosts, host, port)
        try:
            if rule is None:
                await self._ask(terms, host, port, fields)
            addresses = await self._rules.resolve(host, port, named=rule is not None and rule.is_address)
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
            by = rule.text if rule is not None else "an answer"
            log.info("room %s: %s:%d allowed by %s, at %s", self._room[1], host, port, by, address)
            return streams
        raise _Refused("502 Bad Gateway", f"{host}:{port} cannot be reached: {failure}.")

    async def _ask(self, terms: HostTerms, host: str, port: int, fields: bytes) -> None:
        """Ask whether the program that sends this request may reach a host that the recipe does not list."""
        if not terms.asks:
            why = f"the recipe of this room (strategy.sandbox.network) lists {terms}. {_HOW_TO_CHANGE}"
            raise self._refuse(host, port, why)
        access = self._find_access(fields)
        if access is None:
            raise self._refuse(host, port, _UNKNOWN_PROGRAM, "407 Proxy Authentication Required", _CHALLENGE)
        self._forget_refusal(host, port, _UNKNOWN_PROGRAM)  # some programs give their credentials only when asked for
        if is_address(host):  # nobody is asked in vain; a name is not resolved before, since that tells it to others
            await self._rules.resolve(host, port)
        await access.ask(host, port)

    def _find_access(self, fields: bytes) -> ProxyAccess | None:
        for line in fields.split(b"\r\n"):
            name, _, value = line.partition(b":")
            if name.strip().lower() == b"proxy-authorization":
                given = parse_credentials(value.decode("latin-1"))
                access = self._accesses.get(given[0]) if given is not None else None
                return access if given is not None and access is not None and access.accepts(given[1]) else None
        return None

    def _refuse(
        self, host: str, port: int, why: str, status: str = "403 Forbidden", fields: tuple[str, ...] = ()
    ) -> _Refused:
        self._refusals.append((time.time_ns(), f"{host}:{port}: {why}"))
        log.warning("room %s: %s:%d refused: %s", self._room[1], host, port, why)
        return _Refused(status, f"Doorward refused {host}:{port}: {why}", fields)

    def _forget_refusal(self, host: str, port: int, why: str) -> None:
        kept = (one for one in self._refusals if one[1] != f"{host}:{port}: {why}")
        self._refusals = collections.deque(kept, maxlen=_MOST_REFUSALS)


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
