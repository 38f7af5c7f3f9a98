"""Two clocks: the wall clock for records, and a monotonic one for limits."""

from __future__ import annotations

import functools
import time
from datetime import UTC, datetime
from pathlib import Path


class Clock:
    """`steady` counts seconds since boot, sleep included, and ignores changes of the wall clock.

    `now` is the wall clock at the start of the process plus the steady time since. Stored deadlines compare with it,
    and setting the clock while a request waits changes nothing.
    """

    def __init__(self) -> None:
        self._offset = time.time() - self.steady()

    steady = staticmethod(functools.partial(time.clock_gettime, time.CLOCK_BOOTTIME))
    """Called several times in every request, so it is the C function itself."""

    def now(self) -> float:
        return self._offset + self.steady()

    def boot(self) -> str:
        """The id of the machine's boot, which steady times belong to."""
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()

    def wall_us(self) -> int:
        """Microseconds since 1970, for the ledger."""
        return time.time_ns() // 1_000


def to_iso(seconds: float) -> str:
    """Format a time for results: `2026-11-16T08:00:00.000Z`."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
