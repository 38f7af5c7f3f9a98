"""The token budget of a prompt: what fits of a conversation, newest first."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from doorward.agents.models.model import Loads, Model, Turn

FREE = frozenset(("house",))
"""Models in this process. They are offered every command, and their budget counts characters instead of tokens."""
_FREE_CHARACTERS = 200_000
"""The budget of such a model: far more than it reads, and still quick to assemble."""
_BESIDE = 8
"""Upper bound on the tokens that a provider adds around each message."""
_LEFT_OUT = "(older result, left out for lack of space)"


def fitting(model: Model, shown: int, answer: int) -> tuple[int, int]:
    """Return the token limits of the prompt and of the answer.

    If the model's context is smaller than the given limit, the answer gets at most a quarter of it.
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
        """Take the cost of a text if it fits; return whether it did."""
        cost = self.cost(text)
        if cost > self.left:
            return False
        self.left -= cost
        return True


def newest_whole(so_far: Sequence[Turn], budget: Budget) -> list[Turn]:
    """Fit the turns of the current request. Their order stays; the oldest results lose their text if space runs out."""
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
    """Cut a turn that must be shown until it fits."""
    whole, cut = len(turn.text), turn
    while not budget.fits(cut.spoken) and len(cut.text) > 200:
        cut = msgspec.structs.replace(cut, text=cut.text[: len(cut.text) // 2])
    if cut is turn:
        return turn
    return msgspec.structs.replace(cut, text=f"{cut.text}\n(cut here; the whole text has {whole} characters)")
