"""The door itself: where it listens, who is inside, and how it closes."""

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
"""Seconds that clients are given at the end to hear that it has come."""


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
        """Take a connection in, if there is room for it or whoever has been silent longest can give way."""
        if len(self._inside) >= self._settings.line.clients and not self._made_room():
            return False
        self._inside.add(connection)
        if self._ticking is None:
            self._arm()
        return True

    def _made_room(self) -> bool:
        """Clients that do not close when they have their answer, as some of `nc`, must not shut the door to others."""
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
        """One timer for all connections, and none while there is no connection."""
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
    """Listen for as long as the context lasts; gives the address and the port."""
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
    """Refuse the port of the HTTP door: the sentence of whoever listens would blame this very process."""
    line, server = settings.line, settings.server
    overlaps = line.host == server.host or is_everywhere(line.host) or is_everywhere(server.host)
    if line.port and line.port == server.port and overlaps:
        raise Unusable(
            f"The HTTP door and the line door were both given port {line.port} (settings server.port and line.port);"
            " each needs one of its own.",
            hint=f"Take another for the line door: {another} {line.port + 1 if line.port < 65_535 else 0}",
        )


def _secure(line: Line) -> ssl.SSLContext | None:
    if not line.certificate:
        if line.key:
            raise Unusable("The setting line.key names a key, but line.certificate names no certificate.")
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(Path(line.certificate).expanduser(), Path(line.key).expanduser() if line.key else None)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise Unusable(
            f"The line door's certificate {line.certificate} cannot be used: {reason}.",
            hint="The settings line.certificate and line.key name PEM files that belong together.",
        ) from error
    return context


def _tick_seconds(line: Line) -> float:
    """Often enough for the shortest of the times that are watched."""
    shortest = min(line.idle_seconds / 4, line.arrival_seconds / 4, line.call_seconds / 4, line.progress_seconds / 2)
    return max(_SHORTEST_TICK, min(_LONGEST_TICK, shortest, line.quiet_seconds or _LONGEST_TICK))
