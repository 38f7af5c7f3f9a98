"""A copy of a real ledger, to be done evil to, and the life that fills it."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from doorward.app import House
from doorward.config.home import Home
from doorward.core.model import Credential, Request
from doorward.store.ledger import record
from doorward.store.ledger.checkpoints import LedgerPaths
from doorward.store.ledger.verification import Finding, verify

_RULES = {"enabled": True, "whitelist": ["*"], "maxCommandsPerMinute": 1_000_000}
RECIPE = {"recipeId": "lax", "displayName": "Lax", "strategy": {"aiCommands": _RULES}}


class Ledger:
    """A copy of a real ledger, to be done evil to."""

    def __init__(self, folder: Path) -> None:
        self.home = Home(folder)
        self.paths = LedgerPaths.of(folder)

    def verify(self) -> Finding:
        return verify(self.paths, self.home.load_key())

    @contextlib.contextmanager
    def database(self) -> Iterator[sqlite3.Connection]:
        """As somebody has it who owns the file: no trigger stops them."""
        with contextlib.closing(sqlite3.connect(self.paths.database, isolation_level=None)) as db:
            for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
                db.execute(f"DROP TRIGGER {name}")
            yield db

    def rows(self) -> list[tuple[Any, ...]]:
        with contextlib.closing(sqlite3.connect(self.paths.database)) as db:
            return db.execute(f"SELECT {', '.join(record.COLUMNS)} FROM ledger ORDER BY seq").fetchall()

    def put(self, rows: list[tuple[Any, ...]]) -> None:
        with self.database() as db:
            db.execute("DELETE FROM ledger")
            db.executemany(f"INSERT INTO ledger VALUES ({', '.join('?' * len(record.COLUMNS))})", rows)

    def checkpoint_lines(self) -> list[bytes]:
        return self.paths.checkpoints.read_bytes().splitlines(keepends=True)

    def segments(self) -> list[Path]:
        return sorted(self.paths.segments.glob("records-*.jsonl.gz"))

    def put_checkpoints(self, lines: list[bytes]) -> None:
        self.paths.checkpoints.write_bytes(b"".join(lines))


async def ask(house: House, command: str, *, by: str = "", **params: Any) -> None:
    await house.gate.handle(
        Request(
            command=command,
            credential=Credential(owner=True, speak_as=by),
            door="test",
            room="lax" if by else "",
            params=params,
        )
    )


async def live(house: House, first: int, last: int) -> None:
    """Reads, changes, failures and refusals, a few records each."""
    for number in range(first, last):
        by = f"agent{number}"
        await ask(house, "file/write", by=by, path=f"{number}.txt", content="text")
        await ask(house, "data/list", by=by, collection="rooms")
        await ask(house, "file/read", by=by, path="missing.txt")
        await ask(house, "no/such", by=by)
        await ask(house, "file/read", by=by, nothing=1)


def found(ledger: Ledger, *words: str) -> None:
    finding = ledger.verify()
    assert finding.broken, "nothing was found"
    assert 10 < len(finding.broken) < 300, finding.broken
    for word in words:
        assert word in finding.broken, finding.broken


def changed(text: str) -> str:
    """One letter changed, or one added where there is none."""
    return chr(ord(text[0]) ^ 1) + text[1:] if text else "x"


def forged(line: bytes, **changes: Any) -> bytes:
    return json.dumps(json.loads(line) | changes, ensure_ascii=False).encode() + b"\n"
