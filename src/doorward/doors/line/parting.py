"""Graceful close of connections, so that the last message arrives.

Closing a connection with unread input resets it, and a reset can discard the last message. So our side is closed first,
further input is discarded for a moment, and only then the connection is closed.
"""

from __future__ import annotations

import asyncio
import contextlib

_MOMENT = 1.0
"""Seconds that the other side has to read the last message and close."""
_MOST = 64
"""Connections that close gracefully at a time. Further ones are closed at once, so that they cannot pile up."""
_MOST_THROWN = 1_048_576
"""Bytes discarded after the end of a connection; with more it is closed."""


class Partings:
    """The closing connections of one door."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        """Seconds after which a client that does not read the last message is aborted."""
        self._timers: dict[asyncio.Transport, asyncio.TimerHandle] = {}
        self._thrown: dict[asyncio.Transport, int] = {}
        self._none = asyncio.Event()

    def begin(self, transport: asyncio.Transport, *, may_send: bool) -> None:
        """Start closing, after the last message is written. `may_send`: whether the other side can still send."""
        if transport.is_closing() or not may_send or not transport.can_write_eof() or len(self._thrown) >= _MOST:
            self._close(transport)
            return
        try:
            transport.write_eof()
        except OSError:  # the other side has reset the connection
            transport.abort()
            return
        self._thrown[transport] = 0
        self._timers[transport] = asyncio.get_running_loop().call_later(_MOMENT, self._close, transport)
        transport.resume_reading()

    def throw_away(self, transport: asyncio.Transport, data: bytes) -> None:
        """Discard input that arrives after the end, up to a limit."""
        thrown = self._thrown.get(transport, 0) + len(data)
        if thrown > _MOST_THROWN:
            self._close(transport)
        else:
            self._thrown[transport] = thrown

    def over(self, transport: asyncio.Transport) -> None:
        """Forget a connection that is gone."""
        self._thrown.pop(transport, None)
        timer = self._timers.pop(transport, None)
        if timer is not None:
            timer.cancel()
        if not self._timers:
            self._none.set()

    async def end(self, seconds: float) -> None:
        """At shutdown, wait at most this long for closing connections, then abort the rest."""
        self._none.clear()
        if self._timers:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._none.wait()
        for transport in list(self._timers):
            transport.abort()

    def _close(self, transport: asyncio.Transport) -> None:
        """Close, and abort later if the client does not read the last message."""
        timer = self._timers.pop(transport, None)
        if timer is not None:
            timer.cancel()
        self._thrown.pop(transport, None)
        self._timers[transport] = asyncio.get_running_loop().call_later(self._patience, transport.abort)
        transport.close()
