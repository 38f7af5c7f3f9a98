"""Types to write a system call policy with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

Answer = Literal["allow", "EPERM", "ENOSYS", "EAFNOSUPPORT", "ENOTTY"]
"""Allow the call, or make it fail with this error."""

UNLISTED: Answer = "ENOSYS"
"""The answer for calls that no group lists. Programs take it for an older kernel and fall back."""

LOWER_HALF = 0xFFFF_FFFF


class Is(msgspec.Struct, frozen=True):
    """The lower half of an argument, masked, is one of these values.

    Use it for arguments that the kernel declares as int or shorter. The kernel ignores the upper half, so the filter
    must too; otherwise bits in the upper half would make one value look like another.
    """

    argument: int
    values: tuple[int, ...]
    mask: int = LOWER_HALF


class Has(msgspec.Struct, frozen=True):
    """The lower half of an argument has at least one of these bits."""

    argument: int
    bits: int


class IsLong(msgspec.Struct, frozen=True):
    """All 64 bits of an argument equal this value. Use it for arguments declared as long, and for pointers."""

    argument: int
    value: int


Condition = Is | Has | IsLong


class Case(msgspec.Struct, frozen=True):
    """The answer when every condition holds."""

    answer: Answer
    when: tuple[Condition, ...]


class Decision(msgspec.Struct, frozen=True):
    """The decision for one call: the answer of the first case that applies, or else `otherwise`."""

    cases: tuple[Case, ...]
    otherwise: Answer


class Group(msgspec.Struct, frozen=True):
    """Calls with the same decision, and the reason. Names are separated by spaces."""

    why: str
    calls: str
    otherwise: Answer
    cases: tuple[Case, ...] = ()


def case(answer: Answer, *when: Condition) -> Case:
    return Case(answer, when)


def decisions(layers: Iterable[Iterable[Group]]) -> dict[str, Decision]:
    """Collect the decisions by call name. A later layer overrides an earlier one; a layer may list a name once."""
    found: dict[str, Decision] = {}
    for layer in layers:
        named: dict[str, Decision] = {}
        for group in layer:
            for call in group.calls.split():
                if call in named:
                    raise ValueError(f"A layer may list a call in one group only; {call!r} is in two.")
                named[call] = Decision(group.cases, group.otherwise)
        found |= named
    return found
