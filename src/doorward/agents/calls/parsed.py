"""The parsed form of an answer: its calls, its faults and its prose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from doorward.core.command import shorten


class ParsedCall(msgspec.Struct, frozen=True, kw_only=True):
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


class ParsedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    calls: tuple[ParsedCall, ...] = ()
    faults: tuple[str, ...] = ()
    """One sentence for the model per unreadable call."""
    prose: str = ""
    """The answer without its calls, as the room sees it."""


class CallMatch(msgspec.Struct, frozen=True, kw_only=True):
    end: int
    """The position after it. The text before this position is not scanned again."""
    calls: tuple[ParsedCall, ...] = ()
    faults: tuple[str, ...] = ()
    kept: bool = False
    """Whether it stays in the prose, as an example, a quotation, or ordinary text."""
    says: str = ""
    """Text that replaces it in the prose."""


def describe_fault(why: str, valid: str, given: str) -> str:
    """Tell the model about text that looks like a call and was not run."""
    return f"A call in your answer was not made: {why}; {valid}; given {shorten(given[:300])}."


JSON_EXAMPLE = 'valid is {"name": "data_list", "arguments": {"collection": "rooms"}}'
LINE_EXAMPLE = "valid is a line such as EXECUTE: data/list --collection=rooms"
