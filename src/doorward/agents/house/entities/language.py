"""Whether a text is English, by its small words and its letters."""

from __future__ import annotations

import unicodedata
from functools import cache

from doorward.agents.house.entities.entity import Token
from doorward.agents.house.entities.knowledge import vocabulary

_LOOKED_AT = 400


@cache
def _small_words() -> tuple[frozenset[str], tuple[frozenset[str], ...]]:
    words = vocabulary()
    english = frozenset((*words.english.split(), *words.field_stops, *words.acts, *words.known))
    return english, tuple(frozenset(one.split()) for one in words.foreign.values())


def is_english(text: str, tokens: tuple[Token, ...]) -> bool:
    """What cannot be told, such as `ls` or a single name, counts as English."""
    letters = [one for one in text[:_LOOKED_AT] if one.isalpha()]
    latin = sum(1 for one in letters if one.isascii() or "LATIN" in unicodedata.name(one, ""))
    if letters and latin * 2 < len(letters):
        return False
    english, others = _small_words()
    found = [one.lower for one in tokens[:_LOOKED_AT] if one.shape == "word"]
    ours = sum(1 for one in found if one in english)
    theirs = max((sum(1 for one in found if one in other) for other in others), default=0)
    return theirs < 2 or theirs <= ours
