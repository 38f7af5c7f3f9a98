"""The line door's listener: its connections, its TLS settings and its shutdown."""

from __future__ import annotations

import asyncio
import contextlib
import os
import ssl
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

from doorward.backends.context import Services
from doorward.doors.guard import is_everywhere
from doorward.doors.line.auditing import AuditLog
from doorward.doors.line.connection import Connection
from doorward.doors.line.desk import Desk
from doorward.doors.line.environment import how_to_take_another_port
from doorward.doors.line.openness import Openness
from doorward.doors.line.parting import Partings
from doorward.doors.ports import listen
from doorward.errors import Unusable
from doorward.events import ServersLoaded
from doorward.gate.gate import Gate
from doorward.settings import Line, Settings

_LONGEST_TICK = 0.1
_SHORTEST_TICK = 0.005
_LAST_WORDS = 0.3
"""Seconds at shutdown to send clients the reason."""


class Door:
    def __init__(self, gate: Gate, services: Services, audit: AuditLog | None = None) -> None:
        self._settings = services.settings
        self._openness = Openness(services)
        self._openness.say()
        self._unsubscribe = services.events.subscribe(self._openness.say, ServersLoaded)
        self._desk = Desk(gate, services, audit)
        self._inside: set[Connection] = set()
        self._partings = Partings(services.settings.line.arrival_seconds)
        self._ticking: asyncio.TimerHandle | None = None
        self._tick_seconds = _tick_seconds(services.settings.line)

    def connection(self) -> Connection:
        return Connection(self._desk, self._settings, self._openness, self._partings, self._join, self._leave)

    async def close(self) -> None:
        self._unsubscribe()
        await asyncio.gather(*[one.stop() for one in list(self._inside)])
        if self._ticking is not None:
            self._ticking.cancel()
        await self._partings.end(_LAST_WORDS)

    def _join(self, connection: Connection) -> bool:
        """Accept a connection if there is room, or if the longest idle one can be closed for it."""
        if len(self._inside) >= self._settings.line.clients and not self._made_room():
            return False
        self._inside.add(connection)
        if self._ticking is None:
            self._arm()
        return True

    def _made_room(self) -> bool:
        """Close the longest idle connection. Clients that stay open after their answer, such as `nc`, must not lock out
        others."""
        now = asyncio.get_running_loop().time()
        silent = max(self._inside, key=lambda one: one.silence(now))
        if silent.silence(now) < self._settings.line.give_way_seconds:
            return False
        silent.give_way(now)
        return True

    def _leave(self, connection: Connection) -> None:
        self._inside.discard(connection)

    def _arm(self) -> None:
        self._ticking = asyncio.get_running_loop().call_later(self._tick_seconds, self._tick)

    def _tick(self) -> None:
        """Check all connections. One timer serves all, and none runs while there is no connection."""
        now = asyncio.get_running_loop().time()
        for connection in list(self._inside):
            connection.tick(now)
        self._ticking = None
        if self._inside:
            self._arm()


@contextlib.asynccontextmanager
async def opened(
    gate: Gate, services: Services, environment: Mapping[str, str] = os.environ
) -> AsyncIterator[tuple[str, int]]:
    """Listen while the context is open. Yields the address and the port."""
    line = services.settings.line
    another = how_to_take_another_port(line, environment)
    _check_port(services.settings, another)
    secure = _secure(line)
    audit = AuditLog(line.audit_log, line.audit_bytes) if line.audit_log else None
    try:
        with contextlib.closing(listen(line.host, line.port, another)) as sock:
            door = Door(gate, services, audit)
            server = await asyncio.get_running_loop().create_server(
                door.connection,
                sock=sock,
                ssl=secure,
                ssl_handshake_timeout=line.arrival_seconds if secure else None,
                ssl_shutdown_timeout=line.arrival_seconds if secure else None,
            )
            try:
                yield sock.getsockname()[:2]
            finally:
                server.close()
                await door.close()
    finally:
        if audit is not None:
            audit.close()


def _check_port(settings: Settings, another: str) -> None:
    """Refuse the port of the HTTP door. Otherwise the error would name this very process as the one that uses it."""
    line, server = settings.line, settings.server
    overlaps = line.host == server.host or is_everywhere(line.host) or is_everywhere(server.host)
    if line.port and line.port == server.port and overlaps:
        raise Unusable(
            f"The HTTP door and the line door have the same port {line.port} (settings server.port and line.port)."
            " Each needs its own port.",
            hint=f"Choose another port for the line door: {another} {line.port + 1 if line.port < 65_535 else 0}",
        )


def _secure(line: Line) -> ssl.SSLContext | None:
    if not line.certificate:
        if line.key:
            raise Unusable("The setting line.key needs line.certificate, which is not set.")
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(Path(line.certificate).expanduser(), Path(line.key).expanduser() if line.key else None)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise Unusable(
            f"The line door's certificate {line.certificate} cannot be used: {reason}.",
            hint="Set line.certificate and line.key to a matching pair of PEM files.",
        ) from error
    return context


def _tick_seconds(line: Line) -> float:
    """The tick interval, short enough for the shortest time limit."""
    shortest = min(line.idle_seconds / 4, line.arrival_seconds / 4, line.call_seconds / 4, line.progress_seconds / 2)
    return max(_SHORTEST_TICK, min(_LONGEST_TICK, shortest, line.quiet_seconds or _LONGEST_TICK))
