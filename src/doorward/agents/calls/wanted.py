"""What reading an answer gives: the calls in it, what could not be read, and the words around them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """One call that a model wants, in whatever way it wrote it."""

    name: str
    """As the model wrote it; the registry resolves spellings."""
    params: Mapping[str, Any] | None = None
    args: tuple[tuple[str, str | None], ...] | None = None
    """Parameters as text, to be read by the command's schema; instead of `params`."""
    id: str = ""
    """The provider's id of a native call, which its result must carry."""
    raw: str = ""
    """What the model wrote."""


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    calls: tuple[Wanted, ...] = ()
    faults: tuple[str, ...] = ()
    """A sentence to the model for each thing that looks like a call and cannot be read as one."""
    prose: str = ""
    """The answer without its calls: what the room is shown."""
