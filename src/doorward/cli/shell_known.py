"""Cache of names for completion and highlighting: commands, folders, collections and their fields.

Everything is requested as the person at the terminal, so completion shows nothing they could not see. The cache lasts
until the next line has run, because that line may change it.
"""

from __future__ import annotations

import posixpath
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from doorward.cli.shell_way import ShellWay
from doorward.doors.typable import Word
from doorward.errors import DoorwardError

_WORDS_LAST = 30.0
"""Seconds before the command words are requested again, once another line has run."""
OURS = {
    "@": "ask in plain words; alone, show help",
    "jobs": "list background jobs",
    "fg": "bring a job to the foreground: fg %1",
    "bg": "continue a job in the background",
    "resume": "run an approved call: resume TICKET",
}
"""Words that the terminal handles itself."""


class Known:
    def __init__(self, way: ShellWay) -> None:
        self._way = way
        self.cwd = "/workspace"
        self.words: Mapping[str, Word] = {}
        self._asked_at = float("-inf")
        self._folders: dict[str, list[tuple[str, bool]]] = {}
        self._fields: dict[str, list[str]] = {}

    def knows(self, word: str) -> bool:
        """Whether a line may start with this word. True for every word until the words are loaded."""
        return not self.words or word in self.words or word in OURS or "$" in word or any(self.parts_of(word))

    def parts_of(self, word: str) -> Iterator[Word]:
        """Return the subcommands of a word: `git status` is the command `git_status`."""
        return (one for one in self.words.values() if one.word.startswith(f"{word}_")) if word else iter(())

    def find(self, word: str, behind: Sequence[str]) -> Word | None:
        """Return the command named by the first word of a line, or by its first two."""
        found = self.words.get(word)
        if found is None and behind:
            found = self.words.get(f"{word}_{behind[0].replace('-', '_')}")
        return found

    def begins(self, word: str) -> bool:
        """Whether a known word starts with this text."""
        return any(one.startswith(word) for one in (*self.words, *OURS))

    async def refresh(self) -> None:
        """Drop what the last line may have changed, and reload the command words when they are old."""
        self._folders.clear()
        self._fields.clear()
        now = time.monotonic()
        if now - self._asked_at < _WORDS_LAST and self.words:
            return
        found = await self._way.words()
        if found:
            self.words = {one.word: one for one in found}
            self._asked_at = now

    def whole(self, path: str) -> str:
        """Return an absolute path, as the shell resolves it."""
        if path == "~" or path.startswith("~/"):
            return path
        return posixpath.normpath(posixpath.join(self.cwd, path or "."))

    async def folder(self, path: str) -> Sequence[tuple[str, bool]]:
        """Return the names in a folder, each with whether it is a folder."""
        whole = self.whole(path)
        if whole not in self._folders:
            result = await self._result("vfs/list", path=whole)
            self._folders[whole] = [_entry(one) for one in result.get("items", ())]
        return self._folders[whole]

    async def collections(self) -> Sequence[str]:
        return [name for name, _ in await self.folder("/data")]

    async def fields(self, collection: str) -> Sequence[str]:
        if collection not in self._fields:
            result = await self._result("data/describe", collection=collection)
            self._fields[collection] = [str(name) for name in result.get("fields", ())]
        return self._fields[collection]

    async def _result(self, command: str, **params: Any) -> Mapping[str, Any]:
        """Run a command and return its result; empty on failure, because completion does not report errors."""
        try:
            outcome = await self._way.put(command, **params)
        except DoorwardError:
            return {}
        return outcome.result if outcome.status == "done" and isinstance(outcome.result, Mapping) else {}


def _entry(one: Mapping[str, Any]) -> tuple[str, bool]:
    return str(one.get("name", "")), one.get("kind") == "folder"
