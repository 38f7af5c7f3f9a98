"""Chat verdicts: messages such as `approve` and `deny` that decide about a call waiting in the room."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

_WORDS = re.compile(r"(approve|deny)(?:[ \t]+([0-9a-hjkmnp-tv-z]{16}))?", re.IGNORECASE | re.ASCII)
"""An id after the word must have the form of Doorward's ids, so that no ordinary word matches."""


_BEGINS = re.compile(r"\W*(approve|deny)\b", re.IGNORECASE)


class Verdict(NamedTuple):
    word: Literal["approve", "deny"]
    approval: str
    """The id of the approval; empty for the one that waits."""


def verdict(text: str) -> Verdict | None:
    """Parse a message that consists of the word only, with or without an approval id.

    "I disapprove" and "approve please" decide nothing.
    """
    found = _WORDS.fullmatch(text.strip())
    if found is None:
        return None
    word: Literal["approve", "deny"] = "approve" if found[1].lower() == "approve" else "deny"
    return Verdict(word, (found[2] or "").lower())


def begins_with_one(text: str) -> bool:
    """Whether a message looks like a verdict but is not valid, such as `approve!` or one with a partial id."""
    return verdict(text) is None and _BEGINS.match(text) is not None
