"""The token budget of a prompt: what fits of a conversation, newest first."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from doorward.agents.models.model import ChatTurn, LoadableModel, Model

IN_PROCESS_MODELS = frozenset(("house",))
"""Models in this process. They are offered every command, and their budget counts characters instead of tokens."""
_IN_PROCESS_CHARACTERS = 200_000
"""The budget of such a model: far more than it reads, and still quick to assemble."""
_TOKENS_PER_MESSAGE = 8
"""Upper bound on the tokens that a provider adds around each message."""
_OMITTED_RESULT = "(older result, left out for lack of space)"


def token_limits(model: Model, shown: int, answer: int) -> tuple[int, int]:
    """Return the token limits of the prompt and of the answer.

    If the model's context is smaller than the given limit, the answer gets at most a quarter of it.
    """
    if isinstance(model, LoadableModel) and model.context < shown:
        shown = model.context
        answer = min(answer, shown // 4)
    return shown - answer, answer


class TokenBudget:
    def __init__(self, model: Model, tokens: int) -> None:
        self._model = model
        self.name = model.name
        self.is_in_process = model.name in IN_PROCESS_MODELS
        self.total = _IN_PROCESS_CHARACTERS if self.is_in_process else tokens
        self.left = self.total

    def cost(self, text: str) -> int:
        return len(text) if self.is_in_process else self._model.count(text) + _TOKENS_PER_MESSAGE

    def spend(self, text: str) -> None:
        self.left -= self.cost(text)

    def try_spend(self, text: str) -> bool:
        """Take the cost of a text if it fits; return whether it did."""
        cost = self.cost(text)
        if cost > self.left:
            return False
        self.left -= cost
        return True


def fit_transcript(so_far: Sequence[ChatTurn], budget: TokenBudget) -> list[ChatTurn]:
    """Fit the turns of the current request. Their order stays; the oldest results lose their text if space runs out."""
    kept: list[ChatTurn] = []
    for turn in reversed(so_far):
        text = turn_text(turn)
        if turn.role == "result" and not budget.try_spend(text):
            turn = msgspec.structs.replace(turn, text=_OMITTED_RESULT)
        elif turn.role != "result":
            budget.spend(text)
        kept.append(turn)
    return kept[::-1]


def turn_text(turn: ChatTurn) -> str:
    return f"{turn.rendered_text}{''.join(call.arguments for call in turn.calls)}"


def truncate_turn(turn: ChatTurn, budget: TokenBudget) -> ChatTurn:
    """Cut a turn that must be shown until it fits."""
    whole, cut = len(turn.text), turn
    while not budget.try_spend(cut.rendered_text) and len(cut.text) > 200:
        cut = msgspec.structs.replace(cut, text=cut.text[: len(cut.text) // 2])
    if cut is turn:
        return turn
    return msgspec.structs.replace(cut, text=f"{cut.text}\n(cut here; the whole text has {whole} characters)")
