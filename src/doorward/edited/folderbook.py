"""What the files of a folder say, kept up to date with it: recipes, personas."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import ClassVar, Generic, NamedTuple, Protocol, TypeVar

from doorward.edited import folder as files
from doorward.edited import watching
from doorward.edited.badfile import BadFile
from doorward.edited.wholefile import create, replace, shown_name
from doorward.errors import DoorwardError, LedgerUnavailable, NotFound

T = TypeVar("T")

_VALID = "lower-case letters, digits and hyphens, a letter first, at most 63 characters"


class LastGood(NamedTuple):
    """A version as it is remembered for the time when its file is broken."""

    body: str
    digest: str


class Memory(Protocol):
    """Where the last good versions outlive this process."""

    async def all(self) -> dict[str, LastGood]: ...

    async def bring(self, kept: Mapping[str, LastGood], forgotten: list[str]) -> None: ...


class Version(Generic[T]):
    """What one file says, as it is in force."""

    __slots__ = ("digest", "made", "text")

    def __init__(self, made: T, text: bytes) -> None:
        self.made = made
        self.text = text
        self.digest = hashlib.sha256(text).hexdigest()


class _Reading(Generic[T]):
    def __init__(self, absent: frozenset[str]) -> None:
        self.versions: dict[str, Version[T]] = {}
        self.problems: dict[str, str] = {}
        self.absent = absent
        """Those whose files are known to be gone."""


class FolderBook(Generic[T]):
    """What is in force. A bad file never replaces a good version, not even across a restart."""

    what: ClassVar[str]
    """What a file holds, in words that stand in a sentence."""
    key: ClassVar[str]
    """The field that holds the id, which is the file's name as well."""
    package: ClassVar[str]
    """Where those are that come with Doorward."""
    largest: ClassVar[int]
    bad: ClassVar[type[BadFile]]
    log: ClassVar[logging.Logger]

    def __init__(self, folder: Path, memory: Memory, make: Callable[[bytes, str], T]) -> None:
        """`make` reads the text of a file by its name, and raises `bad` when it is not valid."""
        self.problems: dict[str, str] = {}
        """What is wrong with the folder now: file name to message."""
        self.folder = folder
        self.versions: dict[str, Version[T]] = {}
        self._memory = memory
        self._make = make
        self._remembered = True
        self._loading = asyncio.Lock()

    def text(self, id: str) -> bytes | None:
        """The text that is in force, which is not the file's when the file is bad."""
        version = self.versions.get(id)
        return version.text if version else None

    async def load(self) -> None:
        """Read the folder; put good files in force, keep the last good of bad ones, drop those without a file."""
        async with self._loading:
            stored = await self._memory.all()
            reading = await asyncio.to_thread(self._read, stored)
            versions, problems = self.versions, self.problems
            self.versions, self.problems = reading.versions, reading.problems
            self._announce(versions, problems)
            await self.taken_over(stored)
            await self._remember(stored, reading.absent)

    async def watch(self) -> None:
        """Load on every change of the folder, until cancelled."""
        await watching.watch(self.folder, files.concerns, self._load_or_log)

    async def save(self, id: str, text: bytes) -> None:
        """Check a text, write it to its file and put it in force; `bad` when it is not valid."""
        await asyncio.to_thread(self._check_and_write, id, text)
        await self.load()

    async def remove(self, id: str) -> None:
        """Delete a file and what it says."""
        if not self.is_id(id):
            raise NotFound(f"There is no {self.what} {id[:80]!r}; nothing was removed.")
        await asyncio.to_thread(files.remove, self._file(id), self.what)
        await self.load()

    async def install_shipped(self) -> list[str]:
        """Write the shipped files that are missing; returns their ids. `load` puts them in force."""
        return await asyncio.to_thread(self._install)

    def is_id(self, id: str) -> bool:
        raise NotImplementedError

    def rejected(self, id: str, message: str) -> None:
        """A file is not valid; told once."""
        raise NotImplementedError

    def loaded(self, id: str) -> None:
        """Something is in force that was not before."""
        raise NotImplementedError

    def gone(self, id: str) -> None:
        """Something has no file any more."""
        raise NotImplementedError

    async def taken_over(self, stored: Mapping[str, LastGood]) -> None:
        """What is in force has changed, perhaps, from what was stored; done before it is remembered."""

    def _file(self, id: str) -> Path:
        return self.folder / f"{id}.json"

    def _check_and_write(self, id: str, text: bytes) -> None:
        file = self._file(id)
        if not self.is_id(id):
            raise self.bad("to be saved", self.key, f"{id[:80]!r} is not valid; valid: {_VALID}")
        self._make(text, file.name)
        replace(file, text)

    def _install(self) -> list[str]:
        files.make(self.folder)
        return [id for id, text in files.shipped(self.package).items() if create(self._file(id), text)]

    def _read(self, stored: Mapping[str, LastGood]) -> _Reading[T]:
        known = frozenset((*self.versions, *stored))
        try:
            found = files.files_in(self.folder)
        except OSError as error:
            # No folder is no order to drop everything: it may be a disk that is not mounted.
            reading = _Reading[T](frozenset())
            for id in known:
                self._keep(reading, id, stored)
            reading.problems[self.folder.name] = (
                f"The {self.what} folder {self.folder} cannot be read: {error.strerror}."
            )
            return reading
        reading = _Reading[T](known - {file.stem for file in found})
        for file in found:
            name = shown_name(file)
            try:
                reading.versions[file.stem] = self._version(files.read(file, self.largest, self.bad), name)
            except self.bad as error:
                reading.problems[name] = error.message
                self._keep(reading, file.stem, stored)
        return reading

    def _version(self, text: bytes, name: str) -> Version[T]:
        current = self.versions.get(name.removesuffix(".json"))
        if current is not None and current.text == text:
            return current
        return Version(self._make(text, name), text)

    def _keep(self, reading: _Reading[T], id: str, stored: Mapping[str, LastGood]) -> None:
        """Put the last good version into a reading, if there is one."""
        version = self.versions.get(id)
        if version is None and id in stored:
            try:
                version = self._version(stored[id].body.encode(), f"{id}.json")
            except self.bad as error:
                message = "the stored last good version of %s %s cannot be used any more: %s"
                self.log.warning(message, self.what, id, error)
        if version is not None:
            reading.versions[id] = version

    def _announce(self, versions: Mapping[str, Version[T]], problems: Mapping[str, str]) -> None:
        """Tell what differs from these earlier versions and problems."""
        for name, message in self.problems.items():
            if problems.get(name) == message:
                continue
            id = name.removesuffix(".json")
            kept = "The last good version stays in force." if id in self.versions else ""
            self.log.warning("%s %s", message, kept)
            self.rejected(id, message)
        for id, version in self.versions.items():
            name = f"{id}.json"
            news = version is not versions.get(id) or name in problems
            if news and name not in self.problems:
                self.loaded(id)
        for id in versions.keys() - self.versions.keys():
            self.gone(id)

    async def _remember(self, stored: Mapping[str, LastGood], absent: frozenset[str]) -> None:
        """Bring the store to what is in force. What cannot be stored now is made up for by a later load."""
        changed = {
            id: LastGood(version.text.decode(), version.digest)
            for id, version in self.versions.items()
            if id not in stored or stored[id].digest != version.digest
        }
        gone = [id for id in stored if id in absent]
        try:
            if changed or gone:
                await self._memory.bring(changed, gone)
            self._remembered = True
        except LedgerUnavailable as error:
            self._remembered = False
            self.log.warning("the %ss in force could not be stored as the last good ones: %s", self.what, error)

    async def _load_or_log(self) -> bool:
        """Whether nothing is left to be done."""
        try:
            await self.load()
        except DoorwardError as error:
            self.log.warning("the %ss could not be loaded and will be tried again: %s", self.what, error)
            return False
        return self._remembered
