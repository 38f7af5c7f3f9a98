"""The line door's listener: its connections, its TLS settings and its shutdown."""

from __future__ import annotations

import asyncio
import contextlib
import os
import ssl
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

from doorward.commands.context import Services
from doorward.config.settings import LineSettings, Settings
from doorward.core.errors import Unusable
from doorward.core.events import ServersLoaded
from doorward.doors.http.host_guard import is_wildcard_address
from doorward.doors.http.ports import listen
from doorward.doors.http.server import RESERVED_SHARE
from doorward.doors.line.audit_log import AuditLog
from doorward.doors.line.connection import LineConnection
from doorward.doors.line.environment import other_port_hint
from doorward.doors.line.graceful_close import GracefulCloser
from doorward.doors.line.methods import LineMethods
from doorward.doors.line.tokenless_access import TokenlessAccess
from doorward.gate.gate import Gate

_LONGEST_TICK = 0.1
_SHORTEST_TICK = 0.005
_FLUSH_SECONDS = 0.3
"""Seconds at shutdown to send clients the reason."""


class LineDoor:
    def __init__(self, gate: Gate, services: Services, audit: AuditLog | None = None) -> None:
        self._settings = services.settings
        self._access = TokenlessAccess(services)
        self._intake = services.intake
        self._access.log_change()
        self._unsubscribe = services.events.subscribe(self._access.log_change, ServersLoaded)
        self._methods = LineMethods(gate, services, audit)
        self._connections: dict[LineConnection, None] = {}
        """The open connections, oldest first."""
        self._closer = GracefulCloser(services.settings.line.arrival_seconds)
        self._timer: asyncio.TimerHandle | None = None
        self._tick_seconds = _tick_interval(services.settings.line)

    def create_connection(self) -> LineConnection:
        return LineConnection(
            self._methods, self._settings, self._access, self._closer, self._intake, self._admit, self._leave
        )

    async def close(self) -> None:
        self._unsubscribe()
        await asyncio.gather(*[one.stop() for one in list(self._connections)])
        if self._timer is not None:
            self._timer.cancel()
        await self._closer.shut_down(_FLUSH_SECONDS)

    def _admit(self, connection: LineConnection) -> bool:
        """Accept a connection if there is room, or if another one can be closed for it.

        Strangers, which have sent no valid credentials yet, give way first, and leave some places to other clients.
        """
        most = self._settings.line.clients
        strangers = [one for one in self._connections if one.is_stranger]
        is_full = len(self._connections) >= most
        if strangers and (is_full or len(strangers) >= most - most // RESERVED_SHARE):
            idle = [one for one in strangers if not one.account.held]
            (idle or strangers)[0].give_way(asyncio.get_running_loop().time())
        elif is_full and not self._make_room():
            return False
        self._connections[connection] = None
        if self._timer is None:
            self._schedule_tick()
        return True

    def _make_room(self) -> bool:
        """Close the longest idle connection. Clients that stay open after their answer, such as `nc`, must not lock out
        others."""
        now = asyncio.get_running_loop().time()
        silent = max(self._connections, key=lambda one: one.idle_seconds(now))
        if silent.idle_seconds(now) < self._settings.line.give_way_seconds:
            return False
        silent.give_way(now)
        return True

    def _leave(self, connection: LineConnection) -> None:
        self._connections.pop(connection, None)

    def _schedule_tick(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._tick_seconds, self._tick)

    def _tick(self) -> None:
        """Check all connections. One timer serves all, and none runs while there is no connection."""
        now = asyncio.get_running_loop().time()
        for connection in list(self._connections):
            connection.tick(now)
        self._timer = None
        if self._connections:
            self._schedule_tick()


@contextlib.asynccontextmanager
async def open_line_door(
    gate: Gate, services: Services, environment: Mapping[str, str] = os.environ
) -> AsyncIterator[tuple[str, int]]:
    """Listen while the context is open. Yields the address and the port."""
    line = services.settings.line
    another = other_port_hint(line, environment)
    _check_port(services.settings, another)
    secure = _create_tls_context(line)
    audit = AuditLog(line.audit_log, line.audit_bytes) if line.audit_log else None
    try:
        with contextlib.closing(listen(line.host, line.port, another)) as sock:
            door = LineDoor(gate, services, audit)
            server = await asyncio.get_running_loop().create_server(
                door.create_connection,
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
    overlaps = line.host == server.host or is_wildcard_address(line.host) or is_wildcard_address(server.host)
    if line.port and line.port == server.port and overlaps:
        raise Unusable(
            f"The HTTP door and the line door have the same port {line.port} (settings server.port and line.port)."
            " Each needs its own port.",
            hint=f"Choose another port for the line door: {another} {line.port + 1 if line.port < 65_535 else 0}",
        )


def _create_tls_context(line: LineSettings) -> ssl.SSLContext | None:
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


def _tick_interval(line: LineSettings) -> float:
    """The tick interval, short enough for the shortest time limit."""
    shortest = min(line.idle_seconds / 4, line.arrival_seconds / 4, line.call_seconds / 4, line.progress_seconds / 2)
    return max(_SHORTEST_TICK, min(_LONGEST_TICK, shortest, line.quiet_seconds or _LONGEST_TICK))
