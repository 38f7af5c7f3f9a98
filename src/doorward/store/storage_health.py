"""Whether the database can be read and written, cheap enough to be asked often."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import time

from doorward.core.errors import Unusable
from doorward.store.ledger import queries as sql
from doorward.store.sqlite import Store, open_for_reading

_PROBE_INTERVAL = 1.0


class StorageHealth:
    """Looks at the last errors of the store and, at most once a second, at the file itself."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._problem = ""
        self._probe_due = 0.0

    async def problem(self) -> str:
        """What is wrong with the database; empty if nothing is known to be."""
        if self._store.damage:
            return f"The database is damaged: {self._store.damage}."
        if self._store.failing:
            return "The last record could not be stored."
        if time.monotonic() >= self._probe_due:
            self._problem = await asyncio.to_thread(self._probe, self._store.head.seq)
            self._probe_due = time.monotonic() + _PROBE_INTERVAL
        return self._problem

    def _probe(self, stored: int) -> str:
        """Open the file anew and read the end of the ledger, which has at least the records `stored` so far."""
        try:
            with contextlib.closing(open_for_reading(self._store.path)) as db:
                db.execute("BEGIN")
                head, last = sql.head(db), sql.last_seq(db)
        except Unusable as error:
            return error.message
        except sqlite3.Error as error:
            return f"The database cannot be read: {error}."
        if head is None or head[0] < stored or last not in (head[0], None):
            return f"The database file was replaced or damaged: it does not hold the {stored} records that were stored."
        return ""
