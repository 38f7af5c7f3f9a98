"""Presence: the members who follow a room now, with any page or terminal. It is not stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from doorward.rooms.live import Live, Present


class Presence:
    """Counts the clients of each member in a room, and publishes when the first enters and the last leaves."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._here: dict[tuple[str, str], Counter[str]] = {}

    def enter(self, tenant: str, room: str, member: str) -> Callable[[], None]:
        """Add one client of a member; return a function that removes it (safe to call again)."""
        here = self._here.setdefault((tenant, room), Counter())
        here[member] += 1
        if here[member] == 1:
            self._live.tell(tenant, room, Present(member, True))
        left = False

        def leave() -> None:
            nonlocal left
            if not left:
                left = True
                self._leave(tenant, room, member)

        return leave

    def here(self, tenant: str, room: str) -> set[str]:
        return set(self._here.get((tenant, room), ()))

    def _leave(self, tenant: str, room: str, member: str) -> None:
        here = self._here[tenant, room]
        here[member] -= 1
        if here[member]:
            return
        del here[member]
        if not here:
            del self._here[tenant, room]
        self._live.tell(tenant, room, Present(member, False))
