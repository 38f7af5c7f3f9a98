"""The raw limit: ledger rows appended by plain sqlite3 in one thread, with nothing of Doorward but the schema.

It has its own SQL on purpose, since it must not share what it is compared with.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from doorward.core.ids import new_id
from doorward.store import migrations
from doorward.store.ledger.record import COLUMNS

_APPEND = "INSERT INTO ledger VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_CALL = COLUMNS.index("call")


class Plain:
    def __init__(self, file: Path) -> None:
        self._db = sqlite3.connect(file, isolation_level=None)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        migrations.migrate(self._db)
        self._last = 0

    def copies(self, row: Sequence[Any], count: int) -> list[tuple[Any, ...]]:
        """A stored row so many times, each with the next number and a call of its own."""
        numbers = range(self._last + 1, self._last + count + 1)
        self._last += count
        return [(number, *row[1:_CALL], new_id(), *row[_CALL + 1 :]) for number in numbers]

    def append(self, rows: Sequence[tuple[Any, ...]], together: int) -> None:
        """Append rows, so many of them to a commit."""
        for start in range(0, len(rows), together):
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany(_APPEND, rows[start : start + together])
            self._db.execute("COMMIT")

    def __enter__(self) -> Plain:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._db.close()
