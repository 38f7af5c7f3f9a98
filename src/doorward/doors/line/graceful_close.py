"""Graceful close of connections, so that the last message arrives.

Closing a connection with unread input resets it, and a reset can discard the last message. So our side is closed first,
further input is discarded for a moment, and only then the connection is closed.
"""

from __future__ import annotations

import asyncio
import contextlib

_LINGER_SECONDS = 1.0
"""Seconds that the other side has to read the last message and close."""
_MAX_CLOSING = 64
"""Connections that close gracefully at a time. Further ones are closed at once, so that they cannot pile up."""
_MAX_DISCARDED = 1_048_576
"""Bytes discarded after the end of a connection; with more it is closed."""


class GracefulCloser:
    """The closing connections of one door."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        """Seconds after which a client that does not read the last message is aborted."""
        self._timers: dict[asyncio.Transport, asyncio.TimerHandle] = {}
        self._discarded: dict[asyncio.Transport, int] = {}
        self._all_closed = asyncio.Event()

    def close(self, transport: asyncio.Transport, *, may_send: bool) -> None:
        """Start closing, after the last message is written. `may_send`: whether the other side can still send."""
        if (
            transport.is_closing()
            or not may_send
            or not transport.can_write_eof()
            or len(self._discarded) >= _MAX_CLOSING
        ):
            self._close_now(transport)
            return
        try:
            transport.write_eof()
        except OSError:  # the other side has reset the connection
            transport.abort()
            return
        self._discarded[transport] = 0
        self._timers[transport] = asyncio.get_running_loop().call_later(_LINGER_SECONDS, self._close_now, transport)
        transport.resume_reading()

    def discard(self, transport: asyncio.Transport, data: bytes) -> None:
        """Discard input that arrives after the end, up to a limit."""
        thrown = self._discarded.get(transport, 0) + len(data)
        if thrown > _MAX_DISCARDED:
            self._close_now(transport)
        else:
            self._discarded[transport] = thrown

    def forget(self, transport: asyncio.Transport) -> None:
        """Forget a connection that is gone."""
        self._discarded.pop(transport, None)
        timer = self._timers.pop(transport, None)
        if timer is not None:
            timer.cancel()
        if not self._timers:
            self._all_closed.set()

    async def shut_down(self, seconds: float) -> None:
        """At shutdown, wait at most this long for closing connections, then abort the rest."""
        self._all_closed.clear()
        if self._timers:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._all_closed.wait()
        for transport in list(self._timers):
            transport.abort()

    def _close_now(self, transport: asyncio.Transport) -> None:
        """Close, and abort later if the client does not read the last message."""
        timer = self._timers.pop(transport, None)
        if timer is not None:
            timer.cancel()
        self._discarded.pop(transport, None)
        self._timers[transport] = asyncio.get_running_loop().call_later(self._patience, transport.abort)
        transport.close()
