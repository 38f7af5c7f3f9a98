"""Watching kept programs for what the kernel does not limit: root's processes, shared memory, and room on the disk.

One is looked at after the other, so that a look costs little however many there are. Where the kernel does not count
processes, the number of all on the machine is watched closely: when it jumps, every program is looked at. And when a
disk has little room left, whoever wrote most since it was last looked at is ended: the others are not to suffer for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os

from doorward.sandbox.disk import is_short
from doorward.sandbox.kept import Kept, KeptProfile
from doorward.sandbox.usage import tasks_of_the_machine, usage

_ROUND = 10.0
"""Seconds in which every program is looked at once."""
_PACE = 0.25
_PACE_AS_ROOT = 0.05
_JUMP = 32
"""This many more processes and threads on the machine than at the last look at everything are worth another."""
_MUCH = 1_000_000
"""Whoever wrote fewer bytes than this does not fill a disk."""


class _Watched:
    def __init__(self, profile: KeptProfile) -> None:
        self.profile = profile
        self.written = 0
        """What it had written at the last look."""
        self.disks: dict[int, str] = {}
        for path in (profile.home, *profile.write):
            with contextlib.suppress(OSError):  # it went away as the program started
                self.disks[os.stat(path).st_dev] = path


class Watching:
    def __init__(self, keep_free: int) -> None:
        self._keep_free = keep_free
        self._watched: dict[Kept, _Watched] = {}
        self._disks: dict[int, str] = {}
        """One folder on each disk that somebody may write to."""
        self._turns: list[Kept] = []
        self._timer: asyncio.TimerHandle | None = None
        self._due = self._disks_due = 0.0
        """When, by the loop's time, the next one has its turn, and when the disks have theirs."""
        self._counts = os.geteuid() == 0
        """Whether Doorward has to count processes: the kernel does not count those of root."""
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
        """End a program that uses too much; how much it wrote since the last look."""
        watched = self._watched.get(kept)
        if watched is None:
            return 0
        profile = watched.profile
        most = profile.processes + 1  # the first is the sandbox's own
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
            except OSError:  # the folder is gone: others on that disk bring another with them
                del self._disks[device]
                continue
            written = {kept: self._look(kept) for kept, one in list(self._watched.items()) if device in one.disks}
            most = max(written, key=written.__getitem__, default=None)
            if most is not None and written[most] >= _MUCH:
                most.stop("disk")
