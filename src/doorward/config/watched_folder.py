"""A watched folder of configuration files, such as recipes or personas, that keeps the last good versions."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import ClassVar, Generic, NamedTuple, Protocol, TypeVar

from doorward.config import folder_watch
from doorward.config import json_folder as files
from doorward.config.files import BadFile, create_file, printable_name, replace_file
from doorward.core.errors import DoorwardError, LedgerUnavailable, NotFound

T = TypeVar("T")

_VALID = "lower-case letters, digits and hyphens, a letter first, at most 63 characters"


class LastGoodVersion(NamedTuple):
    """A stored version, used while its file is invalid."""

    body: str
    digest: str


class LastGoodStore(Protocol):
    """Storage that keeps the last good versions across restarts."""

    async def load_all(self) -> dict[str, LastGoodVersion]: ...

    async def update(self, kept: Mapping[str, LastGoodVersion], forgotten: list[str]) -> None: ...


class FileVersion(Generic[T]):
    """The parsed content of one file that is in force."""

    __slots__ = ("digest", "parsed", "text")

    def __init__(self, made: T, text: bytes) -> None:
        self.parsed = made
        self.text = text
        self.digest = hashlib.sha256(text).hexdigest()


class _FolderReading(Generic[T]):
    def __init__(self, absent: frozenset[str]) -> None:
        self.versions: dict[str, FileVersion[T]] = {}
        self.problems: dict[str, str] = {}
        self.absent = absent
        """Ids whose files no longer exist."""


class WatchedFolder(Generic[T]):
    """The versions in force. An invalid file never replaces a good version, not even across a restart."""

    noun: ClassVar[str]
    """The noun for one file in messages, such as "recipe"."""
    id_field: ClassVar[str]
    """The field that holds the id; the file has the same name."""
    package: ClassVar[str]
    """The package whose folder `shipped` holds the files that come with Doorward."""
    max_bytes: ClassVar[int]
    error_class: ClassVar[type[BadFile]]
    log: ClassVar[logging.Logger]

    def __init__(self, folder: Path, memory: LastGoodStore, make: Callable[[bytes, str], T]) -> None:
        """`make` parses the text of a file with a given name and raises `bad` when it is invalid."""
        self.problems: dict[str, str] = {}
        """Current problems in the folder: file name to message."""
        self.folder = folder
        self.versions: dict[str, FileVersion[T]] = {}
        self._last_good_store = memory
        self._parse = make
        self._is_stored = True
        self._loading = asyncio.Lock()

    def text(self, id: str) -> bytes | None:
        """The text in force. It differs from the file's while the file is invalid."""
        version = self.versions.get(id)
        return version.text if version else None

    async def load(self) -> None:
        """Read the folder: apply valid files, keep the last good version of invalid ones, drop those without a file."""
        async with self._loading:
            stored = await self._last_good_store.load_all()
            reading = await asyncio.to_thread(self._read, stored)
            versions, problems = self.versions, self.problems
            self.versions, self.problems = reading.versions, reading.problems
            self._report_changes(versions, problems)
            await self.on_applied(stored)
            await self._store_last_good(stored, reading.absent)

    async def watch(self) -> None:
        """Reload on every change of the folder, until cancelled."""
        await folder_watch.watch_folder(self.folder, files.is_json_file, self._load_or_log)

    async def save(self, id: str, text: bytes) -> None:
        """Validate a text, write it to its file and apply it; raise `bad` when it is invalid."""
        await asyncio.to_thread(self._check_and_write, id, text)
        await self.load()

    async def remove(self, id: str) -> None:
        """Delete a file and drop its version."""
        if not self.is_id(id):
            raise NotFound(f"There is no {self.noun} {id[:80]!r}; nothing was removed.")
        await asyncio.to_thread(files.remove_json_file, self._file(id), self.noun)
        await self.load()

    async def install_shipped(self) -> list[str]:
        """Write the shipped files that are missing and return their ids. `load` applies them."""
        return await asyncio.to_thread(self._write_shipped)

    def is_id(self, id: str) -> bool:
        raise NotImplementedError

    def on_rejected(self, id: str, message: str) -> None:
        """Called once when a file becomes invalid."""
        raise NotImplementedError

    def on_loaded(self, id: str) -> None:
        """Called when a new version is in force."""
        raise NotImplementedError

    def on_removed(self, id: str) -> None:
        """Called when a file was removed."""
        raise NotImplementedError

    async def on_applied(self, stored: Mapping[str, LastGoodVersion]) -> None:
        """Called after each load, before the versions in force are stored; they may differ from `stored`."""

    def _file(self, id: str) -> Path:
        return self.folder / f"{id}.json"

    def _check_and_write(self, id: str, text: bytes) -> None:
        file = self._file(id)
        if not self.is_id(id):
            raise self.error_class("to be saved", self.id_field, f"{id[:80]!r} is not valid; valid: {_VALID}")
        self._parse(text, file.name)
        replace_file(file, text)

    def _write_shipped(self) -> list[str]:
        files.make_folder(self.folder)
        return [id for id, text in files.shipped_files(self.package).items() if create_file(self._file(id), text)]

    def _read(self, stored: Mapping[str, LastGoodVersion]) -> _FolderReading[T]:
        known = frozenset((*self.versions, *stored))
        try:
            found = files.list_json_files(self.folder)
        except OSError as error:
            # A missing folder does not drop everything: its disk may not be mounted.
            reading = _FolderReading[T](frozenset())
            for id in known:
                self._keep_last_good(reading, id, stored)
            reading.problems[self.folder.name] = (
                f"The {self.noun} folder {self.folder} cannot be read: {error.strerror}."
            )
            return reading
        reading = _FolderReading[T](known - {file.stem for file in found})
        for file in found:
            name = printable_name(file)
            try:
                reading.versions[file.stem] = self._parse_version(
                    files.read_json_file(file, self.max_bytes, self.error_class), name
                )
            except self.error_class as error:
                reading.problems[name] = error.message
                self._keep_last_good(reading, file.stem, stored)
        return reading

    def _parse_version(self, text: bytes, name: str) -> FileVersion[T]:
        current = self.versions.get(name.removesuffix(".json"))
        if current is not None and current.text == text:
            return current
        return FileVersion(self._parse(text, name), text)

    def _keep_last_good(self, reading: _FolderReading[T], id: str, stored: Mapping[str, LastGoodVersion]) -> None:
        """Add the last good version to a reading, if there is one."""
        version = self.versions.get(id)
        if version is None and id in stored:
            try:
                version = self._parse_version(stored[id].body.encode(), f"{id}.json")
            except self.error_class as error:
                message = "the stored last good version of %s %s is no longer valid: %s"
                self.log.warning(message, self.noun, id, error)
        if version is not None:
            reading.versions[id] = version

    def _report_changes(self, versions: Mapping[str, FileVersion[T]], problems: Mapping[str, str]) -> None:
        """Report the differences from these earlier versions and problems."""
        for name, message in self.problems.items():
            if problems.get(name) == message:
                continue
            id = name.removesuffix(".json")
            kept = "The last good version stays in force." if id in self.versions else ""
            self.log.warning("%s %s", message, kept)
            self.on_rejected(id, message)
        for id, version in self.versions.items():
            name = f"{id}.json"
            news = version is not versions.get(id) or name in problems
            if news and name not in self.problems:
                self.on_loaded(id)
        for id in versions.keys() - self.versions.keys():
            self.on_removed(id)

    async def _store_last_good(self, stored: Mapping[str, LastGoodVersion], absent: frozenset[str]) -> None:
        """Store the versions in force. When that fails, a later load tries again."""
        changed = {
            id: LastGoodVersion(version.text.decode(), version.digest)
            for id, version in self.versions.items()
            if id not in stored or stored[id].digest != version.digest
        }
        gone = [id for id in stored if id in absent]
        try:
            if changed or gone:
                await self._last_good_store.update(changed, gone)
            self._is_stored = True
        except LedgerUnavailable as error:
            self._is_stored = False
            self.log.warning("the %ss in force could not be stored as last good versions: %s", self.noun, error)

    async def _load_or_log(self) -> bool:
        """Load; return whether everything was loaded and stored."""
        try:
            await self.load()
        except DoorwardError as error:
            self.log.warning("the %ss could not be loaded; trying again soon: %s", self.noun, error)
            return False
        return self._is_stored
