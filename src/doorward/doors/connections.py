"""All connections of one socket: their limits, and a check of each one every second."""

from __future__ import annotations

import logging
from collections import Counter

from uvicorn.server import ServerState

from doorward.doors.connection import Connection
from doorward.settings import Server

log = logging.getLogger(__name__)


class Connections(ServerState):
    """All connections of one socket. `most` is below the setting when the process may open too few files."""

    def __init__(self, limits: Server, most: int) -> None:
        super().__init__()
        self.limits = limits
        self.most = most
        self.ended: Counter[str] = Counter()
        """Why connections were closed since the last check, counted by reason."""

    def sweep(self, now: float) -> None:
        """Close connections that exceed a time limit. Many closed at once make one log line."""
        for connection in list(self.connections):
            if isinstance(connection, Connection):
                connection.look(now)
        if self.ended:
            reasons = ", ".join(f"{count} x {code}" for code, count in sorted(self.ended.items()))
            self.ended.clear()
            log.warning("closed connections: %s", reasons)

    def leave(self, *, all_of_them: bool) -> None:
        """At shutdown, close the connections that still stream, or all of them."""
        for connection in list(self.connections):
            if isinstance(connection, Connection) and (all_of_them or connection.streams):
                connection.hang_up()
