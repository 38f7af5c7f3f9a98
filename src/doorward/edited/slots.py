"""Slots of a taught phrase: the words in braces, such as {branch} in "ship {branch} to staging"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doorward.edited.published import Fault

SLOT = re.compile(r"\{([a-zA-Z]\w{0,40})\}")
MOST_SLOTS = 8
"""The most slots that a phrase may have, with words between each two."""


def slot_faults(says: str, path: tuple[str | int, ...]) -> Iterator[Fault]:
    """Reasons why no sentence can match this phrase."""
    slots = SLOT.findall(says)
    if len(slots) > MOST_SLOTS:
        yield Fault(path, f"it has {len(slots)} slots; valid: at most {MOST_SLOTS}")
    if not all(SLOT.split(says)[2:-1:2]):
        yield Fault(path, "two slots are adjacent; valid: words between them, such as {branch} to {place}")
