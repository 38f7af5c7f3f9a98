"""The result of reading one place of an answer in one spelling."""

from __future__ import annotations

import msgspec

from doorward.agents.calls.wanted import Wanted
from doorward.command import shortened


class Found(msgspec.Struct, frozen=True, kw_only=True):
    end: int
    """The position after it. The text before this position is not scanned again."""
    calls: tuple[Wanted, ...] = ()
    faults: tuple[str, ...] = ()
    kept: bool = False
    """Whether it stays in the prose, as an example, a quotation, or ordinary text."""
    says: str = ""
    """Text that replaces it in the prose."""


def fault(why: str, valid: str, given: str) -> str:
    """Tell the model about text that looks like a call and was not run."""
    return f"A call in your answer was not made: {why}; {valid}; given {shortened(given[:300])}."


AS_JSON = 'valid is {"name": "data_list", "arguments": {"collection": "rooms"}}'
AS_LINE = "valid is a line such as EXECUTE: data/list --collection=rooms"
