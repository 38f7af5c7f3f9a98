"""Watches what a program uses: its processes, and the memory of all of them together."""

import os
import time
from collections.abc import Iterator, Sequence
from typing import Any

_COUNT_PAUSE_MS = 5
"""Between two counts of processes alone, which cost little. A fork bomb doubles in less than this."""
_LEAST_PAUSE_MS, _MOST_PAUSE_MS = 25, 250
_SHARE = 20
"""A check may take one part in this many of the time."""
_FACTS = (b"Threads", b"RssAnon", b"RssShmem", b"VmSwap")
_EXACT_FACTS = (b"Pss_Anon", b"Pss_Shmem", b"SwapPss")
_MEMORY_FILE = "/memfd:"


class UsageWatch:
    """Checks the processes in this process's /proc, which are those of its program."""

    def __init__(self, setup: dict[str, Any], scratch: Sequence[int]) -> None:
        """`scratch` are descriptors of folders in memory that count as memory of the program."""
        limits = setup["limits"]
        self._processes = limits["processes"]
        self._memory = limits.get("together", 0)
        self._scratch = scratch
        self._me = os.getpid()
        self._shared = _shared_memory()
        """Shared memory of the whole machine before the program began."""
        self.pause: int | None = _LEAST_PAUSE_MS if self._memory else _COUNT_PAUSE_MS if setup["count"] else None
        """Milliseconds until the next check; None where nothing has to be checked."""

    def find_excess(self) -> str:
        """The limit that the program exceeds now: processes, memory, or none."""
        if not self._memory:
            return "processes" if len(self._list_processes()) > self._processes else ""
        begun = time.monotonic()
        tasks, used = self._measure()
        spent = (time.monotonic() - begun) * 1000
        self.pause = int(min(_MOST_PAUSE_MS, max(_LEAST_PAUSE_MS, spent * _SHARE)))
        if tasks > self._processes:
            return "processes"
        return "memory" if used > self._memory else ""

    def _measure(self) -> tuple[int, int]:
        """The number of processes and threads, and the bytes of memory they use together."""
        processes = self._list_processes()
        if len(processes) > self._processes:
            return len(processes), 0
        facts = [_read_facts(f"/proc/{process}/status", _FACTS) for process in processes]
        tasks = sum(one.get(b"Threads", 0) for one in facts)
        scratch = sum(_used_bytes(folder) for folder in self._scratch)
        alone = sum(one.get(b"RssAnon", 0) + one.get(b"VmSwap", 0) for one in facts) * 1024
        shared = sum(one.get(b"RssShmem", 0) for one in facts) * 1024
        # Files without a name are in memory too, and need not be mapped. The machine's total shows that there are some.
        used = alone + scratch + max(shared, _shared_memory() - self._shared - scratch)
        if tasks <= self._processes and used > self._memory:
            # That is the most it can be: pages that processes share were counted for each. Measuring takes longer.
            used = scratch + _measure_exactly(processes)
        return tasks, used

    def _list_processes(self) -> list[int]:
        try:
            return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != self._me]
        except OSError:
            return []


def can_measure() -> bool:
    """Whether this process has a /proc in which it sees itself."""
    return os.path.exists(f"/proc/{os.getpid()}/status")


def _measure_exactly(processes: list[int]) -> int:
    """The memory of processes in bytes. Pages that several share, and each file without a name, count once."""
    alone = shared = 0
    for process in processes:
        found = _read_facts(f"/proc/{process}/smaps_rollup", _EXACT_FACTS)
        if not found:  # the kernel does not say, or the process has ended meanwhile and nothing is found here either
            found = _read_facts(f"/proc/{process}/status", _FACTS)
        alone += sum(found.get(name, 0) for name in (b"Pss_Anon", b"SwapPss", b"RssAnon", b"VmSwap"))
        shared += found.get(b"Pss_Shmem", 0) + found.get(b"RssShmem", 0)
    files = {one: size for process in processes for one, size in _list_memory_files(process)}
    return alone * 1024 + max(shared * 1024, sum(files.values()))


def _list_memory_files(process: int) -> Iterator[tuple[tuple[int, int], int]]:
    """The files without a name that a process has open, with their sizes in memory."""
    folder = f"/proc/{process}/fd"
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        try:
            if os.readlink(f"{folder}/{name}").startswith(_MEMORY_FILE):
                facts = os.stat(f"{folder}/{name}")
                yield (facts.st_dev, facts.st_ino), facts.st_blocks * 512
        except OSError:  # closed meanwhile
            continue


def _shared_memory() -> int:
    """Bytes of shared memory and files in memory of the whole machine."""
    return _read_facts("/proc/meminfo", (b"Shmem",)).get(b"Shmem", 0) * 1024


def _read_facts(path: str, names: tuple[bytes, ...]) -> dict[bytes, int]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            text = os.read(descriptor, 8_192)
        finally:
            os.close(descriptor)
    except OSError:
        return {}
    return dict(_find_facts(text, names))


def _find_facts(text: bytes, names: tuple[bytes, ...]) -> Iterator[tuple[bytes, int]]:
    for name in names:
        _, found, rest = text.partition(b"\n" + name + b":")
        if found:
            yield name, int(rest[:32].split()[0])


def _used_bytes(folder: int) -> int:
    facts = os.fstatvfs(folder)
    return (facts.f_blocks - facts.f_bfree) * facts.f_frsize
