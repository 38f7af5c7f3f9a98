"""Short identifiers that sort by the time they were made."""

from __future__ import annotations

import random
import time

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def new_id() -> str:
    """Sixteen characters: nine of milliseconds, seven of chance. Easy to read aloud, no look-alikes.

    An id is a name, not a secret: whoever shows one is still asked who they are.
    """
    number = (time.time_ns() // 1_000_000 << 35) | random.getrandbits(35)
    letters = []
    for _ in range(16):
        letters.append(_ALPHABET[number & 31])
        number >>= 5
    return "".join(reversed(letters))
