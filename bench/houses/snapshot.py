"""What differs in a house from what it was filled with, and how it is put back."""

from __future__ import annotations

from typing import Any

import msgspec

from bench.questions.seed import Seeded
from bench.questions.state import Ran, State, Watch


class Changes(msgspec.Struct, frozen=True):
    """Everything that is not as it was: records and files as they are now; None: gone."""

    records: dict[str, dict[str, Any] | None]
    before: dict[str, dict[str, Any]]
    """The records as they were, where there were any."""
    files: dict[str, str | None]
    repository: bool
    """Whether a branch moved or another one was checked out."""

    @property
    def none(self) -> bool:
        return not self.records and not self.files and not self.repository


class Snapshots:
    """Compares a house with its state at the beginning."""

    def __init__(self, seeded: Seeded, watch: Watch) -> None:
        self._folder, self._watch = seeded.workspace, watch
        self._first = State({}, {})
        self._content: dict[str, bytes] = {}
        self._refs: dict[str, str] = {}

    async def begin(self) -> None:
        self._first = await self._watch.state()
        files = (path for path in self._first.files if not path.endswith("/"))
        self._content = {path: (self._folder / path).read_bytes() for path in files}
        self._refs = self._read_refs()

    async def changes(self) -> Changes:
        now = await self._watch.state()
        records: dict[str, dict[str, Any] | None] = {}
        for key in now.records.keys() | self._first.records.keys():
            body = now.records[key][1] if key in now.records else None
            if key not in self._first.records or body != self._first.records[key][1]:
                records[key] = body
        files: dict[str, str | None] = dict.fromkeys(self._first.files.keys() - now.files.keys())
        for path in now.files:
            if path.endswith("/"):
                if path not in self._first.files:
                    files[path] = ""
                continue
            if now.files[path] != self._first.files.get(path):
                content = (self._folder / path).read_bytes()
                if content != self._content.get(path):
                    files[path] = content.decode(errors="replace")
        before = {key: self._first.records[key][1] for key in records if key in self._first.records}
        return Changes(records, before, files, self._read_refs() != self._refs)

    async def restore(self, ran: list[Ran]) -> None:
        """Put files and records back; what cannot be put back ends the examination."""
        found = await self.changes()
        if found.none:
            return
        await self._watch.restore(ran)
        left = await self.changes()
        for key, body in left.records.items():
            collection, _, id = key.partition("/")
            if body is not None:
                await self._watch.ask("data/delete", {"collection": collection, "id": id})
            if key in left.before:
                await self._watch.ask("data/create", {"collection": collection, "id": id, "data": left.before[key]})
        left = await self.changes()
        if not left.none:
            raise RuntimeError(f"The house was to be put back, but it differs: {left}")

    def _read_refs(self) -> dict[str, str]:
        git = self._folder / ".git"
        refs = [git / "HEAD", *sorted((git / "refs").rglob("*"))]
        return {str(one): one.read_text() for one in refs if one.is_file()}
