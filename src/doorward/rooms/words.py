"""The chat words: a person's whole message that decides about what waits in the room."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

_WORDS = re.compile(r"(approve|deny)(?:[ \t]+([0-9a-hjkmnp-tv-z]{16}))?", re.IGNORECASE | re.ASCII)
"""An id behind the word has the form that all ids have here, so that no word of a language passes for one."""


_BEGINS = re.compile(r"\W*(approve|deny)\b", re.IGNORECASE)


class Verdict(NamedTuple):
    word: Literal["approve", "deny"]
    approval: str
    """The approval that is meant; empty when the one that waits is."""


def verdict(text: str) -> Verdict | None:
    """What a message decides, when it is nothing but the word, with or without an approval's id behind it.

    "I disapprove" holds the word and decides nothing, and neither does "approve please".
    """
    found = _WORDS.fullmatch(text.strip())
    if found is None:
        return None
    word: Literal["approve", "deny"] = "approve" if found[1].lower() == "approve" else "deny"
    return Verdict(word, (found[2] or "").lower())


def begins_with_one(text: str) -> bool:
    """Whether a message decides nothing, but begins as if it were meant to: `approve!`, or with half an id behind."""
    return verdict(text) is None and _BEGINS.match(text) is not None
