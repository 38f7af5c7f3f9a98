"""Pins: what was seen of each tool's definition, and what of it people stand behind.

The first definition of a tool is pinned. One that differs from its pin is known by that, also across restarts, so that
no server can offer one thing, be approved, and then be another.
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
"""How many tools one server can have named in all its life. A pin is never dropped to make room for another: that would
let a server get rid of the pin of a tool that it means to change."""

_encode = msgspec.json.Encoder().encode


class Pin(msgspec.Struct, frozen=True):
    digest: str
    """Of the definition that holds."""
    trusted: bool
    """Whether it was there when its server was first seen, or a person approved it since. A tool that a known server
    adds later is not: whoever approved all tools of that server cannot have meant this one."""


class Pins:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._servers: dict[str, dict[str, Any]] = {}
        self._pins: dict[str, dict[str, Pin]] = {}
        self._listed: dict[str, tuple[Definition, ...]] = {}
        self._seen: set[str] = set()
        """Servers that have said before what tools they have, be that none."""
        self._unsaved = Unsaved()
        self._unstored: LedgerUnavailable | None = None
        """Why what was seen could not be stored when that was last tried."""
        self._saving: asyncio.Task[None] | None = None

    async def load(self) -> None:
        """What earlier processes saw."""
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
                        "what is stored of the tool %s of server %s is of no use: %s", row["tool"], server, error
                    )
        self._listed = {server: tuple(definitions) for server, definitions in listed.items()}

    def known(self, server: str, origin: str) -> tuple[Definition, ...]:
        """The tools that a server listed last; none, and its pins are forgotten, when the id meant another server."""
        row = self._servers.get(server)
        if row is not None and row["origin"] != origin:
            self._pins.pop(server, None)
            self._listed.pop(server, None)
            self._seen.discard(server)
            self._unsaved.forget(server)
            self._save()
        return self._listed.get(server, ())

    def seen(self, server: str) -> bool:
        """Whether it has ever said what tools it has."""
        return server in self._seen

    def note(self, server: str, definitions: tuple[Definition, ...]) -> None:
        """A server lists these now."""
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
        """None when the server has named too many others before."""
        return self._pins.get(server, {}).get(tool)

    async def approve(self, server: str, digests: dict[str, str]) -> None:
        """A person stands behind the definitions with these digests, by their tools; they are the ones last seen."""
        await self.saved()
        if self._unstored is not None:
            raise self._unstored
        now = self._clock.now()
        await self._store.write(*(sql.pin(server, tool, digest, now) for tool, digest in digests.items()))
        self._pins[server] |= {tool: Pin(digest, True) for tool, digest in digests.items()}

    async def approved(self, server: str, tool: str) -> dict[str, Any]:
        """The definition that a tool is pinned to, as it came."""
        await self.saved()
        text = await sql.approved(self._store, server, tool)
        return _whole(text) if text is not None else {}

    def standing(self, rows: list[dict[str, Any]]) -> None:
        """How all servers of the file stand now; only what is not known yet is stored."""
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
        """Since when a server has stood so, if that is what is stored of it."""
        row = self._servers.get(server)
        if row is None or (row["state"], row["problem"]) != (state, problem):
            return None
        return float(row["since"])

    async def saved(self) -> None:
        """Wait until all of this is stored, or could not be; what could not be before is tried once more."""
        self._save()
        while self._saving is not None:
            await asyncio.shield(self._saving)

    def _save(self) -> None:
        """Store soon, if there is anything."""
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
                    log.warning("what was seen of upstream servers could not be stored yet: %s", error)
                    return
                except DoorwardError:  # it would never succeed, and must not keep what comes behind it
                    log.exception("what was seen of upstream servers could not be stored")
        finally:
            self._saving = None


def _whole(text: str) -> dict[str, Any]:
    """A stored definition; ValueError when it is none."""
    whole = strictjson.loads(text)
    if not isinstance(whole, dict):
        raise ValueError("it is no object")
    return whole
