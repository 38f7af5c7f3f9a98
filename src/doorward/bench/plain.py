"""The raw limit: ledger rows appended by plain sqlite3 in one thread, with nothing of Doorward but the schema.

It has its own SQL on purpose, since it must not share what it is compared with.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from doorward.store import migrations

_APPEND = "INSERT INTO ledger VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"


class Plain:
    def __init__(self, file: Path) -> None:
        self._db = sqlite3.connect(file, isolation_level=None)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        migrations.migrate(self._db)
        self._seq = 0

    def append(self, row: Sequence[Any], count: int, together: int) -> None:
        """Append this row so many times under new numbers, so many of them to a commit."""
        for start in range(0, count, together):
            rows = [(self._seq + n, *row) for n in range(1, min(together, count - start) + 1)]
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany(_APPEND, rows)
            self._db.execute("COMMIT")
            self._seq += len(rows)

    def __enter__(self) -> Plain:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._db.close()
