"""Word stems from SQLite's own Porter stemmer, so that they match the full-text index exactly."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

_MOST = 50_000


class Stems:
    """A cache of word stems. Not thread-safe: the owner must lock it."""

    def __init__(self) -> None:
        self._db = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        self._db.execute("CREATE VIRTUAL TABLE one USING fts5 (word, tokenize = 'porter unicode61')")
        self._db.execute("CREATE VIRTUAL TABLE stem USING fts5vocab (one, 'instance')")
        self._known: dict[str, str] = {}

    def of(self, words: Iterable[str]) -> list[str]:
        """The stem of each word. Words must be single and in lower case."""
        words = list(words)
        if len(self._known) > _MOST:
            self._known.clear()
        unknown = list(dict.fromkeys(word for word in words if word not in self._known))
        if unknown:
            self._learn(unknown)
        return [self._known[word] for word in words]

    def _learn(self, unknown: list[str]) -> None:
        self._known.update({word: word for word in unknown})
        self._db.execute("BEGIN")
        self._db.executemany("INSERT INTO one (rowid, word) VALUES (?, ?)", enumerate(unknown))
        found = self._db.execute("SELECT doc, term FROM stem ORDER BY doc, offset").fetchall()
        self._db.execute("ROLLBACK")
        self._known.update({unknown[row]: stem for row, stem in found})
