"""How well programs are confined here."""

from __future__ import annotations

from typing import Literal

import msgspec

Word = Literal["full", "degraded", "off"]


class Level(msgspec.Struct, frozen=True):
    word: Word
    missing: tuple[str, ...] = ()
    """What does not protect here, each as a short clause."""
    hint: str = ""
    """What somebody could do about it."""

    def __str__(self) -> str:
        return f"{self.word}: {'; '.join(self.missing)}" if self.missing else self.word
