"""Opt-in cache of results for one minute: safe reads by the same caller in the same room and folder."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from doorward.core.classification import Safety
from doorward.core.clock import Clock
from doorward.core.model import Call

SECONDS = 60.0
_MOST_KEPT = 512


class ResultCache:
    """Keyed by the call's digest: command, parameters, workspace, room and caller."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._kept: OrderedDict[str, tuple[float, Any]] = OrderedDict()

    @staticmethod
    def may_hold(call: Call) -> bool:
        return call.command.reads_only and call.command.facts.safety is Safety.SAFE

    def get(self, call: Call) -> tuple[Any] | None:
        """The cached result in a tuple of one, or None."""
        kept = self._kept.get(call.digest)
        if kept is None or kept[0] <= self._clock.steady() - SECONDS:
            return None
        return (kept[1],)

    def put(self, call: Call, result: Any) -> None:
        self._kept[call.digest] = (self._clock.steady(), result)
        self._kept.move_to_end(call.digest)
        if len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)
