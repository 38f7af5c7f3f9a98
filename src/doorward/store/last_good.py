"""The last good versions of configuration files, used while the files are broken."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Literal

from doorward.core.clock import Clock
from doorward.store import kv
from doorward.store.sqlite import Statement, Store


class LastGoodVersions:
    """The last good version of every file of a folder, in a table of its own."""

    def __init__(self, store: Store, table: Literal["recipes", "personas"], clock: Clock) -> None:
        self._store = store
        self._table = table
        self._clock = clock

    async def load_all(self) -> dict[str, str]:
        rows = await self._store.read(f"SELECT id, body FROM {self._table}")
        return {row["id"]: row["body"] for row in rows}

    async def update(self, kept: Mapping[str, str], forgotten: Iterable[str]) -> None:
        """Store some versions and delete others, in one write."""
        now = self._clock.now()
        await self._store.write(
            *(self._keep(id, body, now) for id, body in kept.items()),
            *(Statement(f"DELETE FROM {self._table} WHERE id = ?", (id,)) for id in forgotten),
        )

    def _keep(self, id: str, body: str, now: float) -> Statement:
        return Statement(
            f"INSERT INTO {self._table} (id, body, digest, loaded_at) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (id) DO UPDATE SET body = excluded.body, digest = excluded.digest,"
            " loaded_at = excluded.loaded_at",
            (id, body, hashlib.sha256(body.encode()).hexdigest(), now),
        )


class LastGoodText:
    """The last good version of a single file, in the key-value store. It counts for the same origin only."""

    def __init__(self, store: Store, name: str, origin: str) -> None:
        """`name` is the key and the id; `origin` says in one line where the text comes from."""
        self._store = store
        self._name = name
        self._origin = origin
        self._body: str | None = None

    async def load_all(self) -> dict[str, str]:
        self._body = await kv.get(self._store, self._name)
        origin, _, text = (self._body or "").partition("\n")
        return {self._name: text} if text and origin == self._origin else {}

    async def update(self, kept: Mapping[str, str], forgotten: Iterable[str]) -> None:
        """Store the text, unless it is stored already. A single file is never forgotten; a missing one has no text."""
        body = f"{self._origin}\n{kept[self._name]}"
        if body != self._body and (self._body or kept[self._name]):
            await self._store.write(kv.put(self._name, body))
