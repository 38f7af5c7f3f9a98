"""The previewed effect of a call, which people approve."""

from __future__ import annotations

import msgspec

LONGEST_PREVIEW = 10_000_000
"""The number of characters of a previewed effect that are stored for the people who decide."""


class EffectPreview(msgspec.Struct, frozen=True):
    """The effect of a call, previewed before approval, so that people approve exactly that effect."""

    effect: bytes | None
    """For the command: the effect to apply once approved, or the state it must find unchanged. None: it just runs."""
    shown: str
    """For people: the difference as text."""
    added: int = 0
    """The number of lines that the difference adds."""
    removed: int = 0
    """The number of lines that the difference removes."""
