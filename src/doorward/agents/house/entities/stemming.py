"""English words as they are compared: in small letters, without their endings."""

from __future__ import annotations

import re
from functools import lru_cache

_WORDS = re.compile(r"[a-z0-9]+(?:['’][a-z]+)?")
_ENDINGS = ("ing", "ies", "ied", "ed", "es", "s", "e", "y")
_SHORTEST = 3
_KEPT = 20_000


def words(text: str) -> list[str]:
    return _WORDS.findall(text.lower())


@lru_cache(maxsize=_KEPT)
def stem(word: str) -> str:
    """A word without its ending, so that `decided`, `decides` and `deciding` meet `decide`.

    The memory of it has an end, since the words come from outside.
    """
    word = word.partition("'")[0].partition("’")[0]
    for ending in _ENDINGS:
        if (
            word.endswith(ending)
            and not (ending == "s" and word.endswith("ss"))
            and len(word) - len(ending) >= _SHORTEST
        ):
            word = word[: -len(ending)]
            if ending in ("ing", "ed") and word[-1] == word[-2] and word[-1] not in "ls":
                word = word[:-1]
            break
    return word


def stems(text: str) -> set[str]:
    return {stem(word) for word in words(text)}
