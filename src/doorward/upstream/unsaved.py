"""What was seen of servers and is not stored yet: the newest of each, however long the store is away."""

from __future__ import annotations

from typing import Any

from doorward.store import pins as sql
from doorward.store.sqlite import Statement

Row = dict[str, Any]


class _Tools:
    """What is to be stored of the tools of one server."""

    __slots__ = ("forget", "rows")

    def __init__(self) -> None:
        self.forget = False
        """Whether what is stored is of another server, and goes first."""
        self.rows: dict[str, Row] | None = None
        """By name, also those that it named since and names no more; None when it was not heard of."""


class Unsaved:
    def __init__(self) -> None:
        self._servers: dict[str, Row | None] = {}
        self._tools: dict[str, _Tools] = {}

    def __bool__(self) -> bool:
        return bool(self._servers or self._tools)

    def stands(self, server: str, row: Row | None) -> None:
        """How a server stands; None: the file has it no more."""
        self._servers[server] = row

    def forget(self, server: str) -> None:
        tools = self._tools[server] = _Tools()
        tools.forget = True

    def lists(self, server: str, rows: list[Row]) -> None:
        """What a server lists now. What a tool was when it was first named stays what it is pinned to."""
        tools = self._tools.setdefault(server, _Tools())
        known = tools.rows or {}
        tools.rows = {name: {**row, "listed": 0} for name, row in known.items()}
        for row in rows:
            first = known.get(row["tool"], row)
            tools.rows[row["tool"]] = {**row, "pinned": first["pinned"], "approved": first["approved"]}

    def before(self, newer: Unsaved) -> Unsaved:
        """All of this, with what was seen since it was taken to be stored."""
        self._servers |= newer._servers
        for server, tools in newer._tools.items():
            if tools.forget:
                self._tools[server] = tools
            elif tools.rows is not None:
                self.lists(server, list(tools.rows.values()))
        return self

    def statements(self, at: float) -> list[Statement]:
        stands = [row for row in self._servers.values() if row is not None]
        gone = [server for server, row in self._servers.items() if row is None]
        statements = [sql.put_servers(stands, at)] if stands else []
        statements += [sql.remove_servers(gone, at)] if gone else []
        for server, tools in self._tools.items():
            if tools.forget:
                statements += sql.forget_tools(server)
            if tools.rows is not None:
                statements += sql.put_tools(server, list(tools.rows.values()), at)
        return statements
