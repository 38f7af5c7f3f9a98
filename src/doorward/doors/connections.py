"""All connections of one socket: how many there may be, and a look at each of them once a second."""

from __future__ import annotations

import logging
from collections import Counter

from uvicorn.server import ServerState

from doorward.doors.connection import Connection
from doorward.settings import Server

log = logging.getLogger(__name__)


class Connections(ServerState):
    """All connections of one socket and what they may do; `most` may be below the setting where files are scarce."""

    def __init__(self, limits: Server, most: int) -> None:
        super().__init__()
        self.limits = limits
        self.most = most
        self.ended: Counter[str] = Counter()
        """Why connections were ended since somebody last looked."""

    def sweep(self, now: float) -> None:
        """End whatever took too long. A flood of them makes one line in the log, not one each."""
        for connection in list(self.connections):
            if isinstance(connection, Connection):
                connection.look(now)
        if self.ended:
            reasons = ", ".join(f"{count} x {code}" for code, count in sorted(self.ended.items()))
            self.ended.clear()
            log.warning("connections were ended: %s", reasons)

    def leave(self, *, all_of_them: bool) -> None:
        """At the end of Doorward: hang up on answers that go on, or on every connection."""
        for connection in list(self.connections):
            if isinstance(connection, Connection) and (all_of_them or connection.streams):
                connection.hang_up()
