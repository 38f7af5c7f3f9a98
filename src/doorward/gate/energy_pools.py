"""Pools of energy, and the charges that empty them. `store/energy.py` defines the level.

A charge has a unique key and is stored once, with its effect on the pool in the same write. Memory follows the writes
in their order, so a pool in memory is always the stored one. Energy of calls that still run, and of charges that are
not stored yet, is subtracted from the level that others see.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

from doorward.config.settings import EnergySettings
from doorward.core.clock import Clock
from doorward.core.errors import LedgerUnavailable
from doorward.store import energy as sql
from doorward.store.ledger.record import Entry
from doorward.store.sqlite import Statement, Store

ChargeKind = Literal["call", "model", "subagent"]
PoolOverride = Callable[[str, str], tuple[float | None, float | None]]
"""By tenant and caller: the start level and the recovery per second of a pool. None: the default."""


class Pool:
    """The stored level of one caller at one time, and the energy that is not charged yet, by key."""

    __slots__ = ("at", "level", "pending", "principal", "stored", "tenant")

    def __init__(self, tenant: str, principal: str, level: float, at: float, *, stored: bool) -> None:
        self.tenant = tenant
        self.principal = principal
        self.level = level
        self.at = at
        self.stored = stored
        self.pending: dict[str, float] = {}


class Charge:
    """Energy that a pool pays once. It is charged when it is written, and not before."""

    __slots__ = ("_pools", "amount", "at", "dollars", "key", "kind", "pool", "rate", "room", "subject", "tokens")

    def __init__(
        self,
        pools: Pools,
        pool: Pool,
        key: str,
        amount: float,
        *,
        kind: ChargeKind,
        room: str,
        subject: str,
        tokens: int = 0,
        dollars: float = 0.0,
    ) -> None:
        self._pools = pools
        self.pool = pool
        self.key = key
        self.amount = amount
        self.kind: ChargeKind = kind
        self.room = room
        self.subject = subject
        self.tokens = tokens
        self.dollars = dollars
        self.at = self.rate = 0.0
        pool.pending[key] = amount

    async def write(
        self, *also: Statement, entries: Sequence[Entry] = (), durable: bool = True, owed: bool = False
    ) -> bool:
        """Store the charge with other statements and records, as `Store.write` does. Returns whether it was new.

        If the write fails, the charge stays due: it is stored with the next one.
        """
        return await self._pools.write(self, also, entries, durable, owed)


class Pools:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        settings: EnergySettings,
        own: PoolOverride,
        on_charged: Callable[[Pool], None],
    ) -> None:
        self._store = store
        self._clock = clock
        self._floor, self._ceiling = float(settings.floor), float(settings.ceiling)
        self._start, self._recovery = float(settings.start), float(settings.recovery_per_second)
        self._own = own
        self._on_charged = on_charged
        self._pools: dict[tuple[str, str], Pool] = {}
        self._due: dict[str, Charge] = {}
        """Charges whose write failed, by key. The next write stores them first."""

    async def load(self) -> None:
        """Load the stored pools. If the clock was set back since, they gain nothing for that and recover from now."""
        now = self._clock.now()
        rows = await sql.all_pools(self._store)
        if any(row["at"] > now for row in rows):
            await self._store.write(sql.rebase_pools(now))
        self._pools = {
            (row["tenant"], row["caller"]): Pool(
                row["tenant"], row["caller"], row["level"], min(now, row["at"]), stored=True
            )
            for row in rows
        }

    def get(self, tenant: str, principal: str) -> Pool:
        """A caller's pool. One that is new begins now, at its start level."""
        pool = self._pools.get((tenant, principal))
        if pool is None:
            level = self.start_level(tenant, principal)
            pool = self._pools[tenant, principal] = Pool(tenant, principal, level, self._clock.now(), stored=False)
        return pool

    def start_level(self, tenant: str, principal: str) -> float:
        own, _ = self._own(tenant, principal)
        return min(self._ceiling, self._start if own is None else float(own))

    def keep(self, pool: Pool) -> None:
        """Store a new pool that is not full, so that what it recovers before its first charge is not lost."""
        if pool.stored or pool.level >= self._ceiling:
            return
        try:
            stored = self._store.enqueue(sql.open_pool(pool.tenant, pool.principal, pool.level, pool.at), durable=False)
        except LedgerUnavailable:
            return
        pool.stored = True
        stored.add_done_callback(lambda done: _note_failure(pool, done))

    def level(self, pool: Pool) -> float:
        """The level now: recovery included, and without the energy that running calls reserve."""
        level = self._recovered(pool, self._clock.now(), self.rate(pool))
        if pool.pending:
            level = max(self._floor, level - math.fsum(pool.pending.values()))
        return level

    def level_at(self, pool: Pool, level: float, since: float, at: float) -> float:
        """The level at a time, if it was `level` at the time `since` and nothing was charged in between."""
        return min(self._ceiling, level + max(0.0, at - since) * self.rate(pool))

    def rate(self, pool: Pool) -> float:
        """The recovery per second."""
        _, own = self._own(pool.tenant, pool.principal)
        return self._recovery if own is None else float(own)

    async def flush(self) -> None:
        """Store the charges whose write failed."""
        for charge in list(self._due.values()):
            await charge.write()

    async def write(
        self, charge: Charge, also: Sequence[Statement], entries: Sequence[Entry], durable: bool, owed: bool
    ) -> bool:
        self._due.pop(charge.key, None)
        charges = [*self._due.values(), charge]
        self._due[charge.key] = charge
        statements: list[Statement] = []
        places = []
        for one in charges:
            pool = one.pool
            if not pool.stored:
                statements.append(sql.open_pool(pool.tenant, pool.principal, pool.level, pool.at))
            places.append(len(statements))
            statements += self._statements(one)
        stored = self._store.enqueue(*statements, *also, entries=entries, durable=durable, owed=owed)
        self._due.clear()
        stored.add_done_callback(lambda done: self._on_written(charges, places, done))
        counts = await asyncio.shield(stored)
        return counts[places[-1]] > 0

    def _statements(self, charge: Charge) -> list[Statement]:
        pool = charge.pool
        charge.at, charge.rate = self._clock.now(), self.rate(pool)
        row: sql.ChargeRow = {
            "key": charge.key,
            "tenant": pool.tenant,
            "caller": pool.principal,
            "kind": charge.kind,
            "amount": charge.amount,
            "at": charge.at,
            "room": charge.room,
            "subject": charge.subject,
            "tokens": charge.tokens,
            "dollars": charge.dollars,
            "rate": charge.rate,
            "floor": self._floor,
            "ceiling": self._ceiling,
        }
        statements = sql.charge(row)
        if charge.kind == "model":
            statements.append(sql.use_last_chance(pool.tenant, pool.principal, charge.room))
        return statements

    def _on_written(self, charges: Sequence[Charge], places: Sequence[int], done: asyncio.Future[Any]) -> None:
        if done.cancelled() or done.exception() is not None:
            self._due.update((charge.key, charge) for charge in charges)
            return
        counts = done.result()
        for charge, place in zip(charges, places, strict=True):
            pool = charge.pool
            pool.stored = True
            pool.pending.pop(charge.key, None)
            if counts[place]:
                level = self._recovered(pool, charge.at, charge.rate)
                pool.level, pool.at = max(self._floor, level - charge.amount), charge.at
                self._on_charged(pool)

    def _recovered(self, pool: Pool, at: float, rate: float) -> float:
        return min(self._ceiling, pool.level + max(0.0, at - pool.at) * rate)


def _note_failure(pool: Pool, done: asyncio.Future[Any]) -> None:
    if done.cancelled() or done.exception() is not None:
        pool.stored = False
