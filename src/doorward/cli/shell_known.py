"""What the shell knows of the house while a line is typed: words, folders, collections and their fields.

All of it is asked for as the person who types, so nothing shows up in a completion that they could not see anyway. It
is kept until the next line has run, since that may change it.
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
"""Seconds after which it is asked again what can be typed, when a line has run since."""
OURS = {
    "@": "ask in plain words; alone it explains itself",
    "jobs": "list what runs in the background",
    "fg": "bring a job to the front: fg %1",
    "bg": "let a job go on in the background",
    "resume": "run what waited for a person and was approved: resume TICKET",
}
"""The words that the terminal itself answers, whatever the house knows."""


class Known:
    def __init__(self, way: ShellWay) -> None:
        self._way = way
        self.cwd = "/workspace"
        self.words: Mapping[str, Word] = {}
        self._asked_at = float("-inf")
        self._folders: dict[str, list[tuple[str, bool]]] = {}
        self._fields: dict[str, list[str]] = {}

    def knows(self, word: str) -> bool:
        """Whether a line may begin with this word, as far as one can tell; before anything is known all may."""
        return not self.words or word in self.words or word in OURS or "$" in word or any(self.parts_of(word))

    def parts_of(self, word: str) -> Iterator[Word]:
        """What can stand behind a program that is many: `git status` is the command `git_status`."""
        return (one for one in self.words.values() if one.word.startswith(f"{word}_")) if word else iter(())

    def find(self, word: str, behind: Sequence[str]) -> Word | None:
        """The command that a line means, by its first word or its first two."""
        found = self.words.get(word)
        if found is None and behind:
            found = self.words.get(f"{word}_{behind[0].replace('-', '_')}")
        return found

    def begins(self, word: str) -> bool:
        """Whether something that is known begins so."""
        return any(one.startswith(word) for one in (*self.words, *OURS))

    async def refresh(self) -> None:
        """After a line has run: what it may have changed is asked for again when it is next wanted."""
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
        """A path from the root on, as the shell would read it."""
        if path == "~" or path.startswith("~/"):
            return path
        return posixpath.normpath(posixpath.join(self.cwd, path or "."))

    async def folder(self, path: str) -> Sequence[tuple[str, bool]]:
        """The names in a folder, each with whether it is one itself."""
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
        """What a command gave; nothing where it cannot, for a completion is no place to complain."""
        try:
            outcome = await self._way.put(command, **params)
        except DoorwardError:
            return {}
        return outcome.result if outcome.status == "done" and isinstance(outcome.result, Mapping) else {}


def _entry(one: Mapping[str, Any]) -> tuple[str, bool]:
    return str(one.get("name", "")), one.get("kind") == "folder"
