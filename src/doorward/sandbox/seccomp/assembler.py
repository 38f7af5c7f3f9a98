"""Assembles a policy into classic BPF, which the kernel runs before each system call.

The program is a decision tree whose leaves return, so no piece depends on the code after it: a branch is a test, the
code for yes and the code for no. System call numbers are found by binary search, seven or eight tests deep. A call that
is allowed with any arguments is tested with constants only, so that the kernel can cache the result.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from itertools import groupby

from doorward.sandbox.seccomp.machines import SeccompMachine
from doorward.sandbox.seccomp.rules import (
    LOWER_HALF,
    UNLISTED,
    ArgumentHasBits,
    ArgumentIs,
    CallDecision,
    Condition,
    SeccompAnswer,
)

Code = list[tuple[int, int, int, int]]
"""Instructions: opcode, jump if true, jump if false, constant."""

_LOAD, _AND, _RETURN, _JUMP = 0x20, 0x54, 0x06, 0x05
_EQUAL, _AT_LEAST, _HAS_ANY = 0x15, 0x35, 0x45
_FARTHEST = 255
"""A test can skip at most this many instructions; a jump can skip any number."""
_LONGEST = 4096
"""The kernel's limit on instructions."""

_NUMBER, _CONVENTION, _ARGUMENTS = 0, 4, 16
"""Offsets in the kernel's struct seccomp_data."""

_KILL_PROCESS = 0x8000_0000
_ERROR = 0x0005_0000
RETURNS: Mapping[SeccompAnswer, int] = {
    "allow": 0x7FFF_0000,
    "EPERM": _ERROR | 1,
    "ENOTTY": _ERROR | 25,
    "ENOSYS": _ERROR | 38,
    "EAFNOSUPPORT": _ERROR | 97,
}


def assemble(machine: SeccompMachine, policy: Mapping[str, CallDecision]) -> bytes:
    """Assemble the filter for one machine. Calls that the machine does not have are left out."""
    tree = _search(_ranges({machine.numbers[name]: policy[name] for name in policy if name in machine.numbers}))
    if machine.foreign_from is not None:
        tree = _branch(_AT_LEAST, machine.foreign_from, [(_RETURN, 0, 0, _KILL_PROCESS)], tree)
    known = [(_LOAD, 0, 0, _NUMBER), *tree]
    code = [
        (_LOAD, 0, 0, _CONVENTION),
        *_branch(_EQUAL, machine.audit, known, [(_RETURN, 0, 0, _KILL_PROCESS)]),
    ]
    if len(code) > _LONGEST:
        raise ValueError(f"A filter may have {_LONGEST} instructions; this one would have {len(code)}.")
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in code)


def _ranges(by_number: Mapping[int, CallDecision]) -> list[tuple[int, CallDecision]]:
    """List each number at which the decision changes, with the new decision. The last range has no end."""
    unlisted = CallDecision((), UNLISTED)
    numbers = range(max(by_number) + 2)
    runs = groupby(numbers, key=lambda number: by_number.get(number, unlisted))
    return [(next(run), decision) for decision, run in runs]


def _search(ranges: list[tuple[int, CallDecision]]) -> Code:
    if len(ranges) == 1:
        return _decide(ranges[0][1])
    middle = len(ranges) // 2
    return _branch(_AT_LEAST, ranges[middle][0], _search(ranges[middle:]), _search(ranges[:middle]))


def _decide(decision: CallDecision) -> Code:
    code: Code = [(_RETURN, 0, 0, RETURNS[decision.otherwise])]
    for case in reversed(decision.cases):
        applies: Code = [(_RETURN, 0, 0, RETURNS[case.answer])]
        for condition in reversed(case.when):
            applies = _test(condition, applies, code)
        code = applies
    return code


def _test(condition: Condition, yes: Code, no: Code) -> Code:
    lower = _ARGUMENTS + 8 * condition.argument
    load = (_LOAD, 0, 0, lower)
    if isinstance(condition, ArgumentHasBits):
        return [load, *_branch(_HAS_ANY, condition.bits, yes, no)]
    if isinstance(condition, ArgumentIs):
        masked = [] if condition.mask == LOWER_HALF else [(_AND, 0, 0, condition.mask)]
        found = no
        for value in reversed(condition.values):
            found = _branch(_EQUAL, value, yes, found)
        return [load, *masked, *found]
    whole = [load, *_branch(_EQUAL, condition.value & LOWER_HALF, yes, no)]
    return [(_LOAD, 0, 0, lower + 4), *_branch(_EQUAL, condition.value >> 32, whole, no)]


def _branch(test: int, constant: int, yes: Code, no: Code) -> Code:
    if len(yes) <= _FARTHEST:
        return [(test, 0, len(yes), constant), *yes, *no]
    return [(test, 1, 0, constant), (_JUMP, 0, 0, len(yes)), *yes, *no]
