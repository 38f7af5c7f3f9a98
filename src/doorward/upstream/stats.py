"""Statistics and the recent log of a server."""

from __future__ import annotations

import os
from collections import deque
from pathlib import Path
from typing import Any

import msgspec

from doorward.core.clock import Clock, to_iso
from doorward.upstream.secret_mask import SecretMask

_KEPT_DURATIONS = 512
_PAGE = os.sysconf("SC_PAGE_SIZE")
_MOST_PROCESSES = 1_000


class ServerStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """Statistics for display. Durations are those of the last calls, in milliseconds."""

    calls: int
    failures: int
    timeouts: int
    faults: int
    """Invalid messages and unsolicited responses."""
    starts: int
    restarts: int
    up_since: str | None
    p50_ms: float | None
    p99_ms: float | None
    last_error: str
    last_error_at: str | None
    processes: int
    memory_bytes: int

    def with_faults(self, more: int) -> ServerStatistics:
        """Add the faults of the open connection."""
        return msgspec.structs.replace(self, faults=self.faults + more)


class ServerCounters:
    def __init__(self) -> None:
        self.calls = 0
        self.failures = 0
        self.timeouts = 0
        self.faults = 0
        self.starts = 0
        self.up_since: float | None = None
        self._last: tuple[str, float] | None = None
        self._durations: list[float] = []
        self._next = 0

    def record_duration(self, seconds: float) -> None:
        if len(self._durations) < _KEPT_DURATIONS:
            self._durations.append(seconds)
        else:
            self._durations[self._next] = seconds
            self._next = (self._next + 1) % _KEPT_DURATIONS

    def record_error(self, sentence: str, at: float) -> None:
        self._last = (sentence, at)

    def snapshot(self, process: int | None) -> ServerStatistics:
        processes, memory = measure_processes(process) if process is not None else (0, 0)
        sentence, at = self._last or ("", None)
        return ServerStatistics(
            calls=self.calls,
            failures=self.failures,
            timeouts=self.timeouts,
            faults=self.faults,
            starts=self.starts,
            restarts=max(self.starts - 1, 0),
            up_since=to_iso(self.up_since) if self.up_since is not None else None,
            p50_ms=self._percentile(0.50),
            p99_ms=self._percentile(0.99),
            last_error=sentence,
            last_error_at=to_iso(at) if at is not None else None,
            processes=processes,
            memory_bytes=memory,
        )

    def _percentile(self, share: float) -> float | None:
        if not self._durations:
            return None
        ordered = sorted(self._durations)
        return round(ordered[min(int(share * len(ordered)), len(ordered) - 1)] * 1_000, 3)


def measure_processes(process: int) -> tuple[int, int]:
    """Count a process and its descendants, and sum up their resident memory."""
    count = memory = 0
    waiting: list[Any] = [process]
    while waiting and count < _MOST_PROCESSES:
        one = waiting.pop()
        folder = Path("/proc") / str(one)
        try:
            memory += int((folder / "statm").read_text().split()[1]) * _PAGE
            for task in (folder / "task").iterdir():
                waiting.extend((task / "children").read_text().split())
        except (OSError, IndexError, ValueError):  # the process ended meanwhile
            continue
        count += 1
    return count, memory


_MAX_LINES = 500
_MAX_LINE_LENGTH = 500


class LogBuffer:
    def __init__(self, clock: Clock, discretion: SecretMask) -> None:
        self._clock = clock
        self._discretion = discretion
        self._kept: deque[tuple[float, str, str]] = deque(maxlen=_MAX_LINES)

    def add(self, source: str, line: str) -> None:
        self._kept.append((self._clock.now(), source, self._discretion.mask_text(line, _MAX_LINE_LENGTH)))

    def lines(self) -> tuple[str, ...]:
        """The lines, oldest first, each with its time and source."""
        return tuple(f"{to_iso(at)} {source}: {line}" for at, source, line in self._kept)
