"""The words that a policy on system calls is written in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

Answer = Literal["allow", "EPERM", "ENOSYS", "EAFNOSUPPORT", "ENOTTY"]
"""Let the call happen, or let it fail with this error and not happen."""

UNLISTED: Answer = "ENOSYS"
"""What a call gets that no group names. Programs take it for an older kernel, and do without."""

LOWER_HALF = 0xFFFF_FFFF


class Is(msgspec.Struct, frozen=True):
    """The lower half of an argument, seen through a mask, is one of these values.

    This is for arguments that the kernel declares as int or shorter: it does not look at the upper half, so neither
    may the filter, or bits put there would make one value look like another.
    """

    argument: int
    values: tuple[int, ...]
    mask: int = LOWER_HALF


class Has(msgspec.Struct, frozen=True):
    """The lower half of an argument has at least one of these bits."""

    argument: int
    bits: int


class IsLong(msgspec.Struct, frozen=True):
    """All 64 bits of an argument are this value. This is for what the kernel declares as long, and for pointers."""

    argument: int
    value: int


Condition = Is | Has | IsLong


class Case(msgspec.Struct, frozen=True):
    """The answer when every condition holds."""

    answer: Answer
    when: tuple[Condition, ...]


class Decision(msgspec.Struct, frozen=True):
    """What happens to one call: the answer of the first case that applies, or else the last one."""

    cases: tuple[Case, ...]
    otherwise: Answer


class Group(msgspec.Struct, frozen=True):
    """Calls that are decided alike, and why. The names are separated by spaces."""

    why: str
    calls: str
    otherwise: Answer
    cases: tuple[Case, ...] = ()


def case(answer: Answer, *when: Condition) -> Case:
    return Case(answer, when)


def decisions(layers: Iterable[Iterable[Group]]) -> dict[str, Decision]:
    """The decision on each call by its name. A later layer replaces an earlier one; within one, a name stands once."""
    found: dict[str, Decision] = {}
    for layer in layers:
        named: dict[str, Decision] = {}
        for group in layer:
            for call in group.calls.split():
                if call in named:
                    raise ValueError(f"A call may stand in one group of a layer only; {call!r} stands in two.")
                named[call] = Decision(group.cases, group.otherwise)
        found |= named
    return found
