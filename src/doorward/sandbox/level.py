"""How well programs are confined on this machine."""

from __future__ import annotations

from typing import Literal

import msgspec

Word = Literal["full", "degraded", "off"]


class Level(msgspec.Struct, frozen=True):
    word: Word
    missing: tuple[str, ...] = ()
    """The protections that are missing, each as a short clause."""
    hint: str = ""
    """How to fix it."""

    def __str__(self) -> str:
        return f"{self.word}: {'; '.join(self.missing)}" if self.missing else self.word
