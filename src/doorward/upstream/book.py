"""The configured upstream servers, loaded from mcp-servers.json and reloaded when it changes."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from doorward.clock import Clock
from doorward.edited import watching, wholefile
from doorward.errors import Conflict, DoorwardError, LedgerUnavailable, Unusable
from doorward.events import Bus, ServersLoaded, ServersRejected
from doorward.store import keepsakes
from doorward.store.sqlite import Store
from doorward.upstream.config import Servers
from doorward.upstream.parse import APPROVAL, DISCOVERY, LARGEST, BadServers, parse, switched

log = logging.getLogger(__name__)

FILE = "mcp-servers.json"
ELSEWHERE = "MCP_CONFIG_PATH"
"""Environment variable with another path of the file; it overrides the setting."""

_WHERE = f"It comes from the environment variable {ELSEWHERE} or from the setting upstream.file."
_LAST_GOOD = "servers"
_EVERY_TENANT = ""

Put = Callable[[Servers], None]
"""Applies servers. Raises TypeError and changes nothing when they are inconsistent."""


def place(home: Path, configured: str, environment: Mapping[str, str]) -> Path:
    """The path of the server file for a home folder.

    A relative path in the setting is relative to the home folder; in the variable it is relative to the current folder.
    """
    elsewhere = environment.get(ELSEWHERE, "")
    given = elsewhere or configured
    if not given:
        return home / FILE
    if "\x00" in given or not given.isprintable():
        raise Unusable(f"The path of the server file is not plain text; given {given!a}.", hint=_WHERE)
    try:
        meant = Path(given).expanduser()
        return meant.absolute() if elsewhere else Path(os.path.abspath(home / meant))
    except RuntimeError as error:
        raise Unusable(f"The path of the server file names no home folder; given {given!r}.", hint=_WHERE) from error


class ServerBook:
    """The servers in force. An invalid file never replaces the last good version, even across a restart."""

    def __init__(
        self,
        home: Path,
        configured: str,
        store: Store,
        events: Bus,
        clock: Clock,
        put: Put,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.environment = dict(os.environ if environment is None else environment)
        self.file = place(home, configured, self.environment)
        self._name = wholefile.shown_place(self.file, home)
        """The file's name in error messages."""
        for name in (APPROVAL, DISCOVERY):
            switched(self.environment, name, True)  # an invalid value stops the start
        self.servers = Servers()
        """The servers in force."""
        self.problem = ""
        """The current error in the file, if any."""
        self.changing = asyncio.Lock()
        """Hold it while you read and change the file, so that no change is lost."""
        self._store = store
        self._events = events
        self._clock = clock
        self._put = put
        self._text: bytes | None = None
        self._taken = False
        self._remembered = True
        self._loading = asyncio.Lock()

    @property
    def consequence(self) -> str:
        """A sentence that says what happens while the file has a problem."""
        if self._taken and self._text is not None:
            return "Its last good version is in force."
        return "There is no earlier version, so no server in it is connected."

    async def load(self) -> None:
        """Read the file and apply it, or keep the last good version and record the problem."""
        async with self._loading:
            problem, first = self.problem, not self._taken
            try:
                text = await asyncio.to_thread(self._read)
                news = text != self._text or bool(problem)
                self._take(text)
            except BadServers as error:
                self.problem = error.message
                if first:
                    await self._take_last_good()
                if self.problem != problem:
                    self._reject()
                return
            self.problem = ""
            if news:
                self._say_what_is_in_force()
            await self._remember()

    async def watch(self) -> None:
        """Reload whenever the file changes, until cancelled."""
        await watching.watch(self.file.parent, lambda name: name == self.file.name, self._load_or_log)

    async def text(self) -> bytes | None:
        """Read the text to change it; None when there is no file. Raises BadServers when it is invalid."""
        text = await asyncio.to_thread(self._read)
        if text is not None:
            self.parsed(text)
        return text

    def parsed(self, text: bytes) -> Servers:
        return parse(text, self._name, self.environment)

    async def save(self, before: bytes | None, after: bytes | None) -> None:
        """Replace the file's text, readable for this account only, and apply it.

        Raises Conflict and writes nothing when the file has changed since it was read.
        """
        await asyncio.to_thread(self._write, before, after)
        await self.load()

    def _write(self, before: bytes | None, after: bytes | None) -> None:
        if self._read() != before:
            raise Conflict(f"{self.file} has changed in the meantime, so nothing was written. Try again.")
        real = Path(os.path.realpath(self.file))
        if after is not None:
            wholefile.replace(real, after)
            return
        try:
            real.unlink(missing_ok=True)
        except OSError as error:
            raise wholefile.cannot_be_written(self.file, error) from error

    def _read(self) -> bytes | None:
        """Read the file; None when it is missing. A missing folder is an error, because it may not be mounted yet."""
        try:
            return wholefile.read(self.file, LARGEST)
        except wholefile.Unreadable as error:
            gone = isinstance(error.__cause__, FileNotFoundError) and not self.file.is_symlink()
            if gone and self.file.parent.is_dir():
                return None
            raise BadServers(self._name, "", str(error)) from error

    def _take(self, text: bytes | None) -> None:
        """Apply a text as a whole or not at all."""
        if self._taken and text == self._text:
            return
        servers = self.parsed(text) if text is not None else self._none()
        try:
            self._put(servers)
        except TypeError as error:
            raise BadServers(self._name, "", str(error)) from error
        self.servers, self._text, self._taken = servers, text, True

    def _none(self) -> Servers:
        return parse(b"{}", FILE, self.environment)

    async def _take_last_good(self) -> None:
        """Apply the last good version of this file that an earlier process stored."""
        kept = await keepsakes.get(self._store, _LAST_GOOD) or ""
        file, _, text = kept.partition("\n")
        if file != str(self.file) or not text:
            return
        try:
            self._take(text.encode())
        except BadServers as error:
            log.warning("the stored last good version of the servers is no longer usable: %s", error)

    def _reject(self) -> None:
        log.warning("%s %s", self.problem, self.consequence)
        now = self._clock.now()
        self._events.publish(ServersRejected(tenant=_EVERY_TENANT, at=now, file=str(self.file), reason=self.problem))

    def _say_what_is_in_force(self) -> None:
        for one in self.servers.servers:
            if one.problem:
                log.warning("%s", one.problem)
        now = self._clock.now()
        self._events.publish(ServersLoaded(tenant=_EVERY_TENANT, at=now, servers=len(self.servers.servers)))

    async def _remember(self) -> None:
        """Store the current version for the next process. If that fails, a later load tries again."""
        last = f"{self.file}\n{(self._text or b'').decode()}"
        try:
            kept = await keepsakes.get(self._store, _LAST_GOOD)
            if kept != last and (kept or self._text):
                await self._store.write(keepsakes.put(_LAST_GOOD, last))
            self._remembered = True
        except LedgerUnavailable as error:
            self._remembered = False
            log.warning("the servers in force could not be stored as the last good version: %s", error)

    async def _load_or_log(self) -> bool:
        try:
            await self.load()
        except DoorwardError as error:
            log.warning("the servers could not be loaded; Doorward will try again: %s", error)
            return False
        return self._remembered
