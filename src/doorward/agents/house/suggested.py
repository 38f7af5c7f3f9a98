"""What the house model would do first for a request: one call, and how sure it is. Nothing of it has run."""

from __future__ import annotations

from typing import Any

import msgspec

from doorward.agents.house.plan import Step


class Suggested(msgspec.Struct, frozen=True):
    command: str
    """Its canonical name, such as `data/list`."""
    params: dict[str, Any]
    score: float
    """How sure it is, from 0 to 1."""
    reason: str
    """What in the request speaks for it."""
    alternatives: tuple[str, ...] = ()
    """Other commands that came near."""
    lookups: tuple[Step, ...] = ()
    """What has to be run, all of it, before the call that was asked for is known; the call itself is not yet, then."""
