"""The size of a draft on disk, and a watch that stops a program when its draft becomes too large."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable

CACHE = "cache"
"""The folder of a draft with the caches of its programs."""
_FOLDERS = ("upper", CACHE, "toolchains")
"""The folders of a draft that its programs can fill."""

_CHECK_SECONDS = 0.25
_MEASURE_SECONDS = 5.0
"""Seconds between two measurements without a sign of growth."""
_SHARE, _SHARE_IF_FULL = 20, 4
"""A measurement may take one part in this many of the time; more when the draft could be too large."""


class DraftSize:
    """The size of one draft, as it was last measured."""

    def __init__(self, folder: str, parts: tuple[str, ...] = _FOLDERS) -> None:
        """`parts` are the folders in it that count."""
        self.bytes = 0
        self._folder = folder
        self._parts = parts
        self._free = 0
        """Free bytes on the disk at the last measurement."""
        self._measured_at = float("-inf")
        self._spent = 0.0

    def measure(self) -> None:
        """Measure it now. This call blocks."""
        begun = time.monotonic()
        free = self._read_free()
        self.bytes = sum(measure_bytes(f"{self._folder}/{name}") for name in self._parts)
        self._free, self._measured_at = free, time.monotonic()
        self._spent = self._measured_at - begun

    def is_due(self, most: int | None = None) -> bool:
        """Whether to measure it again: after a while, or earlier if it could have grown beyond `most` bytes.

        It cannot have grown by more than what is gone of the disk's free space, unless something else was deleted.
        """
        age = time.monotonic() - self._measured_at
        if age >= max(_MEASURE_SECONDS, self._spent * _SHARE):
            return True
        could_be = self.bytes + self._free - self._read_free()
        return most is not None and could_be > most and age >= self._spent * _SHARE_IF_FULL

    def _read_free(self) -> int:
        facts = os.statvfs(self._folder)
        return facts.f_bfree * facts.f_frsize


class DraftSizeWatch:
    """Calls `stop` when a draft has more than `most` bytes; for one that has more already, when it grows."""

    def __init__(self, size: DraftSize, most: int, stop: Callable[[], None]) -> None:
        self._size = size
        self._most = max(most, size.bytes)
        self._stop = stop
        self._task = asyncio.create_task(self._check())

    def close(self) -> None:
        self._task.cancel()

    async def _check(self) -> None:
        while True:
            await asyncio.sleep(_CHECK_SECONDS)
            try:
                if self._size.is_due(self._most):
                    await asyncio.to_thread(self._size.measure)
            except OSError:  # the draft was dropped
                return
            if self._size.bytes > self._most:
                self._stop()
                return


def measure_bytes(folder: str) -> int:
    """The bytes that a folder takes on disk."""
    total, waiting = 0, [folder]
    while waiting:
        try:
            for entry in os.scandir(waiting.pop()):
                status = entry.stat(follow_symlinks=False)
                total += status.st_blocks * 512
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            continue
    return total
