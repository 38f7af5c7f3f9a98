"""Resource usage of a process and its descendants, read from /proc."""

from __future__ import annotations

import os
from collections.abc import Iterator

import msgspec

_FACTS = (b"Threads", b"RssAnon", b"RssShmem", b"wchar", b"write_bytes")


class Usage(msgspec.Struct, frozen=True):
    tasks: int
    """Processes and threads."""
    largest: int
    """Memory in bytes of the largest process, with shared memory, without mapped files."""
    written: int
    """A measure of how much was written to files and elsewhere; only for comparison."""


def usage(first: int, most: int) -> Usage:
    """Measure a process and its descendants. Stops counting at more than `most` tasks."""
    tasks = largest = written = 0
    for process in _descendants(first):
        facts = _facts(process)
        tasks += facts.get(b"Threads", 0)
        largest = max(largest, (facts.get(b"RssAnon", 0) + facts.get(b"RssShmem", 0)) * 1024)
        written += facts.get(b"wchar", 0) + facts.get(b"write_bytes", 0)
        if tasks > most:
            break
    return Usage(tasks, largest, written)


def tasks_of_the_machine() -> int:
    """Count the tasks on the machine: the fourth field of /proc/loadavg is runnable/total."""
    try:
        return int(_read("/proc/loadavg").split()[3].partition(b"/")[2])
    except (OSError, ValueError, IndexError):
        return 0


def _descendants(process: int) -> Iterator[int]:
    waiting = [process]
    while waiting:
        process = waiting.pop()
        yield process
        try:
            for task in os.listdir(f"/proc/{process}/task"):
                waiting += [int(child) for child in _read(f"/proc/{process}/task/{task}/children").split()]
        except OSError:
            continue


def _facts(process: int) -> dict[bytes, int]:
    """Read the numbers of a process from /proc. Numbers that the kernel does not report are missing."""
    found = {}
    for name in ("status", "io"):
        try:
            lines = _read(f"/proc/{process}/{name}").splitlines()
        except OSError:
            continue
        for line in lines:
            key, _, rest = line.partition(b":")
            if key in _FACTS:
                found[key] = int(rest.split()[0])
    return found


def _read(path: str) -> bytes:
    """Read a file with plain system calls, because this runs thousands of times."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, 65_536)
    finally:
        os.close(descriptor)
