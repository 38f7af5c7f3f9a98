"""How many tokens a text is: counted by a tokenizer and corrected by what the provider itself counted."""

from __future__ import annotations

import functools
import importlib
import importlib.util
from collections import deque
from collections.abc import Callable

from doorward.visible import storable

_EXACT = 262_144
"""Characters that are counted one by one; that takes some 50 ms at worst, and no context is as long."""
_LEAST = 200
"""A prompt of fewer tokens says little: what a provider adds around each message weighs too much in it."""
_REMEMBERED = 8
_LARGEST = 4.0


class Counter:
    """The count for one model. It is never less than the tokens, as far as can be known before asking.

    The tokenizer is that of OpenAI's models. For others it is a stand-in with a `margin`, until the first answers tell
    how many tokens the provider counted; from then on the count follows the largest ratio of the last few.
    """

    def __init__(self, margin: float = 1.0) -> None:
        self._margin = margin
        self._seen: deque[float] = deque(maxlen=_REMEMBERED)

    @property
    def ratio(self) -> float:
        """What the tokenizer's count is multiplied by."""
        seen = tuple(self._seen)  # it is asked in threads, and may grow meanwhile
        return max(seen) if seen else self._margin

    def count(self, text: str) -> int:
        plain = counted(text)
        return -int(-plain * self.ratio // 1)

    def learn(self, plain: int, reported: int) -> None:
        """Take note that a prompt which the tokenizer counted as `plain` was `reported` tokens to its provider.

        A provider that reports fewer than the tokenizer is not believed: a context that is a little too short harms
        less than one that is refused.
        """
        if plain >= _LEAST and reported > 0:
            self._seen.append(min(max(reported / plain, 1.0), _LARGEST))


def counted(text: str) -> int:
    """The tokens of a text by OpenAI's tokenizer or, where none is installed, its bytes: no token is shorter."""
    tokenizer = _tokenizer()
    if tokenizer is None:
        return len(storable(text).encode())
    rest = text[_EXACT:]
    return tokenizer(storable(text[:_EXACT])) + (len(storable(rest).encode()) if rest else 0)


@functools.cache
def _tokenizer() -> Callable[[str], int] | None:
    """Loaded when it is first used: its table of words takes a moment and some memory."""
    if importlib.util.find_spec("rs_bpe") is None:
        return None
    count: Callable[[str], int] = importlib.import_module("rs_bpe.bpe").openai.o200k_base().count
    return count
