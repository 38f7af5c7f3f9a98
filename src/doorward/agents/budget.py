"""How much a model can be shown, and what of a conversation fits: the newest first, and what is left out is said."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from doorward.agents.models.model import Loads, Model, Turn

FREE = frozenset(("house",))
"""Models in this very process: they are offered every command, and shown text by its length and not by tokens."""
_FREE_CHARACTERS = 200_000
"""How much text such a model is shown: far more than it looks at, and little enough to be put together at once."""
_BESIDE = 8
"""Tokens that a provider adds around each message, or fewer."""
_LEFT_OUT = "(left out, because it is long ago and there is no room for it)"


def fitting(model: Model, shown: int, answer: int) -> tuple[int, int]:
    """How many tokens a model is shown without its answer, and how many that may have.

    It is what whoever asks allows, and less where the model itself cannot take as much: then a quarter is the answer's.
    """
    if isinstance(model, Loads) and model.context < shown:
        shown = model.context
        answer = min(answer, shown // 4)
    return shown - answer, answer


class Budget:
    def __init__(self, model: Model, tokens: int) -> None:
        self._model = model
        self.name = model.name
        self.free = model.name in FREE
        self.whole = _FREE_CHARACTERS if self.free else tokens
        self.left = self.whole

    def cost(self, text: str) -> int:
        return len(text) if self.free else self._model.count(text) + _BESIDE

    def take(self, text: str) -> None:
        self.left -= self.cost(text)

    def fits(self, text: str) -> bool:
        """Whether there is room for it, which it then has."""
        cost = self.cost(text)
        if cost > self.left:
            return False
        self.left -= cost
        return True


def newest_whole(so_far: Sequence[Turn], budget: Budget) -> list[Turn]:
    """What this turn brought so far. Its order must stay; the oldest results lose their text when there is no room."""
    kept: list[Turn] = []
    for turn in reversed(so_far):
        text = written(turn)
        if turn.role == "result" and not budget.fits(text):
            turn = msgspec.structs.replace(turn, text=_LEFT_OUT)
        elif turn.role != "result":
            budget.take(text)
        kept.append(turn)
    return kept[::-1]


def written(turn: Turn) -> str:
    return f"{turn.spoken}{''.join(call.arguments for call in turn.calls)}"


def fitted(turn: Turn, budget: Budget) -> Turn:
    """What must be shown, cut to what there is room for."""
    whole, cut = len(turn.text), turn
    while not budget.fits(cut.spoken) and len(cut.text) > 200:
        cut = msgspec.structs.replace(cut, text=cut.text[: len(cut.text) // 2])
    if cut is turn:
        return turn
    return msgspec.structs.replace(cut, text=f"{cut.text}\n(cut here; it has {whole} characters)")
