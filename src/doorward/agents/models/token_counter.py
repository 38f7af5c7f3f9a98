"""Count tokens with a tokenizer, corrected by the counts that providers report."""

from __future__ import annotations

import functools
import importlib
import importlib.util
from collections import deque
from collections.abc import Callable

from doorward.core.escape_invisible import to_storable

_MAX_TOKENIZED = 262_144
"""Characters that are tokenized. This takes about 50 ms at worst, and no context is as long."""
_MIN_LEARNED = 200
"""Shorter prompts are not learned from: the provider's overhead per message weighs too much in them."""
_RATIOS_KEPT = 8
_MAX_RATIO = 4.0


class TokenCounter:
    """Counts tokens for one model. As far as can be known in advance, the count is never too low.

    The tokenizer is OpenAI's. For other models its count is multiplied by `margin` until the provider reports counts;
    from then on by the largest ratio of the last few reports.
    """

    def __init__(self, margin: float = 1.0) -> None:
        self._margin = margin
        self._ratios: deque[float] = deque(maxlen=_RATIOS_KEPT)

    @property
    def ratio(self) -> float:
        """The factor applied to the tokenizer's count."""
        seen = tuple(self._ratios)  # read from threads while it may grow
        return max(seen) if seen else self._margin

    def count(self, text: str) -> int:
        plain = count_tokens(text)
        return -int(-plain * self.ratio // 1)

    def learn(self, plain: int, reported: int) -> None:
        """Record that the provider counted `reported` tokens for a prompt that the tokenizer counted as `plain`.

        Reports below the tokenizer's count are ignored: a context that is slightly too short does less harm than a
        refused request.
        """
        if plain >= _MIN_LEARNED and reported > 0:
            self._ratios.append(min(max(reported / plain, 1.0), _MAX_RATIO))


def count_tokens(text: str) -> int:
    """Count the tokens of a text with OpenAI's tokenizer or, if it is not installed, its bytes, an upper bound."""
    tokenizer = _load_tokenizer()
    if tokenizer is None:
        return len(to_storable(text).encode())
    rest = text[_MAX_TOKENIZED:]
    return tokenizer(to_storable(text[:_MAX_TOKENIZED])) + (len(to_storable(rest).encode()) if rest else 0)


@functools.cache
def _load_tokenizer() -> Callable[[str], int] | None:
    """Load the tokenizer on first use, because its vocabulary takes time and memory."""
    if importlib.util.find_spec("rs_bpe") is None:
        return None
    count: Callable[[str], int] = importlib.import_module("rs_bpe.bpe").openai.o200k_base().count
    return count
