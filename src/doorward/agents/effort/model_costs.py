"""Which model an agent can afford, learned from what its answers really cost."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

_UNKNOWN = 4.0
"""The assumed cost of a model that has not answered yet, times its place in the list: two seconds of work."""
_MOST = 5
_SHORTER = ((60.0, 1.0), (30.0, 0.75), (10.0, 0.5))
"""Shares of the longest answer, by the level of energy that they need; below the last, a quarter."""


class ModelCosts:
    """What the last answers of each model cost."""

    def __init__(self) -> None:
        self._costs: dict[str, list[float]] = {}

    def restore(self, model: str, costs: Sequence[float]) -> None:
        self._costs[model] = list(costs)[:_MOST]

    def add(self, model: str, cost: float) -> None:
        self._costs[model] = [cost, *self._costs.get(model, ())][:_MOST]

    def median(self, model: str) -> float | None:
        """Return what an answer of a model costs; None if it has not answered yet."""
        known = self._costs.get(model)
        return statistics.median(known) if known else None

    def expect(self, model: str, place: int = 1) -> float:
        """Return what the next answer of a model will cost; `place` is its place in the list."""
        known = self.median(model)
        return _UNKNOWN * place if known is None else known

    def choose(self, models: Sequence[str], level: float) -> str:
        """Choose the dearest model whose answer the level covers; the cheapest if it covers none.

        The models are listed from cheap to dear. What they really cost decides where it is known.
        """
        costs = {one: self.expect(one, place) for place, one in enumerate(models, 1)}
        affordable = [one for one in models if costs[one] <= max(level, 0.0)]
        return max(affordable, key=costs.__getitem__) if affordable else min(models, key=costs.__getitem__)


def answer_share(level: float) -> float:
    """Return the share of the longest answer that an agent may write at this level of energy."""
    return next((share for least, share in _SHORTER if level > least), 0.25)
