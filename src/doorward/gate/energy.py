"""Step 5: reserve energy. Each caller has a pool that work empties and time refills."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from doorward.config.settings import Settings
from doorward.core.clock import Clock
from doorward.core.errors import OutOfEnergy
from doorward.core.model import Call, Caller
from doorward.store import energy as sql
from doorward.store.sqlite import Statement, Store

Level = Literal["high", "medium", "low", "urgent"]
PoolOverride = Callable[[str, str], tuple[float | None, float | None]]
"""By tenant and caller: the start level and the recovery per second of a pool. None: the default."""


class Energy:
    """The energy pools of all callers. The keeper uses the pool of the person it acts for."""

    def __init__(
        self, store: Store, clock: Clock, settings: Settings, own: PoolOverride = lambda _, __: (None, None)
    ) -> None:
        self._own = own
        self._store = store
        self._clock = clock
        self._settings = settings.energy
        self.enabled = settings.energy.enabled
        self._pools: dict[tuple[str, str], _Pool] = {}

    async def load(self) -> None:
        self._pools = {
            (row["tenant"], row["caller"]): _Pool(row["level"], row["at"]) for row in await sql.all_pools(self._store)
        }

    def level(self, caller: Caller) -> float:
        """The current level of the pool, recovery included."""
        pool = self._pools.get((caller.tenant, caller.principal))
        if pool is None:
            own, _ = self._own(caller.tenant, caller.principal)
            return self._settings.start if own is None else min(self._settings.ceiling, own)
        gained = max(0.0, self._clock.now() - pool.at) * self._rate(caller)
        return min(self._settings.ceiling, pool.level + gained)

    def _rate(self, caller: Caller) -> float:
        """The recovery per second."""
        _, own = self._own(caller.tenant, caller.principal)
        return self._settings.recovery_per_second if own is None else own

    def describe(self, caller: Caller) -> dict[str, Any] | None:
        """A caller's level and status; None when energy is disabled."""
        if not self.enabled:
            return None
        level = self.level(caller)
        return {"level": round(level, 3), "status": status(level)}

    def reserve(self, call: Call) -> Reservation:
        """Reserve the estimated cost, or refuse when the pool is empty."""
        if not self.enabled:
            return Reservation(0.0)
        level = self.level(call.caller)
        if level <= 0:
            rate = self._rate(call.caller)
            wait = (-level + 0.001) / rate if rate else None
            when = f"; it recovers above 0 in {wait:.1f} s" if wait is not None else ""
            raise OutOfEnergy(
                f"{call.caller.principal} has no energy left: the level is {level:.1f} and must be above 0{when}.",
                retry_after=wait,
                rule="built-in: energy",
            )
        self._put(call.caller, level - call.command.facts.cost)
        return Reservation(call.command.facts.cost)

    def settle(self, call: Call, reservation: Reservation, seconds: float | None) -> tuple[float, list[Statement]]:
        """Replace the reservation by the real cost of the time taken; failed work costs too. None: it never ran.

        A reservation is settled once. Later calls change nothing.
        """
        if not self.enabled or reservation.settled:
            return 0.0, []
        reservation.settled = True
        spent = 0.0 if seconds is None else seconds * self._settings.per_second
        caller = call.caller
        pool = self._put(caller, self.level(caller) + reservation.amount - spent)
        return spent, [sql.put_pool(caller.tenant, caller.principal, pool.level, pool.at)]

    def _put(self, caller: Caller, level: float) -> _Pool:
        level = max(self._settings.floor, min(self._settings.ceiling, level))
        pool = self._pools[caller.tenant, caller.principal] = _Pool(level, self._clock.now())
        return pool


class Reservation:
    """Energy reserved for one call until its real cost is known."""

    __slots__ = ("amount", "settled")

    def __init__(self, amount: float) -> None:
        self.amount = amount
        self.settled = False


class _Pool:
    __slots__ = ("at", "level")

    def __init__(self, level: float, at: float) -> None:
        self.level = level
        self.at = at


def status(level: float) -> Level:
    if level > 50:
        return "high"
    if level > 20:
        return "medium"
    return "low" if level > 0 else "urgent"
