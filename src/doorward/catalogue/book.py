"""The catalogue in force, loaded from a watched file."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from importlib import resources
from pathlib import Path

from doorward.catalogue import installed, printing
from doorward.catalogue.entry import Entry
from doorward.catalogue.parse import LARGEST, BadCatalogue, parse
from doorward.clock import Clock
from doorward.edited import watching, wholefile
from doorward.errors import DoorwardError, LedgerUnavailable, Unusable
from doorward.events import Bus, CatalogueLoaded, CatalogueRejected
from doorward.store import keepsakes
from doorward.store.sqlite import Store

log = logging.getLogger(__name__)

FILE = "commands.json"
COMMAND = "USHELL_CATALOG_CMD"
"""The environment variable that names a program which prints the catalogue; the file is then ignored."""
ELSEWHERE = "USHELL_CATALOG_FILE"
"""The environment variable that names another catalogue file; it overrides the setting."""

_WHERE = f"It comes from the environment variable {ELSEWHERE} or from the setting shell.catalogue."
_LAST_GOOD = "catalogue"
_EVERY_TENANT = ""

Put = Callable[[list[Entry]], None]
"""Registers entries as commands; raises TypeError, and changes nothing, when they are invalid."""


def shipped() -> bytes:
    """The catalogue that comes with Doorward."""
    return resources.files(__package__).joinpath(FILE).read_bytes()


def place(home: Path, configured: str) -> Path:
    """The catalogue file of a home folder."""
    given = os.environ.get(ELSEWHERE) or configured
    if not given:
        return home / FILE
    if "\x00" in given or not given.isprintable():
        raise Unusable(f"The path of the catalogue is not plain text; given {given!a}.", hint=_WHERE)
    try:
        return Path(given).expanduser().absolute()
    except RuntimeError as error:
        raise Unusable(f"The path of the catalogue names no home folder; given {given!r}.", hint=_WHERE) from error


def catalogue_of(home: Path, configured: str) -> tuple[Entry, ...]:
    """The entries in the catalogue file of a home folder, or the shipped ones when there is no file."""
    file = place(home, configured)
    return parse(file.read_bytes() if file.is_file() else shipped(), wholefile.shown_place(file, home))


class CatalogueBook:
    """The catalogue in force. An invalid file never replaces a good version, not even across a restart."""

    def __init__(self, home: Path, configured: str, store: Store, events: Bus, clock: Clock, put: Put) -> None:
        self.file = place(home, configured)
        self.entries: list[Entry] = []
        """The entries whose commands are offered."""
        self.missing: list[Entry] = []
        """The entries whose program is not installed."""
        self.problem = ""
        """The current problem of the file; empty when there is none."""
        self._ours = self.file == home / FILE
        self._command = os.environ.get(COMMAND, "").strip()
        self._printed: bytes | None = None
        self._name = printing.NAME if self._command else wholefile.shown_place(self.file, home)
        """The name of the catalogue in error messages."""
        self._store = store
        self._events = events
        self._clock = clock
        self._put = put
        self._text: bytes | None = None
        self._remembered = True
        self._loading = asyncio.Lock()

    @property
    def _origin(self) -> str:
        """The source in one line, stored with the last good version so that it is only used for the same source."""
        return f"{COMMAND}={' '.join(self._command.split())}" if self._command else str(self.file)

    async def install_shipped(self) -> bool:
        """Write the shipped catalogue if the home folder has none. A file elsewhere belongs to its owner."""
        return self._ours and await asyncio.to_thread(wholefile.create, self.file, shipped())

    async def load(self) -> None:
        """Read the file and apply it, or keep the last good version and report the problem."""
        async with self._loading:
            problem = self.problem
            try:
                text = await asyncio.to_thread(self._read)
                news = text != self._text or bool(problem)
                self._take(text)
            except BadCatalogue as error:
                self.problem = error.message
                if self._text is None:
                    await self._take_last_good()
                if self.problem != problem:
                    self._reject()
                return
            self.problem = ""
            if news:
                now = self._clock.now()
                self._events.publish(CatalogueLoaded(tenant=_EVERY_TENANT, at=now, commands=len(self.entries)))
            await self._remember()

    async def watch(self) -> None:
        """Reload on every change of the file, until cancelled."""
        await watching.watch(self.file.parent, lambda name: name == self.file.name, self._load_or_log)

    def _read(self) -> bytes:
        try:
            if self._command:
                if self._printed is None:
                    self._printed = printing.printed(self._command, LARGEST)
                return self._printed
            return wholefile.read(self.file, LARGEST)
        except (wholefile.Unreadable, printing.Unprinted) as error:
            raise BadCatalogue(self._name, "", str(error)) from error

    def _take(self, text: bytes) -> None:
        """Apply a text, completely or not at all."""
        if text == self._text:
            return
        name = self._name
        entries = parse(text, name)
        missing = installed.missing(entries)
        offered = [entry for entry in entries if entry not in missing]
        try:
            self._put(offered)
        except TypeError as error:
            raise BadCatalogue(name, "", str(error)) from error
        self.entries, self.missing, self._text = offered, missing, text

    async def _take_last_good(self) -> None:
        """Apply the version that an earlier process stored for this file, while the file itself is invalid."""
        kept = await keepsakes.get(self._store, _LAST_GOOD) or ""
        file, _, text = kept.partition("\n")
        if file != self._origin:
            return
        try:
            self._take(text.encode())
        except BadCatalogue as error:
            log.warning("the stored last good version of the catalogue is no longer valid: %s", error)

    def _reject(self) -> None:
        kept = "The last good version stays in force." if self._text is not None else "Its commands are not offered."
        log.warning("%s %s", self.problem, kept)
        now = self._clock.now()
        self._events.publish(CatalogueRejected(tenant=_EVERY_TENANT, at=now, file=str(self.file), reason=self.problem))

    async def _remember(self) -> None:
        """Store the version in force for the next process. When that fails, a later load tries again."""
        if self._text is None:
            return
        last = f"{self._origin}\n{self._text.decode()}"
        try:
            if await keepsakes.get(self._store, _LAST_GOOD) != last:
                await self._store.write(keepsakes.put(_LAST_GOOD, last))
            self._remembered = True
        except LedgerUnavailable as error:
            self._remembered = False
            log.warning("the catalogue in force could not be stored as the last good version: %s", error)

    async def _load_or_log(self) -> bool:
        try:
            await self.load()
        except DoorwardError as error:
            log.warning("the catalogue could not be loaded; trying again soon: %s", error)
            return False
        return self._remembered
