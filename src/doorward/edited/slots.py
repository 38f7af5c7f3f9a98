"""Slots of a phrase that people teach: the words between braces, such as {branch} in "ship {branch} to staging"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doorward.edited.published import Fault

SLOT = re.compile(r"\{([a-zA-Z]\w{0,40})\}")
MOST_SLOTS = 8
"""So many slots a phrase may have, each with words between it and the next."""


def slot_faults(says: str, path: tuple[str | int, ...]) -> Iterator[Fault]:
    """Why no sentence could ever be told to be said like this phrase."""
    slots = SLOT.findall(says)
    if len(slots) > MOST_SLOTS:
        yield Fault(path, f"it has {len(slots)} slots; valid: at most {MOST_SLOTS}")
    if not all(SLOT.split(says)[2:-1:2]):
        yield Fault(path, "two slots stand side by side; valid: words between them, such as {branch} to {place}")
