"""Enforces limits that the kernel does not: root's process count, shared memory and free disk space.

Programs are checked in turn, so that a check is cheap however many there are. For root the kernel does not count
processes, so the machine's total is checked often; when it jumps, every program is checked. When a disk is almost full,
the program that wrote most since its last check is ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import os

from doorward.sandbox.disk import is_short
from doorward.sandbox.kept import Kept, KeptProfile
from doorward.sandbox.usage import tasks_of_the_machine, usage

_ROUND = 10.0
"""Seconds in which every program is checked once."""
_PACE = 0.25
_PACE_AS_ROOT = 0.05
_JUMP = 32
"""When the machine has this many more tasks than at the last full check, every program is checked."""
_MUCH = 1_000_000
"""A program that wrote fewer bytes than this is not ended for a full disk."""


class _Watched:
    def __init__(self, profile: KeptProfile) -> None:
        self.profile = profile
        self.written = 0
        """Bytes written at the last check."""
        self.disks: dict[int, str] = {}
        for path in (profile.home, *profile.write):
            with contextlib.suppress(OSError):  # the path was removed as the program started
                self.disks[os.stat(path).st_dev] = path


class Watching:
    def __init__(self, keep_free: int) -> None:
        self._keep_free = keep_free
        self._watched: dict[Kept, _Watched] = {}
        self._disks: dict[int, str] = {}
        """One folder on each disk that a program may write to."""
        self._turns: list[Kept] = []
        self._timer: asyncio.TimerHandle | None = None
        self._due = self._disks_due = 0.0
        """Loop times of the next program check and the next disk check."""
        self._counts = os.geteuid() == 0
        """Whether Doorward counts processes itself, because the kernel does not count those of root."""
        self._tasks = 0

    def add(self, kept: Kept, profile: KeptProfile) -> None:
        self._watched[kept] = watched = _Watched(profile)
        self._disks |= watched.disks
        if self._timer is None:
            self._again()

    def remove(self, kept: Kept) -> None:
        self._watched.pop(kept, None)
        if not self._watched and self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._due = self._disks_due = 0.0
            self._disks.clear()

    def _again(self) -> None:
        pace = _PACE_AS_ROOT if self._counts else _PACE
        self._timer = asyncio.get_running_loop().call_later(min(pace, self._pause()), self._tick)

    def _pause(self) -> float:
        return _ROUND / len(self._watched)

    def _tick(self) -> None:
        now = asyncio.get_running_loop().time()
        if self._counts and self._jumped():
            for kept in list(self._watched):
                self._look(kept)
        elif now >= self._due:
            self._due = now + self._pause()
            self._turns = self._turns or list(self._watched)
            self._look(self._turns.pop())
        if now >= self._disks_due:
            self._disks_due = now + _PACE
            self._look_at_disks()
        if self._watched:
            self._again()

    def _jumped(self) -> bool:
        tasks = tasks_of_the_machine()
        if tasks > self._tasks + _JUMP:
            self._tasks = tasks
            return True
        self._tasks = min(self._tasks, tasks)
        return False

    def _look(self, kept: Kept) -> int:
        """End a program that uses too much; return how much it wrote since the last check."""
        watched = self._watched.get(kept)
        if watched is None:
            return 0
        profile = watched.profile
        most = profile.processes + 1  # the first process belongs to the sandbox
        used = usage(kept.first, most)
        if used.tasks > most:
            kept.stop("processes")
        elif used.largest > profile.memory_bytes:
            kept.stop("memory")
        since, watched.written = used.written - watched.written, used.written
        return since

    def _look_at_disks(self) -> None:
        for device, folder in list(self._disks.items()):
            try:
                if not is_short(folder, self._keep_free):
                    continue
            except OSError:  # the folder is gone; the next program on that disk adds another
                del self._disks[device]
                continue
            written = {kept: self._look(kept) for kept, one in list(self._watched.items()) if device in one.disks}
            most = max(written, key=written.__getitem__, default=None)
            if most is not None and written[most] >= _MUCH:
                most.stop("disk")
