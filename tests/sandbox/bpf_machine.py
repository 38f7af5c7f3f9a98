"""A machine that runs classic BPF as the kernel does for seccomp, and refuses what the kernel would refuse."""

from __future__ import annotations

import struct
from collections.abc import Sequence

KILLED = 0x8000_0000
ALLOWED = 0x7FFF_0000
_ERROR = 0x0005_0000
_LONGEST = 4096
_DATA = struct.Struct("<IIQ6Q")
_INSTRUCTION = struct.Struct("<HBBI")
_HALF = 0xFFFF_FFFF


def refused(errno: int) -> int:
    return _ERROR | errno


class Machine:
    """One filter, checked once, run as often as wanted."""

    def __init__(self, code: bytes) -> None:
        self.instructions = list(_INSTRUCTION.iter_unpack(code))
        assert 0 < len(self.instructions) <= _LONGEST
        self.instructions_run = 0

    def run(self, audit: int, number: int, arguments: Sequence[int] = ()) -> int:
        """What the filter answers to one call."""
        wide = [argument & 0xFFFF_FFFF_FFFF_FFFF for argument in arguments]
        data = _DATA.pack(number, audit, 0x7F00_0000_1000, *wide, *[0] * (6 - len(wide)))
        self.instructions_run = accumulator = at = 0
        while True:
            code, if_true, if_false, constant = self.instructions[at]
            self.instructions_run += 1
            at += 1
            match code:
                case 0x20:
                    assert constant % 4 == 0
                    assert constant + 4 <= len(data)
                    (accumulator,) = struct.unpack_from("<I", data, constant)
                case 0x54:
                    accumulator &= constant
                case 0x05:
                    at += constant
                case 0x15:
                    at += if_true if accumulator == constant else if_false
                case 0x35:
                    at += if_true if accumulator >= constant else if_false
                case 0x45:
                    at += if_true if accumulator & constant else if_false
                case 0x06:
                    return int(constant)
                case _:
                    raise AssertionError(f"instruction {code:#x} is none that a filter here uses")
