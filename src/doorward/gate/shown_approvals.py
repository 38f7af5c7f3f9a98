"""Which approvals were shown to which person, so that a bare `approve` decides only about one that they saw."""

from __future__ import annotations

from collections import OrderedDict

from doorward.core.model import Caller

_MOST = 10_000


class ShownApprovals:
    """Kept in memory: after a restart, people name the approval by its id once. The longest unused are forgotten."""

    def __init__(self) -> None:
        self._shown: OrderedDict[tuple[str, str, str], None] = OrderedDict()

    def note(self, person: Caller, approval: str) -> None:
        """Note that a person was shown exactly what an approval would run, or was told its id."""
        key = (person.tenant, person.id, approval)
        self._shown[key] = None
        self._shown.move_to_end(key)
        if len(self._shown) > _MOST:
            self._shown.popitem(last=False)

    def has_seen(self, person: Caller, approval: str) -> bool:
        return (person.tenant, person.id, approval) in self._shown
