"""Request ids of clients and the calls they name, so that a second connection can refer to them."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from doorward.command import shortened
from doorward.doors.line.frames import Id
from doorward.doors.line.pending import Pending
from doorward.errors import Conflict

_MOST = 2_000


class Ids:
    """The newest calls of all clients. A reused id names the newer call."""

    def __init__(self) -> None:
        self._pending: dict[tuple[str, Id], Pending] = {}
        self._ended: OrderedDict[tuple[str, Id], str] = OrderedDict()

    def open(self, pending: Pending) -> None:
        """Add a call. Two running calls of one connection cannot share an id: their answers would be ambiguous.

        Other connections may reuse it. Programs without a token are one client and do not know each other's ids.
        """
        key = (pending.client.session, pending.id)
        other = self._pending.get(key)
        if other is not None and other.client is pending.client:
            raise Conflict(
                f"The id {shortened(pending.id)} is in use by {other.tool[:80] or 'a call'}, which is still running. "
                "Use another id, or wait for that call."
            )
        self._pending[key] = pending

    def close(self, pending: Pending, execution: str) -> None:
        """Mark a call as ended. Its execution, if any, can still be queried."""
        key = (pending.client.session, pending.id)
        if self._pending.get(key) is pending:
            del self._pending[key]
        if execution:
            self._ended[key] = execution
            self._ended.move_to_end(key)
            if len(self._ended) > _MOST:
                self._ended.popitem(last=False)

    def find(self, session: str, id: Any) -> Pending | str:
        """The pending call with this id, or else the id of an execution."""
        key = (session, id)
        return self._pending.get(key) or self._ended.get(key) or str(id)

    def execution(self, session: str, id: Any) -> Any:
        """Replace a client's request id by its execution, if it names one."""
        if not isinstance(id, str | int):
            return id
        found = self.find(session, id)
        if isinstance(found, Pending):
            return found.execution or id
        return found
