"""What a reader of one spelling found at one place of an answer."""

from __future__ import annotations

import msgspec

from doorward.agents.calls.wanted import Wanted
from doorward.command import shortened


class Found(msgspec.Struct, frozen=True, kw_only=True):
    end: int
    """The place behind it. Whatever it covers is not looked at again."""
    calls: tuple[Wanted, ...] = ()
    faults: tuple[str, ...] = ()
    kept: bool = False
    """Whether it stays in the prose: it is an example, a quotation, or no call at all."""
    says: str = ""
    """Words that stand in its place in the prose."""


def fault(why: str, valid: str, given: str) -> str:
    """A sentence to the model about something that looks like a call and was not made."""
    return f"A call in your answer was not made: {why}; {valid}; given {shortened(given[:300])}."


AS_JSON = 'valid is {"name": "data_list", "arguments": {"collection": "rooms"}}'
AS_LINE = "valid is a line such as EXECUTE: data/list --collection=rooms"
