"""How often Python looks for garbage in a process that serves many calls."""

from __future__ import annotations

import gc

_OFTEN = 50_000, 20, 100
"""By Python's own numbers a collection begins after every few calls, and costs them a tenth of their time."""


def settle() -> None:
    """To be called once a house is open. What it is made of stays as long as the process does, so nobody needs to look
    through it again and again; what calls leave behind is nearly always freed without a collection."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_OFTEN)
