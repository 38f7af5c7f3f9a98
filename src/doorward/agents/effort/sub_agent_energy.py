"""The energy of one request to a sub-agent: counted by the steady clock, and charged exactly once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from doorward.core.clock import Clock
from doorward.store import subagent_requests as sql
from doorward.store.sqlite import Store
from doorward.store.subagent_requests import SubAgentRequest

Charge = Callable[[str, float], Awaitable[bool]]
"""Charges an amount to the agent's pool under a key; False if a charge with this key exists already."""


class EnergyAccount:
    """Counts the energy of a request while it works.

    A part is charged under a key that says where it starts. Its end is stored before the charge, and nothing beyond
    this end is stored before `collected` is: after a crash, the same key gets the same amount.
    """

    def __init__(self, store: Store, clock: Clock, per_second: float, request: SubAgentRequest) -> None:
        self._store = store
        self._clock = clock
        self._per_second = per_second
        self._id = request.id
        self._counted = request.energy
        self._since: float | None = None
        self._collected = request.collected
        self._part_end: float | None = request.energy if request.energy > request.collected else None
        """The end of the part that is being charged, or whose charge a former process may have made."""
        self.lock = asyncio.Lock()
        """Held while a part is charged, and while the row of the request is stored."""

    @property
    def total(self) -> float:
        """All energy used so far."""
        if self._since is None:
            return self._counted
        return self._counted + (self._clock.steady() - self._since) * self._per_second

    @property
    def storable(self) -> float:
        """The energy that may be stored now: no more than the end of the part that is being charged."""
        return self.total if self._part_end is None else self._part_end

    @property
    def is_collected(self) -> bool:
        return self.total <= self._collected

    def start(self) -> None:
        if self._since is None:
            self._since = self._clock.steady()

    def stop(self) -> None:
        self._counted, self._since = self.total, None

    async def collect(self, charge: Charge) -> float:
        """Charge what was used since the last collection; return what this process charged."""
        collected = 0.0
        async with self.lock:
            if self._part_end is not None:
                collected += await self._charge_part(charge, self._part_end)
            if self.total > self._collected:
                end = self._part_end = self.total
                await self._store.write(sql.set_energy(self._id, end))
                collected += await self._charge_part(charge, end)
        return collected

    async def _charge_part(self, charge: Charge, end: float) -> float:
        amount = end - self._collected
        is_new = await charge(f"{self._id}:{self._collected!r}", amount)
        await self._store.write(sql.set_collected(self._id, end))
        self._collected, self._part_end = end, None
        return amount if is_new else 0.0
