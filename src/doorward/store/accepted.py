"""What people took of what was suggested to them: kept for their tenant alone, and only where that is switched on.

Of a question only those words are kept that commands have as well, so that nothing private stays behind. It is bounded,
what was taken longest ago makes way, and what it adds to a score is small beside a clear match.
"""

from __future__ import annotations

from doorward.clock import Clock
from doorward.store.sqlite import Statement, Store

MOST = 500
"""How many questions with their command are kept for a tenant."""
_ADDS = 0.15
"""The most that is added to a score, by a question of the very same words that was answered so three times."""
_OFTEN = 3
_NEAR = 0.5
"""How much of their words two questions must share to count as near."""


class Accepted:
    def __init__(self, store: Store, clock: Clock, *, learns: bool) -> None:
        self.learns = learns
        self._store = store
        self._clock = clock
        self._taken: dict[str, dict[tuple[frozenset[str], str], int]] = {}

    async def load(self) -> None:
        """Read what is kept. While learning is switched off, nothing of it counts."""
        self._taken = {}
        if self.learns:
            for row in await self._store.read("SELECT tenant, asked, command, n FROM accepted_commands ORDER BY at"):
                key = (frozenset(row["asked"].split()), row["command"])
                self._taken.setdefault(row["tenant"], {})[key] = row["n"]

    async def take(self, tenant: str, stems: frozenset[str], command: str) -> None:
        """Remember that somebody of this tenant took this command for a question of these words."""
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
        """Forget all that was taken by this tenant, or all of one command; how much that was."""
        where, values = ("tenant = ? AND command = ?", (tenant, command)) if command else ("tenant = ?", (tenant,))
        rows = await self._store.read(f"SELECT count(*) AS n FROM accepted_commands WHERE {where}", values)
        await self._store.write(Statement(f"DELETE FROM accepted_commands WHERE {where}", values))
        known = self._taken.get(tenant, {})
        self._taken[tenant] = {key: times for key, times in known.items() if command and key[1] != command}
        return int(rows[0]["n"])

    def adds(self, tenant: str, stems: frozenset[str]) -> dict[str, float]:
        """What is added to the scores of commands that this tenant took for questions near this one."""
        found: dict[str, float] = {}
        for (asked, command), times in self._taken.get(tenant, {}).items():
            near = len(asked & stems) / (len(asked | stems) or 1)
            if near >= _NEAR:
                found[command] = max(found.get(command, 0.0), _ADDS * near * min(1.0, times / _OFTEN))
        return found
