"""Enforces limits that the kernel does not: process count of root, shared memory and free disk space."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Iterator

import msgspec

from doorward.sandbox.long_running import LongRunningProfile, LongRunningProgram

_NUMBERS = (b"Threads", b"RssAnon", b"RssShmem", b"wchar", b"write_bytes")


class Usage(msgspec.Struct, frozen=True):
    tasks: int
    """Processes and threads."""
    largest: int
    """Memory in bytes of the largest process, with shared memory, without mapped files."""
    written: int
    """A measure of how much was written to files and elsewhere; only for comparison."""


def measure_usage(first: int, most: int) -> Usage:
    """Measure a process and its descendants. Stops counting at more than `most` tasks."""
    tasks = largest = written = 0
    for process in _descendants(first):
        facts = _read_numbers(process)
        tasks += facts.get(b"Threads", 0)
        largest = max(largest, (facts.get(b"RssAnon", 0) + facts.get(b"RssShmem", 0)) * 1024)
        written += facts.get(b"wchar", 0) + facts.get(b"write_bytes", 0)
        if tasks > most:
            break
    return Usage(tasks, largest, written)


def count_machine_tasks() -> int:
    """Count the tasks on the machine: the fourth field of /proc/loadavg is runnable/total."""
    try:
        return int(_read_proc("/proc/loadavg").split()[3].partition(b"/")[2])
    except (OSError, ValueError, IndexError):
        return 0


def _descendants(process: int) -> Iterator[int]:
    waiting = [process]
    while waiting:
        process = waiting.pop()
        yield process
        try:
            for task in os.listdir(f"/proc/{process}/task"):
                waiting += [int(child) for child in _read_proc(f"/proc/{process}/task/{task}/children").split()]
        except OSError:
            continue


def _read_numbers(process: int) -> dict[bytes, int]:
    """Read the numbers of a process from /proc. Numbers that the kernel does not report are missing."""
    found = {}
    for name in ("status", "io"):
        try:
            lines = _read_proc(f"/proc/{process}/{name}").splitlines()
        except OSError:
            continue
        for line in lines:
            key, _, rest = line.partition(b":")
            if key in _NUMBERS:
                found[key] = int(rest.split()[0])
    return found


def _read_proc(path: str) -> bytes:
    """Read a file with plain system calls, because this runs thousands of times."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, 65_536)
    finally:
        os.close(descriptor)


_DISK_CHECK_SECONDS = 0.25
_MIN_INODES = 1_000
"""Minimum number of free inodes: every file takes one, however small it is."""


class DiskWatch:
    """Calls `stop` when less than `keep_free` bytes are left."""

    def __init__(self, folder: str, keep_free: int, stop: Callable[[], None]) -> None:
        self._folder = folder
        self._keep_free = keep_free
        self._stop = stop
        self._timer = asyncio.get_running_loop().call_later(_DISK_CHECK_SECONDS, self._check)

    def close(self) -> None:
        self._timer.cancel()

    def _check(self) -> None:
        if is_disk_short(self._folder, self._keep_free):
            self._stop()
        else:
            self._timer = asyncio.get_running_loop().call_later(_DISK_CHECK_SECONDS, self._check)


def is_disk_short(folder: str, keep_free: int) -> bool:
    """Whether the folder's disk has less than `keep_free` bytes, or hardly any inodes, left."""
    facts = os.statvfs(folder)
    no_names_left = facts.f_files > 0 and facts.f_favail < _MIN_INODES
    return facts.f_bavail * facts.f_frsize < keep_free or no_names_left


_ROUND = 10.0
"""Seconds in which every program is checked once."""
_TICK = 0.25
_TICK_AS_ROOT = 0.05
_JUMP = 32
"""When the machine has this many more tasks than at the last full check, every program is checked."""
_MIN_WRITTEN = 1_000_000
"""A program that wrote fewer bytes than this is not ended for a full disk."""


class _WatchedProgram:
    def __init__(self, profile: LongRunningProfile) -> None:
        self.profile = profile
        self.written = 0
        """Bytes written at the last check."""
        self.disks: dict[int, str] = {}
        for path in (profile.home, *profile.write):
            with contextlib.suppress(OSError):  # the path was removed as the program started
                self.disks[os.stat(path).st_dev] = path


class ResourceWatch:
    def __init__(self, keep_free: int) -> None:
        self._keep_free = keep_free
        self._watched: dict[LongRunningProgram, _WatchedProgram] = {}
        self._disks: dict[int, str] = {}
        """One folder on each disk that a program may write to."""
        self._turns: list[LongRunningProgram] = []
        self._timer: asyncio.TimerHandle | None = None
        self._due = self._disks_due = 0.0
        """Loop times of the next program check and the next disk check."""
        self._counts_tasks = os.geteuid() == 0
        """Whether Doorward counts processes itself, because the kernel does not count those of root."""
        self._tasks = 0

    def add(self, kept: LongRunningProgram, profile: LongRunningProfile) -> None:
        self._watched[kept] = watched = _WatchedProgram(profile)
        self._disks |= watched.disks
        if self._timer is None:
            self._schedule()

    def remove(self, kept: LongRunningProgram) -> None:
        self._watched.pop(kept, None)
        if not self._watched and self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._due = self._disks_due = 0.0
            self._disks.clear()

    def _schedule(self) -> None:
        pace = _TICK_AS_ROOT if self._counts_tasks else _TICK
        self._timer = asyncio.get_running_loop().call_later(min(pace, self._pause()), self._tick)

    def _pause(self) -> float:
        return _ROUND / len(self._watched)

    def _tick(self) -> None:
        now = asyncio.get_running_loop().time()
        if self._counts_tasks and self._tasks_jumped():
            for kept in list(self._watched):
                self._check(kept)
        elif now >= self._due:
            self._due = now + self._pause()
            self._turns = self._turns or list(self._watched)
            self._check(self._turns.pop())
        if now >= self._disks_due:
            self._disks_due = now + _TICK
            self._check_disks()
        if self._watched:
            self._schedule()

    def _tasks_jumped(self) -> bool:
        tasks = count_machine_tasks()
        if tasks > self._tasks + _JUMP:
            self._tasks = tasks
            return True
        self._tasks = min(self._tasks, tasks)
        return False

    def _check(self, kept: LongRunningProgram) -> int:
        """End a program that uses too much; return how much it wrote since the last check."""
        watched = self._watched.get(kept)
        if watched is None:
            return 0
        profile = watched.profile
        most = profile.processes + 1  # the first process belongs to the sandbox
        used = measure_usage(kept.first, most)
        if used.tasks > most:
            kept.stop("processes")
        elif used.largest > profile.memory_bytes:
            kept.stop("memory")
        since, watched.written = used.written - watched.written, used.written
        return since

    def _check_disks(self) -> None:
        for device, folder in list(self._disks.items()):
            try:
                if not is_disk_short(folder, self._keep_free):
                    continue
            except OSError:  # the folder is gone; the next program on that disk adds another
                del self._disks[device]
                continue
            written = {kept: self._check(kept) for kept, one in list(self._watched.items()) if device in one.disks}
            most = max(written, key=written.__getitem__, default=None)
            if most is not None and written[most] >= _MIN_WRITTEN:
                most.stop("disk")
