"""Short identifiers that sort by creation time."""

from __future__ import annotations

import random
import time

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_last = 0
_PAIRS = [first + second for first in _ALPHABET for second in _ALPHABET]


def new_id() -> str:
    """Make an id of sixteen characters: nine from the time in milliseconds, seven random. No look-alike characters.

    Ids of one process always increase, also within a millisecond and when the clock is set back. An id is not a secret.
    """
    global _last
    number = (time.time_ns() // 1_000_000 << 35) | random.getrandbits(35)
    if number <= _last:
        number = _last + 1 + random.getrandbits(16)
    _last = number
    low, high = number & 0xFFFFFFFFFF, number >> 40
    return (
        f"{_PAIRS[high >> 30]}{_PAIRS[high >> 20 & 1023]}{_PAIRS[high >> 10 & 1023]}{_PAIRS[high & 1023]}"
        f"{_PAIRS[low >> 30]}{_PAIRS[low >> 20 & 1023]}{_PAIRS[low >> 10 & 1023]}{_PAIRS[low & 1023]}"
    )
