"""What can be changed in the seeded house, seen before and after a question, and put back as it was."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any, NamedTuple

from bench.questions.seed import Seeded
from doorward.core.classification import Effects
from doorward.core.model import Credential, Request
from doorward.core.registry import Registry
from doorward.rooms.people import LOCAL
from doorward.store import managed_collections
from doorward.store.ledger import queries
from doorward.store.ledger import record as ledger_record

_CHANGES = Effects.WRITE | Effects.DESTROY | Effects.OPEN_WORLD
_WATCHED = frozenset(("agent", "bash", "data", "file", "session", "sh", "shell", "undo", "vfs"))
"""Families whose changes show in files and records; what any other family changed is known by the ledger."""
_ENDED = frozenset(("done", "failed", "refused", "parked"))


class Ran(NamedTuple):
    call: str
    command: str
    status: str
    duration: float
    """Seconds."""
    changing: bool
    """Whether it is declared to change something."""
    params: str

    @property
    def family(self) -> str:
        return self.command.partition("/")[0]


def elsewhere(ran: list[Ran]) -> list[str]:
    """What was changed that neither files nor records show."""
    return [one.command for one in ran if one.changing and one.status == "done" and one.family not in _WATCHED]


class State(NamedTuple):
    files: dict[str, tuple[int, int]]
    records: dict[str, tuple[int, dict[str, Any]]]

    def changed(self, before: State) -> set[str]:
        """The paths and records that are not as they were."""
        return {
            name
            for now, then in ((self.files, before.files), (self.records, before.records))
            for name in now.keys() | then.keys()
            if now.get(name) != then.get(name)
        }


class Watch:
    """Looks at a seeded house from outside: its folder, its records and its ledger."""

    def __init__(self, seed: Seeded) -> None:
        self._seed = seed
        self._folder = seed.workspace
        self._store = seed.house.services.store
        self._registry: Registry = seed.house.services.registry
        self._first = _files(self._folder)
        self._kept = {path: (self._folder / path).read_bytes() for path in self._first if not path.endswith("/")}
        self._times = {path: (self._folder / path).stat() for path in self._kept}

    async def state(self) -> State:
        return State(_files(self._folder), await self._store.in_reader(_records))

    async def ran(self, after: int) -> list[Ran]:
        """How every call ended that the ledger has behind this place."""
        rows = await self._store.in_reader(lambda db: list(queries.rows(db, after=after)))
        named = [dict(zip(ledger_record.COLUMNS, row, strict=True)) for row in rows]
        given = {row["call"]: row["params"] for row in named if row["phase"] == "start"}
        return [
            Ran(
                row["call"],
                row["command"],
                row["status"],
                row["duration"] / 1e6,
                self._changes(row["command"]),
                given.get(row["call"], row["params"]),
            )
            for row in named
            if row["status"] in _ENDED
        ]

    async def place(self) -> int:
        """Where the ledger ends now."""
        head = await self._store.in_reader(queries.head)
        return head[0] if head else 0

    def text(self, path: str) -> str | None:
        where = self._folder / path
        if where.is_dir():
            return ""
        return where.read_bytes().decode(errors="replace") if where.is_file() else None

    async def restore(self, ran: list[Ran]) -> None:
        """Put files back, with their times, and take back what was done to records."""
        for path in sorted(_files(self._folder).keys() - self._first.keys(), reverse=True):  # a folder's files first
            (self._folder / path).rmdir() if path.endswith("/") else (self._folder / path).unlink()
        for path, content in self._kept.items():
            where = self._folder / path
            if not where.exists() or where.stat().st_mtime_ns != self._times[path].st_mtime_ns:
                where.parent.mkdir(parents=True, exist_ok=True)
                where.write_bytes(content)
                os.utime(where, ns=(self._times[path].st_atime_ns, self._times[path].st_mtime_ns))
        for one in reversed(ran):
            if one.family == "data" and one.changing and one.status == "done":
                await self.ask("undo", {"execution": one.call})

    async def ask(self, command: str, params: dict[str, Any]) -> Any:
        """As the owner, outside rooms."""
        return await self._seed.house.gate.handle(Request(command, Credential(owner=True), "bench", params=params))

    def _changes(self, command: str) -> bool:
        return command in self._registry and bool(self._registry[command].facts.effects & _CHANGES)


def _files(folder: Path) -> dict[str, tuple[int, int]]:
    """Every file with its size and time, and every folder, but for git's own, of which reading writes some anew."""
    found = {}
    for where, folders, names in os.walk(folder):
        folders[:] = [one for one in folders if one != ".git"]
        found.update({f"{os.path.relpath(os.path.join(where, one), folder)}/": (0, 0) for one in folders})
        for name in names:
            path = os.path.join(where, name)
            stat = os.lstat(path)
            found[os.path.relpath(path, folder)] = (stat.st_size, stat.st_mtime_ns)
    return found


def _records(db: sqlite3.Connection) -> dict[str, tuple[int, dict[str, Any]]]:
    return {
        f"{collection.name}/{one.id}": (one.version, one.body)
        for collection in managed_collections.definitions(db, LOCAL)
        for one in managed_collections.all_records(db, collection)
    }
