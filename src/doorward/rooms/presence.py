"""Who looks at a room at this moment: every page and terminal that follows it counts, and none of it is stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from doorward.rooms.live import Live, Present


class Presence:
    """A member is here while anything of theirs is; the room is told when the first comes and the last goes."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._here: dict[tuple[str, str], Counter[str]] = {}

    def enter(self, tenant: str, room: str, member: str) -> Callable[[], None]:
        """Count one more that follows a room for a member; returns what ends that, and does so once."""
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
