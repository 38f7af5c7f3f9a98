"""The standard streams of this process, each served by a thread.

A thread reads and writes pipes, files and terminals alike, and leaves their descriptors in blocking mode, which other
processes may share. A client that never reads its answers blocks only that thread.
"""

from __future__ import annotations

import asyncio
import os
import queue
import sys
import threading
from collections.abc import Callable

_CHUNK = 65_536
_MAX_READ_AHEAD = 16
"""Most chunks that are read ahead."""
_MAX_QUEUED = 4 * 1024 * 1024
"""Most bytes that wait for a slow reader before writes block."""


class StandardStreams:
    """Bytes from and to a client. Create it inside the event loop that uses it."""

    def __init__(self, source: int, sink: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._read: asyncio.Queue[bytes] = asyncio.Queue()
        self._free = threading.Semaphore(_MAX_READ_AHEAD)
        self._written: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._waiting = 0
        self._calm = asyncio.Event()
        self._calm.set()
        self._idle = asyncio.Event()
        self._idle.set()
        self.gone = asyncio.Event()
        """Set when the client can no longer be written to."""
        for work, descriptor in ((self._read_loop, source), (self._write_loop, sink)):
            threading.Thread(target=work, args=(descriptor,), daemon=True).start()

    async def read(self) -> bytes:
        """The next bytes; empty at the end."""
        piece = await self._read.get()
        self._free.release()
        return piece

    async def write(self, data: bytes) -> None:
        """Queue bytes for the client; waits while too many are queued."""
        await self._calm.wait()
        self._waiting += len(data)
        self._idle.clear()
        if self._waiting > _MAX_QUEUED:
            self._calm.clear()
        self._written.put(data)

    async def wait_until_unread(self, patience: float) -> None:
        """Wait until the client has read nothing for `patience` seconds although bytes wait for it."""
        while True:
            before = self._waiting
            await asyncio.sleep(patience)
            if before and self._waiting >= before:
                return

    async def flush(self, patience: float) -> None:
        """Wait until everything is written, for at most `patience` seconds."""
        try:
            async with asyncio.timeout(patience):
                await self._idle.wait()
        except TimeoutError:
            return

    def _read_loop(self, source: int) -> None:
        piece = b"."
        while piece:
            self._free.acquire()
            try:
                piece = os.read(source, _CHUNK)
            except OSError:
                piece = b""
            self._call_in_loop(self._read.put_nowait, piece)

    def _write_loop(self, sink: int) -> None:
        broken = False
        while True:
            data = self._written.get()
            rest = memoryview(data)
            while rest and not broken:
                try:
                    rest = rest[os.write(sink, rest) :]
                except OSError:
                    broken = True
                    self._call_in_loop(self.gone.set)
            self._call_in_loop(self._handle_written, len(data))

    def _handle_written(self, size: int) -> None:
        self._waiting -= size
        if self._waiting <= _MAX_QUEUED:
            self._calm.set()
        if not self._waiting:
            self._idle.set()

    def _call_in_loop(self, what: Callable[..., object], *args: object) -> None:
        try:
            self._loop.call_soon_threadsafe(what, *args)
        except RuntimeError:  # the loop has ended, and this process ends soon
            return


def take_stdio() -> tuple[int, int]:
    """Take over the standard streams: other output of this process goes to stderr, and its input is empty."""
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    if sys.__stderr__ is None:  # stderr is closed, and the next opened file must not take its descriptor
        os.dup2(nothing, 2)
    source, sink = os.dup(0), os.dup(1)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    return source, sink
