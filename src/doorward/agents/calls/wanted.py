"""The parsed form of an answer: its calls, its faults and its prose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a model, independent of its spelling."""

    name: str
    """As the model wrote it; the registry resolves spellings."""
    params: Mapping[str, Any] | None = None
    args: tuple[tuple[str, str | None], ...] | None = None
    """Parameters as text, typed later by the command's schema; used instead of `params`."""
    id: str = ""
    """The provider's id of a native call; its result must carry it."""
    raw: str = ""
    """The original text."""


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    calls: tuple[Wanted, ...] = ()
    faults: tuple[str, ...] = ()
    """One sentence for the model per unreadable call."""
    prose: str = ""
    """The answer without its calls, as the room sees it."""
