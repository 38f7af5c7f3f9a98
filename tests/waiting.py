"""Waiting for what nothing tells of: with one patience everywhere, and at a pace that no limit of a house minds.

What can be heard, such as an event, a line or the end of a process, is better waited for itself.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable
from typing import Any

PATIENCE = 120.0
"""Seconds after which a test that waits has failed; nothing is asserted about less."""

AT_LEISURE = 0.2
"""Seconds between two questions to a house: its limit allows more than twice as many."""

_PACE = 0.005
_TURNS = 100
"""So often the event loop just turns, since what happens inside it needs no more."""


async def until(true: Callable[[], Any], pace: float = _PACE) -> Any:
    """Look again and again, letting the event loop turn, until this is (or comes to) something true; that."""
    end, turns = time.monotonic() + PATIENCE, 0
    while True:
        found = true()
        if inspect.isawaitable(found):
            found = await found
        if found:
            return found
        assert time.monotonic() < end, f"it has not come true, it is still {found!r}"
        turns += 1
        await asyncio.sleep(0 if turns < _TURNS and pace == _PACE else pace)


def wait_until(true: Callable[[], Any], pace: float = _PACE) -> Any:
    """The same where there is no event loop."""
    end = time.monotonic() + PATIENCE
    while not (found := true()):
        assert time.monotonic() < end, f"it has not come true, it is still {found!r}"
        time.sleep(pace)
    return found
