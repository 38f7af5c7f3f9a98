"""Pending writes about servers: the newest state of each, while the store is unavailable."""

from __future__ import annotations

from typing import Any

from doorward.store import pins as sql
from doorward.store.sqlite import Statement

Row = dict[str, Any]


class _Tools:
    """Pending writes for the tools of one server."""

    __slots__ = ("forget", "rows")

    def __init__(self) -> None:
        self.forget = False
        """Whether the stored tools belong to another server and must be deleted first."""
        self.rows: dict[str, Row] | None = None
        """Rows by tool name, including tools that are no longer listed; None without a list."""


class Unsaved:
    def __init__(self) -> None:
        self._servers: dict[str, Row | None] = {}
        self._tools: dict[str, _Tools] = {}

    def __bool__(self) -> bool:
        return bool(self._servers or self._tools)

    def stands(self, server: str, row: Row | None) -> None:
        """Record a server's state; None when it is no longer in the file."""
        self._servers[server] = row

    def forget(self, server: str) -> None:
        tools = self._tools[server] = _Tools()
        tools.forget = True

    def lists(self, server: str, rows: list[Row]) -> None:
        """Record a server's tools. A tool stays pinned to its first definition."""
        tools = self._tools.setdefault(server, _Tools())
        known = tools.rows or {}
        tools.rows = {name: {**row, "listed": 0} for name, row in known.items()}
        for row in rows:
            first = known.get(row["tool"], row)
            tools.rows[row["tool"]] = {**row, "pinned": first["pinned"], "approved": first["approved"]}

    def before(self, newer: Unsaved) -> Unsaved:
        """Merge newer changes into these."""
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
