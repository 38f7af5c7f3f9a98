"""Cache of names for completion and highlighting: commands, folders, collections and their fields.

Everything is requested as the person at the terminal, so completion shows nothing they could not see. The cache lasts
until the next line has run, because that line may change it.
"""

from __future__ import annotations

import posixpath
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from doorward.cli.shell_transport import ShellTransport
from doorward.core.errors import DoorwardError
from doorward.doors.terminal.messages import ShellWord

_WORDS_TTL = 30.0
"""Seconds before the command words are requested again, once another line has run."""
TERMINAL_COMMANDS = {
    "@": "ask in plain words; alone, show help",
    "jobs": "list background jobs",
    "fg": "bring a job to the foreground: fg %1",
    "bg": "continue a job in the background",
    "resume": "run an approved call: resume TICKET",
}
"""Words that the terminal handles itself."""


class NameCache:
    def __init__(self, way: ShellTransport) -> None:
        self._transport = way
        self.cwd = "/workspace"
        self.words: Mapping[str, ShellWord] = {}
        self._words_loaded_at = float("-inf")
        self._folders: dict[str, list[tuple[str, bool]]] = {}
        self._fields: dict[str, list[str]] = {}

    def is_command(self, word: str) -> bool:
        """Whether a line may start with this word. True for every word until the words are loaded."""
        return (
            not self.words
            or word in self.words
            or word in TERMINAL_COMMANDS
            or "$" in word
            or any(self.subcommands(word))
        )

    def subcommands(self, word: str) -> Iterator[ShellWord]:
        """Return the subcommands of a word: `git status` is the command `git_status`."""
        return (one for one in self.words.values() if one.word.startswith(f"{word}_")) if word else iter(())

    def find(self, word: str, behind: Sequence[str]) -> ShellWord | None:
        """Return the command named by the first word of a line, or by its first two."""
        found = self.words.get(word)
        if found is None and behind:
            found = self.words.get(f"{word}_{behind[0].replace('-', '_')}")
        return found

    def has_prefix(self, word: str) -> bool:
        """Whether a known word starts with this text."""
        return any(one.startswith(word) for one in (*self.words, *TERMINAL_COMMANDS))

    async def refresh(self) -> None:
        """Drop what the last line may have changed, and reload the command words when they are old."""
        self._folders.clear()
        self._fields.clear()
        now = time.monotonic()
        if now - self._words_loaded_at < _WORDS_TTL and self.words:
            return
        found = await self._transport.fetch_words()
        if found:
            self.words = {one.word: one for one in found}
            self._words_loaded_at = now

    def resolve_path(self, path: str) -> str:
        """Return an absolute path, as the shell resolves it."""
        if path == "~" or path.startswith("~/"):
            return path
        return posixpath.normpath(posixpath.join(self.cwd, path or "."))

    async def list_folder(self, path: str) -> Sequence[tuple[str, bool]]:
        """Return the names in a folder, each with whether it is a folder."""
        whole = self.resolve_path(path)
        if whole not in self._folders:
            result = await self._fetch("vfs/list", path=whole)
            self._folders[whole] = [_entry(one) for one in result.get("items", ())]
        return self._folders[whole]

    async def collections(self) -> Sequence[str]:
        return [name for name, _ in await self.list_folder("/data")]

    async def fields(self, collection: str) -> Sequence[str]:
        if collection not in self._fields:
            result = await self._fetch("data/describe", collection=collection)
            self._fields[collection] = [str(name) for name in result.get("fields", ())]
        return self._fields[collection]

    async def _fetch(self, command: str, **params: Any) -> Mapping[str, Any]:
        """Run a command and return its result; empty on failure, because completion does not report errors."""
        try:
            outcome = await self._transport.run_in_room(command, **params)
        except DoorwardError:
            return {}
        return outcome.result if outcome.status == "done" and isinstance(outcome.result, Mapping) else {}


def _entry(one: Mapping[str, Any]) -> tuple[str, bool]:
    return str(one.get("name", "")), one.get("kind") == "folder"
