"""Accepted suggestions: which command people chose for which question. Stored per tenant, only if learning is on.

Only the words of a question that commands contain too are stored, so that nothing private is kept. The number of
entries is limited and the oldest are dropped. They raise a score only slightly compared with a clear match.
"""

from __future__ import annotations

from doorward.core.clock import Clock
from doorward.store.sqlite import Statement, Store

MOST = 500
"""Maximum number of stored pairs of question and command per tenant."""
_ADDS = 0.15
"""Maximum boost of a score: for a question with the same words whose command was accepted three times."""
_OFTEN = 3
_NEAR = 0.5
"""Minimum share of common words for two questions to count as similar."""


class AcceptedSuggestions:
    def __init__(self, store: Store, clock: Clock, *, learns: bool) -> None:
        self.learns = learns
        self._store = store
        self._clock = clock
        self._taken: dict[str, dict[tuple[frozenset[str], str], int]] = {}

    async def load(self) -> None:
        """Load the stored suggestions. They are ignored while learning is off."""
        self._taken = {}
        if self.learns:
            for row in await self._store.read("SELECT tenant, asked, command, n FROM accepted_commands ORDER BY at"):
                key = (frozenset(row["asked"].split()), row["command"])
                self._taken.setdefault(row["tenant"], {})[key] = row["n"]

    async def accept(self, tenant: str, stems: frozenset[str], command: str) -> None:
        """Store that a user of this tenant accepted this command for a question with these words."""
        known = self._taken.setdefault(tenant, {})
        key = (stems, command)
        times = known.pop(key, 0) + 1
        await self._store.write(
            Statement(
                "INSERT INTO accepted_commands (tenant, asked, command, n, at) VALUES (?, ?, ?, ?, ?)"
                " ON CONFLICT (tenant, asked, command) DO UPDATE SET n = excluded.n, at = excluded.at",
                (tenant, " ".join(sorted(stems)), command, times, self._clock.now()),
            ),
            Statement(
                "DELETE FROM accepted_commands WHERE tenant = ? AND (asked, command) NOT IN"
                " (SELECT asked, command FROM accepted_commands WHERE tenant = ? ORDER BY at DESC, asked LIMIT ?)",
                (tenant, tenant, MOST),
            ),
        )
        known[key] = times
        while len(known) > MOST:
            del known[next(iter(known))]

    async def forget(self, tenant: str, command: str = "") -> int:
        """Delete the tenant's accepted suggestions, or those for one command. Returns the number of deleted entries."""
        where, values = ("tenant = ? AND command = ?", (tenant, command)) if command else ("tenant = ?", (tenant,))
        rows = await self._store.read(f"SELECT count(*) AS n FROM accepted_commands WHERE {where}", values)
        await self._store.write(Statement(f"DELETE FROM accepted_commands WHERE {where}", values))
        known = self._taken.get(tenant, {})
        self._taken[tenant] = {key: times for key, times in known.items() if command and key[1] != command}
        return int(rows[0]["n"])

    def score_boosts(self, tenant: str, stems: frozenset[str]) -> dict[str, float]:
        """The score boost by command, from suggestions this tenant accepted for similar questions."""
        found: dict[str, float] = {}
        for (asked, command), times in self._taken.get(tenant, {}).items():
            near = len(asked & stems) / (len(asked | stems) or 1)
            if near >= _NEAR:
                found[command] = max(found.get(command, 0.0), _ADDS * near * min(1.0, times / _OFTEN))
        return found
