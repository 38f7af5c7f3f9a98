"""Short identifiers that sort by the time they were made."""

from __future__ import annotations

import random
import time

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_PAIRS = [first + second for first in _ALPHABET for second in _ALPHABET]
_SHIFTS = range(70, -1, -10)


def new_id() -> str:
    """Sixteen characters: nine of milliseconds, seven of chance. Easy to read aloud, no look-alikes.

    An id is a name, not a secret: whoever shows one is still asked who they are.
    """
    number = (time.time_ns() // 1_000_000 << 35) | random.getrandbits(35)
    return "".join([_PAIRS[number >> shift & 1023] for shift in _SHIFTS])
