"""The ids that clients gave to their requests, and the calls they belong to; so a second connection finds them, too."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from doorward.command import shortened
from doorward.doors.line.frames import Id
from doorward.doors.line.pending import Pending
from doorward.errors import Conflict

_MOST = 2_000


class Ids:
    """The newest calls of all clients. An id that a client uses again means the newer call."""

    def __init__(self) -> None:
        self._pending: dict[tuple[str, Id], Pending] = {}
        self._ended: OrderedDict[tuple[str, Id], str] = OrderedDict()

    def open(self, pending: Pending) -> None:
        """With the same id for two calls at once on one connection, nobody could tell whose answer is whose.

        Programs without a token are one client, and cannot know of each other's ids.
        """
        key = (pending.client.session, pending.id)
        other = self._pending.get(key)
        if other is not None and other.client is pending.client:
            raise Conflict(
                f"The id {shortened(pending.id)} is that of {other.tool[:80] or 'a call'}, which still runs for you; "
                "give each call an id of its own, or wait for that one."
            )
        self._pending[key] = pending

    def close(self, pending: Pending, execution: str) -> None:
        """It is over; its execution, if there was one, can still be asked about."""
        key = (pending.client.session, pending.id)
        if self._pending.get(key) is pending:
            del self._pending[key]
        if execution:
            self._ended[key] = execution
            self._ended.move_to_end(key)
            if len(self._ended) > _MOST:
                self._ended.popitem(last=False)

    def find(self, session: str, id: Any) -> Pending | str:
        """The call that a client means: one that still waits or runs, or the id of an execution."""
        key = (session, id)
        return self._pending.get(key) or self._ended.get(key) or str(id)

    def execution(self, session: str, id: Any) -> Any:
        """The execution in the place of a client's own id, where it is one."""
        if not isinstance(id, str | int):
            return id
        found = self.find(session, id)
        if isinstance(found, Pending):
            return found.execution or id
        return found
