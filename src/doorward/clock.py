"""Two times: the wall's, for records people read, and a steady one, for limits nobody may jump over."""

from __future__ import annotations

import functools
import time
from datetime import UTC, datetime
from pathlib import Path


class Clock:
    """`steady` counts seconds since boot, through sleep, and does not move when the wall clock is set.

    `now` is the wall clock as it was when this process started, moved on by the steady one: deadlines that are
    stored can be compared with it, and setting the clock while a request waits changes nothing.
    """

    def __init__(self) -> None:
        self._offset = time.time() - self.steady()

    steady = staticmethod(functools.partial(time.clock_gettime, time.CLOCK_BOOTTIME))
    """Asked several times in every call, so there is nothing of ours in between."""

    def now(self) -> float:
        return self._offset + self.steady()

    def boot(self) -> str:
        """Which boot of the machine the steady times belong to."""
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()

    def wall_us(self) -> int:
        """Microseconds since 1970, for the ledger."""
        return time.time_ns() // 1_000


def iso(seconds: float) -> str:
    """A time as results show it: `2026-11-16T08:00:00.000Z`."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
