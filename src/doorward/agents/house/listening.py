"""Stand-in until the real module is merged."""

from __future__ import annotations

from collections.abc import Sequence


def concerns(text: str, names: Sequence[str] = ()) -> bool:
    return False


def states(text: str, names: Sequence[str] = ()) -> bool:
    return False
