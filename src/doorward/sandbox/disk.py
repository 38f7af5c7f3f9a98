"""Stops a program before it fills the disk of its workspace."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

_EVERY = 0.25
_FEWEST_NAMES = 1_000
"""Minimum number of free inodes: every file takes one, however small it is."""


class DiskWatch:
    """Calls `stop` when less than `keep_free` bytes are left."""

    def __init__(self, folder: str, keep_free: int, stop: Callable[[], None]) -> None:
        self._folder = folder
        self._keep_free = keep_free
        self._stop = stop
        self._timer = asyncio.get_running_loop().call_later(_EVERY, self._look)

    def close(self) -> None:
        self._timer.cancel()

    def _look(self) -> None:
        if is_short(self._folder, self._keep_free):
            self._stop()
        else:
            self._timer = asyncio.get_running_loop().call_later(_EVERY, self._look)


def is_short(folder: str, keep_free: int) -> bool:
    """Whether the folder's disk has less than `keep_free` bytes, or hardly any inodes, left."""
    facts = os.statvfs(folder)
    no_names_left = facts.f_files > 0 and facts.f_favail < _FEWEST_NAMES
    return facts.f_bavail * facts.f_frsize < keep_free or no_names_left
