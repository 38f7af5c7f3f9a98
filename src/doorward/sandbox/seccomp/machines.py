"""The facts about each processor: how the kernel names it to a filter, and its numbers of system calls."""

from __future__ import annotations

from importlib import resources

import msgspec

from doorward.sandbox.seccomp.shipped import MACHINES

TABLE = "numbers.txt"

_AUDIT = {"x86_64": 0xC000_003E, "aarch64": 0xC000_00B7}
_FOREIGN = {"x86_64": 0x4000_0000, "aarch64": None}


class Machine(msgspec.Struct, frozen=True):
    name: str
    audit: int
    """The kernel's name for the convention by which a call was made. One processor has several, and each numbers the
    calls in its own way; a call by another convention than this one would be read wrongly, so it ends the process."""
    foreign_from: int | None
    """From this number on, calls belong to a second convention that shares the name of the first."""
    numbers: dict[str, int]


def machines() -> list[Machine]:
    """The machines that there are filters for."""
    table = resources.files(__package__).joinpath(TABLE).read_text("ascii").splitlines()
    rows = [line.split() for line in table if line and not line.startswith("#")]
    return [
        Machine(name, _AUDIT[name], _FOREIGN[name], {row[0]: int(row[n]) for row in rows if row[n] != "-"})
        for n, name in enumerate(MACHINES, start=1)
    ]
