"""The last good version of every recipe and persona, used while its file is broken."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from doorward.config.watched_folder import LastGoodVersion
from doorward.core.clock import Clock
from doorward.store.sqlite import Statement, Store


class LastGoodVersions:
    """The last good versions in one table."""

    def __init__(self, store: Store, table: Literal["recipes", "personas"], clock: Clock) -> None:
        self._store = store
        self._table = table
        self._clock = clock

    async def load_all(self) -> dict[str, LastGoodVersion]:
        rows = await self._store.read(f"SELECT id, body, digest FROM {self._table}")
        return {row["id"]: LastGoodVersion(row["body"], row["digest"]) for row in rows}

    async def update(self, kept: Mapping[str, LastGoodVersion], forgotten: list[str]) -> None:
        """Store some versions and delete others, in one write."""
        now = self._clock.now()
        await self._store.write(
            *(self._keep(id, version, now) for id, version in kept.items()),
            *(Statement(f"DELETE FROM {self._table} WHERE id = ?", (id,)) for id in forgotten),
        )

    def _keep(self, id: str, version: LastGoodVersion, now: float) -> Statement:
        return Statement(
            f"INSERT INTO {self._table} (id, body, digest, loaded_at) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (id) DO UPDATE SET body = excluded.body, digest = excluded.digest,"
            " loaded_at = excluded.loaded_at",
            (id, version.body, version.digest, now),
        )
