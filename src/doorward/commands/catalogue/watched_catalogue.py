"""The current catalogue, loaded from a watched file or from a program's output."""

from __future__ import annotations

import asyncio
import functools
import logging
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from doorward.commands.catalogue.entry import CatalogueEntry
from doorward.commands.catalogue.parser import MAX_CATALOGUE_BYTES, BadCatalogue, parse_catalogue
from doorward.config import files
from doorward.config.watched_file import WatchedFile
from doorward.core.clock import Clock
from doorward.core.events import Bus, CatalogueLoaded, CatalogueRejected
from doorward.sandbox.toolchains import find_toolchains
from doorward.sandbox.view import PATH
from doorward.store.last_good import LastGoodText
from doorward.store.sqlite import Store


def find_missing_programs(entries: Iterable[CatalogueEntry], home: Path) -> list[CatalogueEntry]:
    """The entries whose program is not installed; they are not offered, because they could only fail.

    A program that a workspace may have is never among them.
    """
    paths = {"tool": PATH, "build": find_toolchains(home, network=False).path}
    known: dict[tuple[str, str], bool] = {}
    missing = []
    for entry in entries:
        key = entry.program, entry.profile
        if key not in known:
            known[key] = shutil.which(entry.program, path=paths[entry.profile]) is not None
        if not known[key] and not entry.workspace_path:
            missing.append(entry)
    return missing


PRINTED_NAME = "printed by USHELL_CATALOG_CMD"
_PRINT_SECONDS = 10.0
_PASSED_VARIABLES = ("PATH", "HOME", "LANG", "LC_ALL")
_MAX_STDERR = 200


class CataloguePrintError(files.UnreadableFile):
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


CATALOGUE_FILE = "commands.json"
PRINT_COMMAND_VARIABLE = "USHELL_CATALOG_CMD"
"""The environment variable that names a program which prints the catalogue; the file is then ignored."""
FILE_VARIABLE = "USHELL_CATALOG_FILE"
"""The environment variable that names another catalogue file; it overrides the setting."""

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
    return files.expand_path(given, "catalogue", FILE_VARIABLE, "shell.catalogue").absolute()


def read_catalogue(home: Path, configured: str) -> tuple[CatalogueEntry, ...]:
    """The entries in the catalogue file of a home folder, or the shipped ones when there is no file."""
    file = find_catalogue_file(home, configured)
    return parse_catalogue(
        file.read_bytes() if file.is_file() else shipped_catalogue(), files.printable_path(file, home)
    )


class _Programs(NamedTuple):
    offered: list[CatalogueEntry]
    missing: list[CatalogueEntry]


def _parse_programs(home: Path, text: bytes, name: str) -> _Programs:
    entries = parse_catalogue(text, name)
    missing = find_missing_programs(entries, home)
    return _Programs([entry for entry in entries if entry not in missing], missing)


class WatchedCatalogue(WatchedFile[_Programs]):
    """The catalogue in force."""

    kind = "catalogue"
    max_bytes = MAX_CATALOGUE_BYTES
    error_class = BadCatalogue
    without_version = "Its commands are not offered."
    log = logging.getLogger(__name__)

    def __init__(self, home: Path, configured: str, store: Store, events: Bus, clock: Clock, put: ApplyEntries) -> None:
        file = find_catalogue_file(home, configured)
        self._command = os.environ.get(PRINT_COMMAND_VARIABLE, "").strip()
        origin = f"{PRINT_COMMAND_VARIABLE}={' '.join(self._command.split())}" if self._command else str(file)
        super().__init__(file, home, LastGoodText(store, self.kind, origin), functools.partial(_parse_programs, home))
        if self._command:
            self.name = PRINTED_NAME
        self._is_own_file = file == home / CATALOGUE_FILE
        self._printed_text: bytes | None = None
        self._events = events
        self._clock = clock
        self._apply_entries = put

    @property
    def entries(self) -> list[CatalogueEntry]:
        """The entries whose commands are offered."""
        return self.version.parsed.offered if self.version else []

    @property
    def missing(self) -> list[CatalogueEntry]:
        """The entries whose program is not installed."""
        return self.version.parsed.missing if self.version else []

    async def install_shipped(self) -> bool:
        """Write the shipped catalogue if the home folder has none. A file elsewhere belongs to its owner."""
        return self._is_own_file and await asyncio.to_thread(files.create_file, self.file, shipped_catalogue())

    def read(self, id: str) -> bytes | None:
        if not self._command:
            return super().read(id)
        if self._printed_text is None:
            self._printed_text = print_catalogue(self._command, self.max_bytes)
        return self._printed_text

    def apply(self, parsed: _Programs) -> None:
        self._apply_entries(parsed.offered)

    def on_rejected(self, name: str, message: str) -> None:
        now = self._clock.now()
        self._events.publish(CatalogueRejected(tenant=_EVERY_TENANT, at=now, file=str(self.file), reason=message))

    def on_loaded(self, id: str) -> None:
        now = self._clock.now()
        self._events.publish(CatalogueLoaded(tenant=_EVERY_TENANT, at=now, commands=len(self.entries)))
