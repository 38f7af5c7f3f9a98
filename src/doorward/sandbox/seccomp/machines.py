"""Supported processors: their audit names and system call numbers."""

from __future__ import annotations

from importlib import resources

import msgspec

from doorward.sandbox.seccomp.filter_files import MACHINES

TABLE = "numbers.txt"

_AUDIT = {"x86_64": 0xC000_003E, "aarch64": 0xC000_00B7}
_FOREIGN = {"x86_64": 0x4000_0000, "aarch64": None}


class SeccompMachine(msgspec.Struct, frozen=True):
    name: str
    audit: int
    """The kernel's identifier of the calling convention. A processor has several, each with its own call numbers. A
    call by another convention would be misread, so it ends the process."""
    foreign_from: int | None
    """Call numbers from here on belong to a second convention with the same identifier."""
    numbers: dict[str, int]


def load_machines() -> list[SeccompMachine]:
    """Load the supported machines."""
    table = resources.files(__package__).joinpath(TABLE).read_text("ascii").splitlines()
    rows = [line.split() for line in table if line and not line.startswith("#")]
    return [
        SeccompMachine(name, _AUDIT[name], _FOREIGN[name], {row[0]: int(row[n]) for row in rows if row[n] != "-"})
        for n, name in enumerate(MACHINES, start=1)
    ]
