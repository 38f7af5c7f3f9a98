"""Short identifiers that sort by the time they were made."""

from __future__ import annotations

import random
import time

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_PAIRS = [first + second for first in _ALPHABET for second in _ALPHABET]


def new_id() -> str:
    """Sixteen characters: nine of milliseconds, seven of chance. Easy to read aloud, no look-alikes.

    An id is a name, not a secret: whoever shows one is still asked who they are.
    """
    number = (time.time_ns() // 1_000_000 << 35) | random.getrandbits(35)
    low, high = number & 0xFFFFFFFFFF, number >> 40
    return (
        f"{_PAIRS[high >> 30]}{_PAIRS[high >> 20 & 1023]}{_PAIRS[high >> 10 & 1023]}{_PAIRS[high & 1023]}"
        f"{_PAIRS[low >> 30]}{_PAIRS[low >> 20 & 1023]}{_PAIRS[low >> 10 & 1023]}{_PAIRS[low & 1023]}"
    )
