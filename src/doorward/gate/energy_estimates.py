"""What a command will probably cost: the median of its last runs, whoever made them."""

from __future__ import annotations

import statistics
from collections import deque

from doorward.store.ledger import queries
from doorward.store.sqlite import Store

_RUNS = 5
_RECORDS = 2_000
"""The newest ledger records that are read at the start."""


class CostEstimates:
    def __init__(self, store: Store, per_second: float) -> None:
        self._store = store
        self._per_second = per_second
        self._seconds: dict[tuple[str, str], deque[float]] = {}

    async def load(self) -> None:
        for row in await queries.recent_runs(self._store, _RECORDS):
            self.learn(row["tenant"], row["command"], row["duration"] / 1_000_000)

    def learn(self, tenant: str, command: str, seconds: float) -> None:
        """Note how long a run took, failed or not."""
        runs = self._seconds.get((tenant, command))
        if runs is None:
            runs = self._seconds[tenant, command] = deque(maxlen=_RUNS)
        runs.append(seconds)

    def estimate(self, tenant: str, command: str) -> float | None:
        runs = self._seconds.get((tenant, command))
        return statistics.median(runs) * self._per_second if runs else None
