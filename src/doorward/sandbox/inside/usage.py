"""Watches what a program uses: its processes, and the memory of all of them together."""

import os
import time
from collections.abc import Iterator, Sequence
from typing import Any

_LEAST_PAUSE_MS, _MOST_PAUSE_MS = 25, 250
_SHARE = 20
"""A check may take one part in this many of the time."""
_FACTS = (b"Threads", b"RssAnon", b"RssShmem", b"VmSwap")
_SHARED_FACTS = (b"Pss_Anon", b"Pss_Shmem", b"SwapPss")


class UsageWatch:
    """Checks the processes in this process's /proc, which are those of its program."""

    def __init__(self, setup: dict[str, Any], scratch: Sequence[int]) -> None:
        """`scratch` are descriptors of folders in memory that count as memory of the program."""
        limits = setup["limits"]
        self._processes = limits["processes"]
        self._memory = limits.get("together", 0)
        self._scratch = scratch
        self._me = os.getpid()
        self.pause: int | None = _LEAST_PAUSE_MS if setup["count"] or self._memory else None
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
        used = scratch + sum(one.get(name, 0) for one in facts for name in _FACTS[1:]) * 1024
        if tasks <= self._processes and used > self._memory:
            # Pages that several processes share were counted for each of them. The exact number takes longer.
            used = scratch + sum(_read_shared(process, one) for process, one in zip(processes, facts, strict=True))
        return tasks, used

    def _list_processes(self) -> list[int]:
        try:
            return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != self._me]
        except OSError:
            return []


def can_measure() -> bool:
    """Whether this process has a /proc in which it sees itself."""
    return os.path.exists(f"/proc/{os.getpid()}/status")


def _read_shared(process: int, facts: dict[bytes, int]) -> int:
    """The memory of a process in bytes, with shared pages divided among those that share them."""
    found = _read_facts(f"/proc/{process}/smaps_rollup", _SHARED_FACTS)
    if not found:  # it has just ended, or the kernel does not say
        return sum(facts.get(name, 0) for name in _FACTS[1:]) * 1024
    return sum(found.values()) * 1024


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
