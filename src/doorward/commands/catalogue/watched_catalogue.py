"""The current catalogue, loaded from a watched file or from a program's output."""

from __future__ import annotations

import asyncio
import logging
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from importlib import resources
from pathlib import Path

from doorward.commands.catalogue.entry import CatalogueEntry
from doorward.commands.catalogue.parser import MAX_CATALOGUE_BYTES, BadCatalogue, parse_catalogue
from doorward.config import files, folder_watch
from doorward.core.clock import Clock
from doorward.core.errors import DoorwardError, LedgerUnavailable, Unusable
from doorward.core.events import Bus, CatalogueLoaded, CatalogueRejected
from doorward.sandbox.view import PATH
from doorward.store import kv
from doorward.store.sqlite import Store


def find_missing_programs(entries: Iterable[CatalogueEntry]) -> list[CatalogueEntry]:
    """The entries whose program is not installed; they are not offered, because they could only fail."""
    known: dict[str, bool] = {}
    for entry in entries:
        if entry.program not in known:
            known[entry.program] = shutil.which(entry.program, path=PATH) is not None
    return [entry for entry in entries if not known[entry.program]]


PRINTED_NAME = "printed by USHELL_CATALOG_CMD"
_PRINT_SECONDS = 10.0
_PASSED_VARIABLES = ("PATH", "HOME", "LANG", "LC_ALL")
_MAX_STDERR = 200


class CataloguePrintError(Exception):
    """The program printed no catalogue; the message is a clause with the reason."""


def print_catalogue(command: str, largest: int) -> bytes:
    """Run the program and return its output, of at most `largest` bytes."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise CataloguePrintError(f"the command cannot be parsed: {error}; given {command[:80]!r}") from error
    environment = {name: value for name in _PASSED_VARIABLES if (value := os.environ.get(name)) is not None}
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as complaints:
        try:
            ended = subprocess.run(  # noqa: S603 - named by the operator, without a shell
                words, stdin=subprocess.DEVNULL, stdout=out, stderr=complaints, env=environment, timeout=_PRINT_SECONDS
            )
        except subprocess.TimeoutExpired as error:
            raise CataloguePrintError(f"{words[0]!r} did not end within {_PRINT_SECONDS:g} s") from error
        except OSError as error:
            raise CataloguePrintError(f"{words[0]!r} cannot be started: {error.strerror}") from error
        out.seek(0)
        complaints.seek(0)
        if ended.returncode != 0:
            said = complaints.read(_MAX_STDERR).decode("utf-8", "replace").strip()
            raise CataloguePrintError(
                f"{words[0]!r} ended with exit code {ended.returncode}{f': {said!r}' if said else ''}"
            )
        text = out.read(largest + 1)
    if len(text) > largest:
        raise CataloguePrintError(f"{words[0]!r} prints more than {largest} bytes, the maximum for a catalogue")
    return text


log = logging.getLogger(__name__)

CATALOGUE_FILE = "commands.json"
PRINT_COMMAND_VARIABLE = "USHELL_CATALOG_CMD"
"""The environment variable that names a program which prints the catalogue; the file is then ignored."""
FILE_VARIABLE = "USHELL_CATALOG_FILE"
"""The environment variable that names another catalogue file; it overrides the setting."""

_WHERE = f"It comes from the environment variable {FILE_VARIABLE} or from the setting shell.catalogue."
_LAST_GOOD = "catalogue"
_EVERY_TENANT = ""

ApplyEntries = Callable[[list[CatalogueEntry]], None]
"""Registers entries as commands; raises TypeError, and changes nothing, when they are invalid."""


def shipped_catalogue() -> bytes:
    """The catalogue that comes with Doorward."""
    return resources.files(__package__).joinpath(CATALOGUE_FILE).read_bytes()


def find_catalogue_file(home: Path, configured: str) -> Path:
    """The catalogue file of a home folder."""
    given = os.environ.get(FILE_VARIABLE) or configured
    if not given:
        return home / CATALOGUE_FILE
    if "\x00" in given or not given.isprintable():
        raise Unusable(f"The path of the catalogue is not plain text; given {given!a}.", hint=_WHERE)
    try:
        return Path(given).expanduser().absolute()
    except RuntimeError as error:
        raise Unusable(f"The path of the catalogue names no home folder; given {given!r}.", hint=_WHERE) from error


def read_catalogue(home: Path, configured: str) -> tuple[CatalogueEntry, ...]:
    """The entries in the catalogue file of a home folder, or the shipped ones when there is no file."""
    file = find_catalogue_file(home, configured)
    return parse_catalogue(
        file.read_bytes() if file.is_file() else shipped_catalogue(), files.printable_path(file, home)
    )


class WatchedCatalogue:
    """The catalogue in force. An invalid file never replaces a good version, not even across a restart."""

    def __init__(self, home: Path, configured: str, store: Store, events: Bus, clock: Clock, put: ApplyEntries) -> None:
        self.file = find_catalogue_file(home, configured)
        self.entries: list[CatalogueEntry] = []
        """The entries whose commands are offered."""
        self.missing: list[CatalogueEntry] = []
        """The entries whose program is not installed."""
        self.problem = ""
        """The current problem of the file; empty when there is none."""
        self._is_own_file = self.file == home / CATALOGUE_FILE
        self._command = os.environ.get(PRINT_COMMAND_VARIABLE, "").strip()
        self._printed_text: bytes | None = None
        self._name = PRINTED_NAME if self._command else files.printable_path(self.file, home)
        """The name of the catalogue in error messages."""
        self._store = store
        self._events = events
        self._clock = clock
        self._apply_entries = put
        self._text: bytes | None = None
        self._is_stored = True
        self._loading = asyncio.Lock()

    @property
    def _origin(self) -> str:
        """The source in one line, stored with the last good version so that it is only used for the same source."""
        return f"{PRINT_COMMAND_VARIABLE}={' '.join(self._command.split())}" if self._command else str(self.file)

    async def install_shipped(self) -> bool:
        """Write the shipped catalogue if the home folder has none. A file elsewhere belongs to its owner."""
        return self._is_own_file and await asyncio.to_thread(files.create_file, self.file, shipped_catalogue())

    async def load(self) -> None:
        """Read the file and apply it, or keep the last good version and report the problem."""
        async with self._loading:
            problem = self.problem
            try:
                text = await asyncio.to_thread(self._read)
                news = text != self._text or bool(problem)
                self._apply(text)
            except BadCatalogue as error:
                self.problem = error.message
                if self._text is None:
                    await self._apply_last_good()
                if self.problem != problem:
                    self._reject()
                return
            self.problem = ""
            if news:
                now = self._clock.now()
                self._events.publish(CatalogueLoaded(tenant=_EVERY_TENANT, at=now, commands=len(self.entries)))
            await self._store_last_good()

    async def watch(self) -> None:
        """Reload on every change of the file, until cancelled."""
        await folder_watch.watch_folder(self.file.parent, lambda name: name == self.file.name, self._load_or_log)

    def _read(self) -> bytes:
        try:
            if self._command:
                if self._printed_text is None:
                    self._printed_text = print_catalogue(self._command, MAX_CATALOGUE_BYTES)
                return self._printed_text
            return files.read_file(self.file, MAX_CATALOGUE_BYTES)
        except (files.UnreadableFile, CataloguePrintError) as error:
            raise BadCatalogue(self._name, "", str(error)) from error

    def _apply(self, text: bytes) -> None:
        """Apply a text, completely or not at all."""
        if text == self._text:
            return
        name = self._name
        entries = parse_catalogue(text, name)
        missing = find_missing_programs(entries)
        offered = [entry for entry in entries if entry not in missing]
        try:
            self._apply_entries(offered)
        except TypeError as error:
            raise BadCatalogue(name, "", str(error)) from error
        self.entries, self.missing, self._text = offered, missing, text

    async def _apply_last_good(self) -> None:
        """Apply the version that an earlier process stored for this file, while the file itself is invalid."""
        kept = await kv.get(self._store, _LAST_GOOD) or ""
        file, _, text = kept.partition("\n")
        if file != self._origin:
            return
        try:
            self._apply(text.encode())
        except BadCatalogue as error:
            log.warning("the stored last good version of the catalogue is no longer valid: %s", error)

    def _reject(self) -> None:
        kept = "The last good version stays in force." if self._text is not None else "Its commands are not offered."
        log.warning("%s %s", self.problem, kept)
        now = self._clock.now()
        self._events.publish(CatalogueRejected(tenant=_EVERY_TENANT, at=now, file=str(self.file), reason=self.problem))

    async def _store_last_good(self) -> None:
        """Store the version in force for the next process. When that fails, a later load tries again."""
        if self._text is None:
            return
        last = f"{self._origin}\n{self._text.decode()}"
        try:
            if await kv.get(self._store, _LAST_GOOD) != last:
                await self._store.write(kv.put(_LAST_GOOD, last))
            self._is_stored = True
        except LedgerUnavailable as error:
            self._is_stored = False
            log.warning("the catalogue in force could not be stored as the last good version: %s", error)

    async def _load_or_log(self) -> bool:
        try:
            await self.load()
        except DoorwardError as error:
            log.warning("the catalogue could not be loaded; trying again soon: %s", error)
            return False
        return self._is_stored
