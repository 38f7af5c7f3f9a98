"""Watched configuration files that keep their last good versions. A kind of them is a folder or a single file."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Set
from pathlib import Path
from typing import ClassVar, Generic, NamedTuple, Protocol, TypeVar

from doorward.config import folder_watch
from doorward.config.files import BadFile, UnreadableFile
from doorward.core.errors import DoorwardError, LedgerUnavailable

T = TypeVar("T")


class LastGoodStore(Protocol):
    """Storage that keeps the last good texts across restarts, by id."""

    async def load_all(self) -> dict[str, str]: ...

    async def update(self, kept: Mapping[str, str], forgotten: Iterable[str]) -> None: ...


class FileVersion(NamedTuple, Generic[T]):
    """The parsed content of one file that is in force."""

    parsed: T
    text: bytes | None
    """None: the file is missing, which is valid for its kind."""


class WatchedConfig(Generic[T]):
    """The versions in force. An invalid file never replaces a good version, not even across a restart."""

    kind: ClassVar[str]
    """The noun for all that is in force, such as "recipes"."""
    max_bytes: ClassVar[int]
    error_class: ClassVar[type[BadFile]]
    without_version: ClassVar[str] = ""
    """A sentence that says what an invalid file without a last good version means."""
    log: ClassVar[logging.Logger]

    def __init__(self, folder: Path, last_good: LastGoodStore, parse: Callable[[bytes, str], T]) -> None:
        """`parse` parses the text of a file with a given name and raises `error_class` when it is invalid."""
        self.folder = folder
        self.problems: dict[str, str] = {}
        """Current problems: file name to message."""
        self.versions: dict[str, FileVersion[T]] = {}
        self._last_good_store = last_good
        self._parse = parse
        self._is_stored = True
        self._loading = asyncio.Lock()

    async def load(self) -> None:
        """Apply valid files, keep the last good version of invalid ones, drop those without a file."""
        async with self._loading:
            stored = await self._last_good_store.load_all()
            versions, problems = self.versions, self.problems
            gone = await self._read_all(stored)
            self._report_changes(versions, problems)
            await self.on_applied(stored)
            await self._store_last_good(stored, gone)

    async def watch(self) -> None:
        """Reload on every change of the files, until cancelled."""
        await folder_watch.watch_folder(self.folder, self.is_watched, self._load_or_log)

    def list_ids(self) -> list[str]:
        """The ids of the files; raises OSError when that is unknown. It runs on a thread."""
        raise NotImplementedError

    def file_name(self, id: str) -> str:
        """The name of a file in messages."""
        raise NotImplementedError

    def is_watched(self, name: str) -> bool:
        """Whether a change of the file with this name matters."""
        raise NotImplementedError

    def read(self, id: str) -> bytes | None:
        """Read one file; raises UnreadableFile. None: it is missing, which means an empty object. Runs on a thread."""
        raise NotImplementedError

    def apply(self, parsed: T) -> None:
        """Apply new content; raise TypeError, and change nothing, when it is inconsistent."""

    def on_rejected(self, name: str, message: str) -> None:
        """Called once when a file becomes invalid."""
        raise NotImplementedError

    def on_loaded(self, id: str) -> None:
        """Called when a new version is in force."""
        raise NotImplementedError

    def on_removed(self, id: str) -> None:
        """Called when a file was removed."""

    async def on_applied(self, stored: Mapping[str, str]) -> None:
        """Called after each load, before the versions in force are stored; they may differ from `stored`."""

    def read_text(self, id: str) -> bytes | None:
        """Like `read`, but raises `error_class`."""
        try:
            return self.read(id)
        except UnreadableFile as error:
            raise self.error_class(self.file_name(id), "", str(error)) from error

    async def _read_all(self, stored: Mapping[str, str]) -> Set[str]:
        """Put what the files say in force; return the known ids whose files no longer exist."""
        versions: dict[str, FileVersion[T]] = {}
        problems: dict[str, str] = {}
        known = self.versions.keys() | stored.keys()
        try:
            files = await asyncio.to_thread(self._read_files)
            gone = known.difference(files)
        except OSError as error:
            # A missing folder does not drop everything: its disk may not be mounted.
            files, gone = {}, set()
            noun = self.error_class.noun
            problems[self.folder.name] = f"The {noun} folder {self.folder} cannot be read: {error.strerror}."
        for id, found in files.items():
            try:
                versions[id] = self._make_version(id, found)
            except self.error_class as error:
                problems[self.file_name(id)] = error.message
        for id in known - gone - versions.keys():
            try:
                versions[id] = self.versions.get(id) or self._make_version(
                    id, await asyncio.to_thread(self._parse_changed, id, stored[id].encode())
                )
            except self.error_class as error:
                self.log.warning("a stored last good version is no longer valid: %s", error)
        self.versions, self.problems = versions, problems
        return gone

    def _read_files(self) -> dict[str, FileVersion[T] | BadFile]:
        """Read and parse all files. This call blocks."""
        return {id: self._read_file(id) for id in self.list_ids()}

    def _read_file(self, id: str) -> FileVersion[T] | BadFile:
        try:
            return self._parse_changed(id, self.read_text(id))
        except self.error_class as error:
            return error

    def _parse_changed(self, id: str, text: bytes | None) -> FileVersion[T]:
        """Parse a text, unless it is in force already."""
        current = self.versions.get(id)
        if current is not None and current.text == text:
            return current
        return FileVersion(self._parse(b"{}" if text is None else text, self.file_name(id)), text)

    def _make_version(self, id: str, found: FileVersion[T] | BadFile) -> FileVersion[T]:
        """Apply a version, completely or not at all, unless it is in force already."""
        if isinstance(found, BadFile):
            raise found
        if found is not self.versions.get(id):
            try:
                self.apply(found.parsed)
            except TypeError as error:
                raise self.error_class(self.file_name(id), "", str(error)) from error
        return found

    def _report_changes(self, versions: Mapping[str, FileVersion[T]], problems: Mapping[str, str]) -> None:
        """Report the differences from these earlier versions and problems."""
        usable = {self.file_name(id) for id, version in self.versions.items() if version.text is not None}
        for name, message in self.problems.items():
            if problems.get(name) != message:
                kept = "The last good version stays in force." if name in usable else self.without_version
                self.log.warning("%s %s", message, kept)
                self.on_rejected(name, message)
        for id, version in self.versions.items():
            name = self.file_name(id)
            before = versions[id].text if id in versions else None
            if (version.text != before or name in problems) and name not in self.problems:
                self.on_loaded(id)
        for id in versions.keys() - self.versions.keys():
            self.on_removed(id)

    async def _store_last_good(self, stored: Mapping[str, str], gone: Set[str]) -> None:
        """Store the versions in force. When that fails, a later load tries again."""
        texts = {id: (version.text or b"").decode() for id, version in self.versions.items()}
        changed = {id: text for id, text in texts.items() if stored.get(id) != text}
        try:
            if changed or gone & stored.keys():
                await self._last_good_store.update(changed, gone & stored.keys())
            self._is_stored = True
        except LedgerUnavailable as error:
            self._is_stored = False
            self.log.warning("the %s in force could not be stored as last good versions: %s", self.kind, error)

    async def _load_or_log(self) -> bool:
        """Load; return whether everything was loaded and stored."""
        try:
            await self.load()
        except DoorwardError as error:
            self.log.warning("the %s could not be loaded; trying again soon: %s", self.kind, error)
            return False
        return self._is_stored
