"""The limit in money: what the models on other machines cost on one day."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

import msgspec

from doorward.agents.models.model import ModelFailed
from doorward.core.errors import DoorwardError
from doorward.store import kv
from doorward.store.sqlite import Store

SETTING = "models.dollars_per_day"
_STORED_AS = "model_spending"


class _Day(msgspec.Struct):
    day: str
    """The date in UTC."""
    dollars: float = 0.0


class DailySpending:
    """Counts what was spent on this day. The highest possible cost of an answer is counted before it is asked for.

    With a store, the count outlives the process, and an answer whose cost cannot be stored is not asked for.
    """

    def __init__(self, store: Store | None = None, wall: Callable[[], float] = time.time) -> None:
        self._store = store
        self._wall = wall
        self._state: _Day | None = None

    async def reserve(self, name: str, dollars: float, limit: float) -> None:
        """Count the highest cost of an answer. Raises `ModelFailed` if it could exceed the limit of the day."""
        state = await self._today(name)
        if state.dollars + dollars > limit:
            raise ModelFailed(
                "not_allowed",
                f"The model {name} is not asked: its answer could cost ${dollars:.4f}, and ${state.dollars:.4f} of "
                f"${limit:g} are spent today (UTC; the setting {SETTING}).",
            )
        state.dollars += dollars
        await self._save(name, state)

    async def settle(self, name: str, reserved: float, dollars: float) -> None:
        """Replace the highest cost by the real one. If that cannot be stored, the highest stays counted."""
        state = await self._today(name)
        state.dollars = max(0.0, state.dollars + dollars - reserved)
        await self._save(name, state)

    async def _today(self, name: str) -> _Day:
        day = datetime.fromtimestamp(self._wall(), UTC).date().isoformat()
        if self._state is None and self._store is not None:
            try:
                text = await kv.get(self._store, _STORED_AS)
                self._state = msgspec.json.decode(text, type=_Day) if text else None
            except (DoorwardError, msgspec.MsgspecError):
                raise _unknown(name) from None
        if self._state is None or self._state.day != day:
            self._state = _Day(day)
        return self._state

    async def _save(self, name: str, state: _Day) -> None:
        try:
            if self._store is not None:
                await self._store.write(kv.put(_STORED_AS, msgspec.json.encode(state).decode()))
        except DoorwardError:
            raise _unknown(name) from None


def _unknown(name: str) -> ModelFailed:
    return ModelFailed(
        "not_allowed",
        f"The model {name} is not asked: what was spent today cannot be read or stored, so the limit of {SETTING} "
        "could be exceeded.",
    )
