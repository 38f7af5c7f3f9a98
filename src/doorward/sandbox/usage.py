"""What a process and everything that came of it use, as the kernel tells it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import msgspec

_FACTS = (b"Threads", b"RssAnon", b"RssShmem", b"wchar", b"write_bytes")


class Usage(msgspec.Struct, frozen=True):
    tasks: int
    """Processes and threads."""
    largest: int
    """The bytes of memory that the largest process has, what it shares included, files not."""
    written: int
    """A measure of how much it wrote to files and elsewhere, for comparing."""


def usage(first: int, most: int) -> Usage:
    """Those of a process and its descendants; it counts no further once there are more tasks than `most`."""
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
    """The fourth word says how many could run now, and how many there are."""
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
    """The numbers in what the kernel tells of a process; those that it does not tell are missing."""
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
    """Plainly: this is done thousands of times."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, 65_536)
    finally:
        os.close(descriptor)
