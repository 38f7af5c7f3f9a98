"""Step 5: reserve energy. Each caller has a pool that work empties and time refills.

All work of a counted caller is charged: the time of calls here, the time of models and sub-agents by the agents. A call
costs its own seconds; the seconds of calls inside it are charged to them, from the same pool. Failed work costs too. A
call that was interrupted by the end of the process costs what was reserved for it, since nobody knows how long it ran.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

from doorward.config.settings import Settings
from doorward.core.clock import Clock
from doorward.core.errors import OutOfEnergy
from doorward.core.events import Bus, EnergyChanged
from doorward.core.model import KEEPER, Call, Caller
from doorward.gate.energy_budgets import Budget, BudgetState, EnergyBudgets, Spent
from doorward.gate.energy_estimates import CostEstimates
from doorward.gate.energy_pools import Charge, ChargeKind, Pool, PoolOverride, Pools
from doorward.store import energy as sql
from doorward.store.ledger.record import Entry
from doorward.store.sqlite import Store

Level = Literal["high", "medium", "low", "urgent"]
SUB_AGENT_DOOR = "subagent"
"""The door of a sub-agent's calls. It counts its own time, which its agent collects, so they cost nothing more."""


class Energy:
    """The energy pools of all callers. The keeper uses the pool of the person it acts for, a persona its own."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        settings: Settings,
        events: Bus,
        own: PoolOverride = lambda _, __: (None, None),
        regulates: Callable[[str, str], bool] = lambda _, __: False,
    ) -> None:
        """`own` gives the pool settings of a persona. `regulates` tells whether a persona regulates its effort."""
        self._store = store
        self._clock = clock
        self._events = events
        self.per_second = float(settings.energy.per_second)
        """The energy that a second of work costs."""
        self._regulates = regulates
        self._pools = Pools(store, clock, settings.energy, own, self._publish)
        self._budgets = EnergyBudgets(store)
        self._estimates = CostEstimates(store, self.per_second)
        self.enabled = settings.energy.enabled

    async def load(self) -> None:
        await self._pools.load()
        await self._estimates.load()

    async def flush(self) -> None:
        """Store charges that could not be stored before, such as when the disk was full."""
        await self._pools.flush()

    def is_counted(self, caller: Caller) -> bool:
        """Whether this caller pays for its work: personas that regulate their effort always, others if enabled."""
        return self.enabled or (caller.persona and self._regulates(caller.tenant, caller.principal))

    def level(self, caller: Caller) -> float:
        """The current level of the pool, recovery included."""
        return self._pools.level(self._pools.get(caller.tenant, caller.principal))

    def describe(self, caller: Caller) -> dict[str, Any] | None:
        """A caller's level and status; None if its work is not counted."""
        if not self.is_counted(caller):
            return None
        level = self.level(caller)
        return {"level": level, "status": status(level)}

    def reserve(self, call: Call) -> Reservation:
        """Reserve the estimated cost, or refuse when the pool is empty. Reservations are in memory only."""
        caller = call.caller
        if not self.is_counted(caller) or call.door == SUB_AGENT_DOOR:
            return _UNCOUNTED
        pool = self._pools.get(caller.tenant, caller.principal)
        self._pools.keep(pool)
        level = self._pools.level(pool)
        if level <= 0:
            rate = self._pools.rate(pool)
            wait = (-level + 0.001) / rate if rate else None
            when = f"; it recovers above 0 in {wait:.1f} s" if wait is not None else ""
            raise OutOfEnergy(
                f"{caller.principal} has no energy left: the level is {level:.1f} and must be above 0{when}.",
                retry_after=wait,
                rule="built-in: energy",
            )
        cost = float(call.command.facts.cost)
        pool.pending[call.id] = cost
        return Reservation(cost, pool)

    def settle(self, call: Call, reservation: Reservation, seconds: float | None) -> Charge | None:
        """Replace the reservation by a charge for the time taken, for the caller to write. None: it never ran.

        A reservation is settled once. Later calls change nothing.
        """
        if seconds is not None:
            self._estimates.learn(call.caller.tenant, call.command.name, seconds)
        pool = reservation.pool
        if pool is None or reservation.settled:
            return None
        reservation.settled = True
        if seconds is None:
            pool.pending.pop(call.id, None)
            return None
        amount = seconds * self.per_second
        return Charge(self._pools, pool, call.id, amount, kind="call", room=call.room, subject=call.command.name)

    def charge_interrupted(self, start: Entry) -> Charge | None:
        """The charge for a call that a dead process left open; None if its caller was not counted."""
        if not start.reserved:
            return None
        principal = start.behalf if start.caller == KEEPER else start.caller
        pool = self._pools.get(start.tenant, principal)
        return Charge(
            self._pools, pool, start.call, start.reserved, kind="call", room=start.room, subject=start.command
        )

    async def charge(
        self,
        caller: Caller,
        key: str,
        amount: float,
        *,
        kind: ChargeKind,
        room: str = "",
        subject: str = "",
        tokens: int = 0,
        dollars: float = 0.0,
    ) -> bool:
        """Charge a counted caller once for work outside a call. Returns False if the key was charged before.

        `subject` is the model for the kind model. If the write fails, the charge stays due and may also be repeated
        with the same key.
        """
        for number in (amount, tokens, dollars):
            if not math.isfinite(number) or number < 0:
                raise ValueError(f"a charge is a number from 0; given {number!r}")
        if not self.is_counted(caller):
            return False
        pool = self._pools.get(caller.tenant, caller.principal)
        charge = Charge(
            self._pools,
            pool,
            key,
            float(amount),
            kind=kind,
            room=room,
            subject=subject,
            tokens=tokens,
            dollars=float(dollars),
        )
        return await charge.write()

    def estimate(self, tenant: str, command: str) -> float | None:
        """What a run of a command costs, learned from its last runs; None if it has not run."""
        return self._estimates.estimate(tenant, command)

    async def spent(self, tenant: str, *, agent: str = "", room: str = "") -> Spent:
        """Everything charged to an agent, in a room, or in the conversation of both."""
        return await self._budgets.spent(tenant, agent, room)

    async def recent_amounts(
        self, tenant: str, agent: str, kind: ChargeKind, subject: str, limit: int = 5
    ) -> list[float]:
        """The last charges for a model (kind model) or a command (kind call), newest first."""
        rows = await sql.recent_amounts(self._store, tenant, agent, kind, subject, limit)
        return [row["amount"] for row in rows]

    async def history(self, caller: Caller, since: float, until: float, points: int) -> list[tuple[float, float]]:
        """The level at evenly spaced times, as pairs of time and level. It ends at the present level or at `until`.

        Between charges the level recovers at the present rate.
        """
        pool, now = self._pools.get(caller.tenant, caller.principal), self._clock.now()
        until = min(until, now)
        since = min(since, until)
        rows = await sql.levels(self._store, pool.tenant, pool.principal, since, until)
        steps = max(1, points - 1)
        shown: list[tuple[float, float]] = []
        place = -1
        for number in range(steps + 1):
            at = until if number == steps else since + (until - since) * number / steps
            while place + 1 < len(rows) and rows[place + 1]["at"] <= at:
                place += 1
            if at >= now:
                level = self._pools.level(pool)
            elif place >= 0:
                level = self._pools.level_at(pool, rows[place]["level"], rows[place]["at"], at)
            elif rows or until < now:
                level = self._pools.start_level(pool.tenant, pool.principal)
            else:
                level = self._pools.level_at(pool, pool.level, pool.at, at)
            shown.append((at, level))
        return shown

    async def set_budget(self, tenant: str, scope: str, id: str, unit: str, amount: float | None) -> None:
        """Set the budget of a conversation (`agent@room`), an agent or a room; None removes it."""
        await self._budgets.put(tenant, scope, id, unit, amount)

    async def budgets(self, tenant: str, scope: str = "", id: str = "") -> list[Budget]:
        """The budgets of a tenant, of one scope or of one id in it, with what is spent."""
        return await self._budgets.list(tenant, scope, id)

    async def check_budgets(self, tenant: str, agent: str, room: str) -> BudgetState:
        """Whether the budgets of a conversation, its agent and its room allow another answer."""
        return await self._budgets.check(tenant, agent, room)

    def _publish(self, pool: Pool) -> None:
        """Publish the new level of a persona that regulates its effort."""
        if not self._regulates(pool.tenant, pool.principal):
            return
        level = self._pools.level(pool)
        self._events.publish(
            EnergyChanged(
                tenant=pool.tenant,
                at=self._clock.now(),
                agent=pool.principal,
                level=level,
                status=status(level),
            )
        )


class Reservation:
    """Energy reserved for one call until its real cost is known."""

    __slots__ = ("amount", "pool", "settled")

    def __init__(self, amount: float, pool: Pool | None) -> None:
        self.amount = amount
        self.pool = pool
        """The pool that pays; None if the caller is not counted."""
        self.settled = False


_UNCOUNTED = Reservation(0.0, None)


def status(level: float) -> Level:
    if level > 50:
        return "high"
    if level > 20:
        return "medium"
    return "low" if level > 0 else "urgent"
