"""Pins: the approved definition of each tool, across restarts and while the store is unavailable."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import msgspec

from doorward.core import strictjson
from doorward.core.clock import Clock
from doorward.core.errors import DoorwardError, LedgerUnavailable
from doorward.store import upstream_tools as sql
from doorward.store.sqlite import Statement, Store
from doorward.upstream.tool_definitions import ToolDefinition, read_definition

ServerRow = dict[str, Any]


class _ToolWrites:
    """Pending writes for the tools of one server."""

    __slots__ = ("forget", "rows")

    def __init__(self) -> None:
        self.forget = False
        """Whether the stored tools belong to another server and must be deleted first."""
        self.rows: dict[str, ServerRow] | None = None
        """Rows by tool name, including tools that are no longer listed; None without a list."""


class PendingWrites:
    def __init__(self) -> None:
        self._servers: dict[str, ServerRow | None] = {}
        self._tools: dict[str, _ToolWrites] = {}

    def __bool__(self) -> bool:
        return bool(self._servers or self._tools)

    def set_state(self, server: str, row: ServerRow | None) -> None:
        """Record a server's state; None when it is no longer in the file."""
        self._servers[server] = row

    def forget(self, server: str) -> None:
        tools = self._tools[server] = _ToolWrites()
        tools.forget = True

    def set_tools(self, server: str, rows: list[ServerRow]) -> None:
        """Record a server's tools. A tool stays pinned to its first definition."""
        tools = self._tools.setdefault(server, _ToolWrites())
        known = tools.rows or {}
        tools.rows = {name: {**row, "listed": 0} for name, row in known.items()}
        for row in rows:
            first = known.get(row["tool"], row)
            tools.rows[row["tool"]] = {**row, "pinned": first["pinned"], "approved": first["approved"]}

    def merge(self, newer: PendingWrites) -> PendingWrites:
        """Merge newer changes into these."""
        self._servers |= newer._servers
        for server, tools in newer._tools.items():
            if tools.forget:
                self._tools[server] = tools
            elif tools.rows is not None:
                self.set_tools(server, list(tools.rows.values()))
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


log = logging.getLogger(__name__)

MAX_TOOLS = 10_000
"""Limit on the tools that one server can ever list. A pin is never dropped to make room for another: a server could use
that to get rid of the pin of a tool that it wants to change."""

_encode = msgspec.json.Encoder().encode


class ToolPin(msgspec.Struct, frozen=True):
    digest: str
    """Digest of the approved definition."""
    trusted: bool
    """Whether the tool was in the server's first list, or a person approved it since. A tool that a known server adds
    later is not trusted: an approval of all tools cannot have included it."""


class ToolPins:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._servers: dict[str, dict[str, Any]] = {}
        self._pins: dict[str, dict[str, ToolPin]] = {}
        self._listed: dict[str, tuple[ToolDefinition, ...]] = {}
        self._seen: set[str] = set()
        """Servers that have listed their tools at least once."""
        self._pending_writes = PendingWrites()
        self._store_error: LedgerUnavailable | None = None
        """The error of the last failed attempt to store, if any."""
        self._saving: asyncio.Task[None] | None = None

    async def load(self) -> None:
        """Load what earlier processes stored."""
        self._servers = {row["id"]: row for row in await sql.servers(self._store)}
        self._seen = {id for id, row in self._servers.items() if row["seen"]}
        listed: dict[str, list[ToolDefinition]] = {}
        for row in await sql.tools(self._store):
            server = row["server"]
            self._pins.setdefault(server, {})[row["tool"]] = ToolPin(row["pinned"], bool(row["trusted"]))
            if row["listed"]:
                try:
                    listed.setdefault(server, []).append(read_definition(_parse_definition(row["definition"])))
                except ValueError as error:
                    log.warning(
                        "the stored definition of tool %s of server %s is unusable: %s", row["tool"], server, error
                    )
        self._listed = {server: tuple(definitions) for server, definitions in listed.items()}

    def known_tools(self, server: str, origin: str) -> tuple[ToolDefinition, ...]:
        """The tools that a server listed last. If the id now means another server, its pins are dropped."""
        row = self._servers.get(server)
        if row is not None and row["origin"] != origin:
            self._pins.pop(server, None)
            self._listed.pop(server, None)
            self._seen.discard(server)
            self._pending_writes.forget(server)
            self._save()
        return self._listed.get(server, ())

    def has_listed(self, server: str) -> bool:
        """Whether the server has ever listed its tools."""
        return server in self._seen

    def record_tools(self, server: str, definitions: tuple[ToolDefinition, ...]) -> None:
        """Record a server's current list of tools."""
        self._listed[server] = definitions
        pins = self._pins.setdefault(server, {})
        first = not self.has_listed(server)
        self._seen.add(server)
        rows = []
        for position, definition in enumerate(definitions):
            if len(pins) >= MAX_TOOLS and definition.name not in pins:
                continue
            pin = pins.setdefault(definition.name, ToolPin(definition.digest, first))
            text = _encode(definition.whole).decode()
            rows.append(
                {
                    "tool": definition.name,
                    "position": position,
                    "listed": 1,
                    "trusted": pin.trusted,
                    "digest": definition.digest,
                    "pinned": definition.digest,
                    "definition": text,
                    "approved": text,
                }
            )
        self._pending_writes.set_tools(server, rows)
        self._save()

    def get_pin(self, server: str, tool: str) -> ToolPin | None:
        """The pin of a tool; None when the server has listed too many tools."""
        return self._pins.get(server, {}).get(tool)

    async def approve(self, server: str, digests: dict[str, str]) -> None:
        """Record a person's approval of these digests by tool name; they must be the latest definitions."""
        await self.flush()
        if self._store_error is not None:
            raise self._store_error
        now = self._clock.now()
        await self._store.write(*(sql.pin(server, tool, digest, now) for tool, digest in digests.items()))
        self._pins[server] |= {tool: ToolPin(digest, True) for tool, digest in digests.items()}

    async def get_approved(self, server: str, tool: str) -> dict[str, Any]:
        """The pinned definition of a tool, as received."""
        await self.flush()
        text = await sql.approved(self._store, server, tool)
        return _parse_definition(text) if text is not None else {}

    def record_states(self, rows: list[dict[str, Any]]) -> None:
        """Record the state of all configured servers. Only changes are stored."""
        fresh = [row for row in rows if not row.items() <= self._servers.get(row["id"], {}).items()]
        ids = [row["id"] for row in rows]
        gone = [id for id, row in self._servers.items() if row["removed_at"] is None and id not in ids]
        now = self._clock.now()
        for row in fresh:
            self._pending_writes.set_state(row["id"], row)
            self._servers[row["id"]] = {**row, "removed_at": None}
        for id in gone:
            self._pending_writes.set_state(id, None)
            self._servers[id] = {**self._servers[id], "state": "removed", "removed_at": now}
        self._save()

    def state_since(self, server: str, state: str, problem: str) -> float | None:
        """Since when a server has had this state and problem, if they match the stored ones."""
        row = self._servers.get(server)
        if row is None or (row["state"], row["problem"]) != (state, problem):
            return None
        return float(row["since"])

    async def flush(self) -> None:
        """Try to store everything, including what failed before, and wait for the result."""
        self._save()
        while self._saving is not None:
            await asyncio.shield(self._saving)

    def _save(self) -> None:
        """Start to store, if there is anything to store."""
        if self._pending_writes and self._saving is None:
            self._saving = asyncio.ensure_future(self._store_all())

    async def _store_all(self) -> None:
        try:
            while self._pending_writes:
                writing, self._pending_writes, self._store_error = self._pending_writes, PendingWrites(), None
                try:
                    await self._store.write(*writing.statements(self._clock.now()))
                except LedgerUnavailable as error:
                    self._pending_writes, self._store_error = writing.merge(self._pending_writes), error
                    log.warning("the state of upstream servers could not be stored yet: %s", error)
                    return
                except DoorwardError:  # it would never succeed, and must not block later changes
                    log.exception("the state of upstream servers could not be stored")
        finally:
            self._saving = None


def _parse_definition(text: str) -> dict[str, Any]:
    """Parse a stored definition; raises ValueError when it is invalid."""
    whole = strictjson.loads(text)
    if not isinstance(whole, dict):
        raise ValueError("it is not an object")
    return whole
