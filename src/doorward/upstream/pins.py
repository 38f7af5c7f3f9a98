"""Pins: the approved definition of each tool, across restarts.

The first definition of a tool is pinned. A definition that differs from its pin is detected, so that a server cannot
get a tool approved and then change it.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import msgspec

from doorward import strictjson
from doorward.clock import Clock
from doorward.errors import DoorwardError, LedgerUnavailable
from doorward.store import pins as sql
from doorward.store.sqlite import Store
from doorward.upstream.definition import Definition, read
from doorward.upstream.unsaved import Unsaved

log = logging.getLogger(__name__)

MOST = 10_000
"""Limit on the tools that one server can ever list. A pin is never dropped to make room for another: a server could use
that to get rid of the pin of a tool that it wants to change."""

_encode = msgspec.json.Encoder().encode


class Pin(msgspec.Struct, frozen=True):
    digest: str
    """Digest of the approved definition."""
    trusted: bool
    """Whether the tool was in the server's first list, or a person approved it since. A tool that a known server adds
    later is not trusted: an approval of all tools cannot have included it."""


class Pins:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._servers: dict[str, dict[str, Any]] = {}
        self._pins: dict[str, dict[str, Pin]] = {}
        self._listed: dict[str, tuple[Definition, ...]] = {}
        self._seen: set[str] = set()
        """Servers that have listed their tools at least once."""
        self._unsaved = Unsaved()
        self._unstored: LedgerUnavailable | None = None
        """The error of the last failed attempt to store, if any."""
        self._saving: asyncio.Task[None] | None = None

    async def load(self) -> None:
        """Load what earlier processes stored."""
        self._servers = {row["id"]: row for row in await sql.servers(self._store)}
        self._seen = {id for id, row in self._servers.items() if row["seen"]}
        listed: dict[str, list[Definition]] = {}
        for row in await sql.tools(self._store):
            server = row["server"]
            self._pins.setdefault(server, {})[row["tool"]] = Pin(row["pinned"], bool(row["trusted"]))
            if row["listed"]:
                try:
                    listed.setdefault(server, []).append(read(_whole(row["definition"])))
                except ValueError as error:
                    log.warning(
                        "the stored definition of tool %s of server %s is unusable: %s", row["tool"], server, error
                    )
        self._listed = {server: tuple(definitions) for server, definitions in listed.items()}

    def known(self, server: str, origin: str) -> tuple[Definition, ...]:
        """The tools that a server listed last. If the id now means another server, its pins are dropped."""
        row = self._servers.get(server)
        if row is not None and row["origin"] != origin:
            self._pins.pop(server, None)
            self._listed.pop(server, None)
            self._seen.discard(server)
            self._unsaved.forget(server)
            self._save()
        return self._listed.get(server, ())

    def seen(self, server: str) -> bool:
        """Whether the server has ever listed its tools."""
        return server in self._seen

    def note(self, server: str, definitions: tuple[Definition, ...]) -> None:
        """Record a server's current list of tools."""
        self._listed[server] = definitions
        pins = self._pins.setdefault(server, {})
        first = not self.seen(server)
        self._seen.add(server)
        rows = []
        for position, definition in enumerate(definitions):
            if len(pins) >= MOST and definition.name not in pins:
                continue
            pin = pins.setdefault(definition.name, Pin(definition.digest, first))
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
        self._unsaved.lists(server, rows)
        self._save()

    def pin(self, server: str, tool: str) -> Pin | None:
        """The pin of a tool; None when the server has listed too many tools."""
        return self._pins.get(server, {}).get(tool)

    async def approve(self, server: str, digests: dict[str, str]) -> None:
        """Record a person's approval of these digests by tool name; they must be the latest definitions."""
        await self.saved()
        if self._unstored is not None:
            raise self._unstored
        now = self._clock.now()
        await self._store.write(*(sql.pin(server, tool, digest, now) for tool, digest in digests.items()))
        self._pins[server] |= {tool: Pin(digest, True) for tool, digest in digests.items()}

    async def approved(self, server: str, tool: str) -> dict[str, Any]:
        """The pinned definition of a tool, as received."""
        await self.saved()
        text = await sql.approved(self._store, server, tool)
        return _whole(text) if text is not None else {}

    def standing(self, rows: list[dict[str, Any]]) -> None:
        """Record the state of all configured servers. Only changes are stored."""
        fresh = [row for row in rows if not row.items() <= self._servers.get(row["id"], {}).items()]
        ids = [row["id"] for row in rows]
        gone = [id for id, row in self._servers.items() if row["removed_at"] is None and id not in ids]
        now = self._clock.now()
        for row in fresh:
            self._unsaved.stands(row["id"], row)
            self._servers[row["id"]] = {**row, "removed_at": None}
        for id in gone:
            self._unsaved.stands(id, None)
            self._servers[id] = {**self._servers[id], "state": "removed", "removed_at": now}
        self._save()

    def since(self, server: str, state: str, problem: str) -> float | None:
        """Since when a server has had this state and problem, if they match the stored ones."""
        row = self._servers.get(server)
        if row is None or (row["state"], row["problem"]) != (state, problem):
            return None
        return float(row["since"])

    async def saved(self) -> None:
        """Try to store everything, including what failed before, and wait for the result."""
        self._save()
        while self._saving is not None:
            await asyncio.shield(self._saving)

    def _save(self) -> None:
        """Start to store, if there is anything to store."""
        if self._unsaved and self._saving is None:
            self._saving = asyncio.ensure_future(self._store_all())

    async def _store_all(self) -> None:
        try:
            while self._unsaved:
                writing, self._unsaved, self._unstored = self._unsaved, Unsaved(), None
                try:
                    await self._store.write(*writing.statements(self._clock.now()))
                except LedgerUnavailable as error:
                    self._unsaved, self._unstored = writing.before(self._unsaved), error
                    log.warning("the state of upstream servers could not be stored yet: %s", error)
                    return
                except DoorwardError:  # it would never succeed, and must not block later changes
                    log.exception("the state of upstream servers could not be stored")
        finally:
            self._saving = None


def _whole(text: str) -> dict[str, Any]:
    """Parse a stored definition; raises ValueError when it is invalid."""
    whole = strictjson.loads(text)
    if not isinstance(whole, dict):
        raise ValueError("it is not an object")
    return whole
