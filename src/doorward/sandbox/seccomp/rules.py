"""Types and argument values to write a system call policy with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

NEW_PIDS = 0x2000_0000
_NEW_TIMES, _NEW_MOUNTS, _NEW_CGROUPS, _NEW_HOST_NAMES = 0x80, 0x0002_0000, 0x0200_0000, 0x0400_0000
_NEW_IPC, _NEW_USERS, _NEW_NETWORK = 0x0800_0000, 0x1000_0000, 0x4000_0000
ALL_NAMESPACES = (
    _NEW_TIMES | _NEW_MOUNTS | _NEW_CGROUPS | _NEW_HOST_NAMES | _NEW_IPC | _NEW_USERS | NEW_PIDS | _NEW_NETWORK
)

PR_SET_MM = 35
PERSONALITY_LINUX = 0
PERSONALITY_QUERY = 0xFFFF_FFFF

_TIOCSTI, _TIOCLINUX, _TIOCSETD = 0x5412, 0x541C, 0x5423
TERMINAL_INPUT = (_TIOCSTI, _TIOCLINUX, _TIOCSETD)
REQUEST_KIND = 0xFF00
"""The bits of an ioctl request that name its device type."""
REQUESTS_OF_TERMINALS_AND_SOCKETS = (0x5400, 0x8900)
_FIGETBSZ, _GET_FLAGS, _GET_ATTRIBUTES, _EXTENTS = 0x2, 0x8008_6601, 0x801C_581F, 0xC020_660B
_CLONE, _CLONE_RANGE, _SHARE_RANGE = 0x4004_9409, 0x4020_940D, 0xC018_9436
REQUESTS_OF_FILES = (_FIGETBSZ, _GET_FLAGS, _GET_ATTRIBUTES, _EXTENTS, _CLONE, _CLONE_RANGE, _SHARE_RANGE)
"""Requests that read metadata of an open file, or share content between two open files."""

SET_ID = 0o6000
NODE_KIND = 0o170000
NODE_HARMLESS = (0, 0o100000, 0o010000, 0o140000)
"""Regular files (two values), pipes and sockets."""

_O_CREAT, _O_TMPFILE, _O_TRUNC = 0o100, 0o20000000, 0o1000
CREATES = _O_CREAT | _O_TMPFILE
ACCESS_MODE = 3
NEITHER_READ_NOR_WRITE = 3
CUT_MASK = _O_TRUNC | ACCESS_MODE
CUT_WHILE_READING = _O_TRUNC

FAMILY_UNIX, FAMILY_INET, FAMILY_INET6 = 1, 2, 10
FAMILIES = (FAMILY_UNIX, FAMILY_INET, FAMILY_INET6)
TYPE_MASK = 0xF
TYPE_STREAM, TYPE_SEQUENCED, TYPE_PACKET = 1, 5, 10

EVERYBODY = 0xFFFF_FFFF
"""-1 as a process id."""
OWN = 0
"""0 as a process or group id: the caller's own."""
PRIORITY_OF_PROCESS, PRIORITY_OF_GROUP = 0, 1
IO_PRIORITY_OF_PROCESS, IO_PRIORITY_OF_GROUP = 1, 2
_F_SETOWN, _F_SETOWN_EX = 8, 15
OWNER_OF_SIGNALS = (_F_SETOWN, _F_SETOWN_EX)
"""Requests of fcntl that name the process which gets signals about a file."""
_FIOSETOWN, _SIOCSPGRP = 0x8901, 0x8902
OWNER_OF_SOCKET_SIGNALS = (_FIOSETOWN, _SIOCSPGRP)
PR_SCHED_CORE = 62


SeccompAnswer = Literal["allow", "EPERM", "ENOSYS", "EAFNOSUPPORT", "ENOTTY"]
"""Allow the call, or make it fail with this error."""

UNLISTED: SeccompAnswer = "ENOSYS"
"""The answer for calls that no group lists. Programs take it for an older kernel and fall back."""

LOWER_HALF = 0xFFFF_FFFF


class ArgumentIs(msgspec.Struct, frozen=True):
    """The lower half of an argument, masked, is one of these values.

    Use it for arguments that the kernel declares as int or shorter. The kernel ignores the upper half, so the filter
    must too; otherwise bits in the upper half would make one value look like another.
    """

    argument: int
    values: tuple[int, ...]
    mask: int = LOWER_HALF


class ArgumentHasBits(msgspec.Struct, frozen=True):
    """The lower half of an argument has at least one of these bits."""

    argument: int
    bits: int


class ArgumentIsLong(msgspec.Struct, frozen=True):
    """All 64 bits of an argument equal this value. Use it for arguments declared as long, and for pointers."""

    argument: int
    value: int


Condition = ArgumentIs | ArgumentHasBits | ArgumentIsLong


class CallCase(msgspec.Struct, frozen=True):
    """The answer when every condition holds."""

    answer: SeccompAnswer
    when: tuple[Condition, ...]


class CallDecision(msgspec.Struct, frozen=True):
    """The decision for one call: the answer of the first case that applies, or else `otherwise`."""

    cases: tuple[CallCase, ...]
    otherwise: SeccompAnswer


class CallGroup(msgspec.Struct, frozen=True):
    """Calls with the same decision, and the reason. Names are separated by spaces."""

    why: str
    calls: str
    otherwise: SeccompAnswer
    cases: tuple[CallCase, ...] = ()


def make_case(answer: SeccompAnswer, *when: Condition) -> CallCase:
    return CallCase(answer, when)


def collect_decisions(layers: Iterable[Iterable[CallGroup]]) -> dict[str, CallDecision]:
    """Collect the decisions by call name. A later layer overrides an earlier one; a layer may list a name once."""
    found: dict[str, CallDecision] = {}
    for layer in layers:
        named: dict[str, CallDecision] = {}
        for group in layer:
            for call in group.calls.split():
                if call in named:
                    raise ValueError(f"A layer may list a call in one group only; {call!r} is in two.")
                named[call] = CallDecision(group.cases, group.otherwise)
        found |= named
    return found
