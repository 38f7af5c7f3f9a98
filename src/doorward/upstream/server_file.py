"""The configured upstream servers, loaded from `mcp-servers.json` and reloaded when it changes."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from doorward.config import files, folder_watch
from doorward.config.published_schema import PublishedSchema, SchemaFault, format_path
from doorward.core import redact, strictjson
from doorward.core.clock import Clock
from doorward.core.command import shorten
from doorward.core.errors import Conflict, DoorwardError, LedgerUnavailable, Unusable
from doorward.core.events import Bus, ServersLoaded, ServersRejected
from doorward.store import kv
from doorward.store.sqlite import Store
from doorward.upstream.config import ServerConfig, ServersConfig
from doorward.upstream.server_entry import BadEntry, make_id, read_server

_PUBLISHED_SCHEMA = PublishedSchema(resources.files(__package__).joinpath("mcp-servers.schema.json").read_bytes())
SERVERS_SCHEMA = _PUBLISHED_SCHEMA.schema
find_first_fault = _PUBLISHED_SCHEMA.first_fault


MAX_FILE_BYTES = 4_000_000
"""Size limit of the file in bytes."""
APPROVAL, DISCOVERY = "MCP_TOOL_APPROVAL", "MCP_AUTO_DISCOVERY"
"""Environment variables that override the file."""

_PRIVATE = ("env", "headers", "auth", "url")
"""Fields whose values are never quoted in messages."""
_MARK = b"\xef\xbb\xbf"
_SWITCH = {"true": True, "1": True, "false": False, "0": False}


class BadServerFile(Unusable):
    """An invalid server file; the message names the file, the field and the reason."""

    def __init__(self, file: str, field: str, reason: str) -> None:
        where = f" at {field}" if field else ""
        stop = "" if reason.endswith((".", "?")) else "."
        super().__init__(
            f"The server file {file} is not valid{where}: {reason}{stop}",
            hint="docs/SERVERS.md and mcp-servers.schema.json describe every field.",
        )
        self.file = file
        self.field = field
        self.reason = reason


def read_switch(environment: Mapping[str, str], name: str, otherwise: bool) -> bool:
    """Read a boolean environment variable; raises Unusable when it is invalid."""
    given = environment.get(name, "")
    if not given:
        return otherwise
    if given.lower() not in _SWITCH:
        raise Unusable(f"{name} is not valid; valid: true, false, 1 or 0; given {shorten(given)}.")
    return _SWITCH[given.lower()]


def parse_servers(text: bytes, name: str, environment: Mapping[str, str]) -> ServersConfig:
    """Parse and check a server file called `name`, and expand its variables."""
    whole = parse_json(text, name)
    found: dict[str, ServerConfig] = {}
    for id, path, raw in iterate_entries(whole):
        try:
            one = read_server(raw, id, path, environment)
        except BadEntry as error:
            raise BadServerFile(name, error.fault.field, redact.text(error.fault.reason)) from error
        if id in found:
            raise BadServerFile(name, format_path(path), _duplicate_reason(id, path, found[id]))
        found[id] = one
    return ServersConfig(
        servers=tuple(found.values()),
        approval_required=read_switch(environment, APPROVAL, whole.get("toolApprovalRequired", True)),
        auto_discovery=read_switch(environment, DISCOVERY, whole.get("autoDiscoveryEnabled", False)),
        sub_agent=whole.get("subAgentEnabled", False),
    )


def parse_json(text: bytes, name: str) -> dict[str, Any]:
    """Parse the file as JSON and check it against the schema."""
    if not text.strip():
        raise BadServerFile(name, "", 'the file is empty; valid: {"servers": [...]}')
    if text.startswith(_MARK):
        raise BadServerFile(name, "", "it starts with a byte order mark; save it as UTF-8 without one")
    try:
        whole = strictjson.loads(text, max_bytes=MAX_FILE_BYTES)
    except strictjson.NotJson as error:
        raise BadServerFile(name, "", str(error)) from error
    fault = find_first_fault(whole)
    if fault is not None:
        raise BadServerFile(name, fault.field, _hide_value(fault, whole))
    if "servers" in whole and "mcpServers" in whole:
        raise BadServerFile(name, "mcpServers", "the file has servers as well; valid: one of the two forms")
    return dict(whole)


def iterate_entries(whole: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str | int, ...], Mapping[str, Any]]]:
    """Yield each server's id, path in the file and fields. In a map, the name makes the id."""
    for place, raw in enumerate(whole.get("servers", ())):
        yield raw["id"], ("servers", place), raw
    for key, raw in whole.get("mcpServers", {}).items():
        yield make_id(key), ("mcpServers", key), {"name": key, **raw}


def _duplicate_reason(id: str, path: Sequence[str | int], other: ServerConfig) -> str:
    if path[0] == "servers":
        return f"the id {id!r} is used twice; each server needs its own"
    return f"this name and {shorten(other.name)} make the same id, {id!r}; give one of them another name"


def _hide_value(fault: SchemaFault, whole: Any) -> str:
    """The reason, without the value when it may be a secret."""
    if not any(step in _PRIVATE for step in fault.path):
        return redact.text(fault.reason)
    value = whole
    try:
        for step in fault.path:
            value = value[step]
    except (KeyError, IndexError, TypeError):
        return redact.text(fault.reason)
    return redact.text(fault.reason.replace(shorten(value), "a private value"))


log = logging.getLogger(__name__)

FILE = "mcp-servers.json"
FILE_VARIABLE = "MCP_CONFIG_PATH"
"""Environment variable with another path of the file; it overrides the setting."""

_PATH_HINT = f"It comes from the environment variable {FILE_VARIABLE} or from the setting upstream.file."
_LAST_GOOD = "servers"
_EVERY_TENANT = ""

ApplyServers = Callable[[ServersConfig], None]
"""Applies servers. Raises TypeError and changes nothing when they are inconsistent."""


def find_server_file(home: Path, configured: str, environment: Mapping[str, str]) -> Path:
    """The path of the server file for a home folder.

    A relative path in the setting is relative to the home folder; in the variable it is relative to the current folder.
    """
    elsewhere = environment.get(FILE_VARIABLE, "")
    given = elsewhere or configured
    if not given:
        return home / FILE
    if "\x00" in given or not given.isprintable():
        raise Unusable(f"The path of the server file is not plain text; given {given!a}.", hint=_PATH_HINT)
    try:
        meant = Path(given).expanduser()
        return meant.absolute() if elsewhere else Path(os.path.abspath(home / meant))
    except RuntimeError as error:
        raise Unusable(
            f"The path of the server file names no home folder; given {given!r}.", hint=_PATH_HINT
        ) from error


class ServerFile:
    """The servers in force. An invalid file never replaces the last good version, even across a restart."""

    def __init__(
        self,
        home: Path,
        configured: str,
        store: Store,
        events: Bus,
        clock: Clock,
        put: ApplyServers,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.environment = dict(os.environ if environment is None else environment)
        self.file = find_server_file(home, configured, self.environment)
        self._name = files.printable_path(self.file, home)
        """The file's name in error messages."""
        for name in (APPROVAL, DISCOVERY):
            read_switch(self.environment, name, True)  # an invalid value stops the start
        self.servers = ServersConfig()
        """The servers in force."""
        self.problem = ""
        """The current error in the file, if any."""
        self.change_lock = asyncio.Lock()
        """Hold it while you read and change the file, so that no change is lost."""
        self._store = store
        self._events = events
        self._clock = clock
        self._apply_servers = put
        self._text: bytes | None = None
        self._loaded = False
        self._remembered = True
        self._loading = asyncio.Lock()

    @property
    def consequence(self) -> str:
        """A sentence that says what happens while the file has a problem."""
        if self._loaded and self._text is not None:
            return "Its last good version is in force."
        return "There is no earlier version, so no server in it is connected."

    async def load(self) -> None:
        """Read the file and apply it, or keep the last good version and record the problem."""
        async with self._loading:
            problem, first = self.problem, not self._loaded
            try:
                text = await asyncio.to_thread(self._read)
                news = text != self._text or bool(problem)
                self._apply(text)
            except BadServerFile as error:
                self.problem = error.message
                if first:
                    await self._apply_last_good()
                if self.problem != problem:
                    self._publish_rejected()
                return
            self.problem = ""
            if news:
                self._publish_loaded()
            await self._store_last_good()

    async def watch(self) -> None:
        """Reload whenever the file changes, until cancelled."""
        await folder_watch.watch_folder(self.file.parent, lambda name: name == self.file.name, self._load_or_log)

    async def text(self) -> bytes | None:
        """Read the text to change it; None when there is no file. Raises BadServers when it is invalid."""
        text = await asyncio.to_thread(self._read)
        if text is not None:
            self.parse(text)
        return text

    def parse(self, text: bytes) -> ServersConfig:
        return parse_servers(text, self._name, self.environment)

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
            files.replace_file(real, after)
            return
        try:
            real.unlink(missing_ok=True)
        except OSError as error:
            raise files.write_error(self.file, error) from error

    def _read(self) -> bytes | None:
        """Read the file; None when it is missing. A missing folder is an error, because it may not be mounted yet."""
        try:
            return files.read_file(self.file, MAX_FILE_BYTES)
        except files.UnreadableFile as error:
            gone = isinstance(error.__cause__, FileNotFoundError) and not self.file.is_symlink()
            if gone and self.file.parent.is_dir():
                return None
            raise BadServerFile(self._name, "", str(error)) from error

    def _apply(self, text: bytes | None) -> None:
        """Apply a text as a whole or not at all."""
        if self._loaded and text == self._text:
            return
        servers = self.parse(text) if text is not None else self._empty()
        try:
            self._apply_servers(servers)
        except TypeError as error:
            raise BadServerFile(self._name, "", str(error)) from error
        self.servers, self._text, self._loaded = servers, text, True

    def _empty(self) -> ServersConfig:
        return parse_servers(b"{}", FILE, self.environment)

    async def _apply_last_good(self) -> None:
        """Apply the last good version of this file that an earlier process stored."""
        kept = await kv.get(self._store, _LAST_GOOD) or ""
        file, _, text = kept.partition("\n")
        if file != str(self.file) or not text:
            return
        try:
            self._apply(text.encode())
        except BadServerFile as error:
            log.warning("the stored last good version of the servers is no longer usable: %s", error)

    def _publish_rejected(self) -> None:
        log.warning("%s %s", self.problem, self.consequence)
        now = self._clock.now()
        self._events.publish(ServersRejected(tenant=_EVERY_TENANT, at=now, file=str(self.file), reason=self.problem))

    def _publish_loaded(self) -> None:
        for one in self.servers.servers:
            if one.problem:
                log.warning("%s", one.problem)
        now = self._clock.now()
        self._events.publish(ServersLoaded(tenant=_EVERY_TENANT, at=now, servers=len(self.servers.servers)))

    async def _store_last_good(self) -> None:
        """Store the current version for the next process. If that fails, a later load tries again."""
        last = f"{self.file}\n{(self._text or b'').decode()}"
        try:
            kept = await kv.get(self._store, _LAST_GOOD)
            if kept != last and (kept or self._text):
                await self._store.write(kv.put(_LAST_GOOD, last))
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
