"""The end of a connection, so that what was said last arrives.

Closing a connection while something that it was sent is still unread resets it, and a reset can take the last words
away. So the own side is ended first, whatever still comes is thrown away for a moment, and only then it is closed.
"""

from __future__ import annotations

import asyncio
import contextlib

_MOMENT = 1.0
"""Seconds that the other side is given to hear what was said and to close."""
_MOST = 64
"""So many connections part in this way at once; one more is closed at once, or partings could fill the house."""
_MOST_THROWN = 1_048_576
"""Whoever sends more bytes than this after the end is not listened to any longer."""


class Partings:
    """The connections of one door that are about to end."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        """Seconds after which whoever does not read the last words is given up."""
        self._timers: dict[asyncio.Transport, asyncio.TimerHandle] = {}
        self._thrown: dict[asyncio.Transport, int] = {}
        self._none = asyncio.Event()

    def begin(self, transport: asyncio.Transport, *, may_send: bool) -> None:
        """Everything is said and on its way; `may_send` tells whether the other side has not ended its own."""
        if transport.is_closing() or not may_send or not transport.can_write_eof() or len(self._thrown) >= _MOST:
            self._close(transport)
            return
        try:
            transport.write_eof()
        except OSError:  # the other side has reset the connection, so nobody listens
            transport.abort()
            return
        self._thrown[transport] = 0
        self._timers[transport] = asyncio.get_running_loop().call_later(_MOMENT, self._close, transport)
        transport.resume_reading()

    def throw_away(self, transport: asyncio.Transport, data: bytes) -> None:
        """Something came after the end. What it is does not matter, only that it does not go on for ever."""
        thrown = self._thrown.get(transport, 0) + len(data)
        if thrown > _MOST_THROWN:
            self._close(transport)
        else:
            self._thrown[transport] = thrown

    def over(self, transport: asyncio.Transport) -> None:
        """The connection is gone."""
        self._thrown.pop(transport, None)
        timer = self._timers.pop(transport, None)
        if timer is not None:
            timer.cancel()
        if not self._timers:
            self._none.set()

    async def end(self, seconds: float) -> None:
        """The door closes, and waits so long at most for those who are about to go."""
        self._none.clear()
        if self._timers:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._none.wait()
        for transport in list(self._timers):
            transport.abort()

    def _close(self, transport: asyncio.Transport) -> None:
        """Close, and abort later what cannot be closed since what was said is not read."""
        timer = self._timers.pop(transport, None)
        if timer is not None:
            timer.cancel()
        self._thrown.pop(transport, None)
        self._timers[transport] = asyncio.get_running_loop().call_later(self._patience, transport.abort)
        transport.close()
