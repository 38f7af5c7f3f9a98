"""The configured upstream servers, loaded from `mcp-servers.json` and reloaded when it changes."""

from __future__ import annotations

import asyncio
import functools
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from doorward.config import files
from doorward.config.published_schema import PublishedSchema, SchemaFault, format_path
from doorward.config.watched_file import WatchedFile
from doorward.core import redact, strictjson
from doorward.core.clock import Clock
from doorward.core.command import shorten
from doorward.core.errors import Conflict, Unusable
from doorward.core.events import Bus, ServersLoaded, ServersRejected
from doorward.store.last_good import LastGoodText
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


class BadServerFile(files.BadFile):
    """An invalid server file; the message names the file, the field and the reason."""

    noun = "server file"
    default_hint = "docs/SERVERS.md and mcp-servers.schema.json describe every field."


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
        sub_agent=whole.get("subAgentEnabled", True),
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


FILE = "mcp-servers.json"
FILE_VARIABLE = "MCP_CONFIG_PATH"
"""Environment variable with another path of the file; it overrides the setting."""

_EVERY_TENANT = ""
_NO_SERVERS = ServersConfig()

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
    path = files.expand_path(given, "server file", FILE_VARIABLE, "upstream.file")
    return path.absolute() if elsewhere else Path(os.path.abspath(home / path))


class ServerFile(WatchedFile[ServersConfig]):
    """The servers in force. A missing file means that there are none."""

    kind = "servers"
    max_bytes = MAX_FILE_BYTES
    error_class = BadServerFile
    without_version = "There is no earlier version, so no server in it is connected."
    log = logging.getLogger(__name__)

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
        file = find_server_file(home, configured, self.environment)
        parse = functools.partial(parse_servers, environment=self.environment)
        super().__init__(file, home, LastGoodText(store, self.kind, str(file)), parse)
        for name in (APPROVAL, DISCOVERY):
            read_switch(self.environment, name, True)  # an invalid value stops the start
        self.change_lock = asyncio.Lock()
        """Hold it while you read and change the file, so that no change is lost."""
        self._events = events
        self._clock = clock
        self._apply_servers = put

    @property
    def servers(self) -> ServersConfig:
        """The servers in force."""
        return self.version.parsed if self.version else _NO_SERVERS

    @property
    def consequence(self) -> str:
        """A sentence that says what happens while the file has a problem."""
        kept = self.version is not None and self.version.text is not None
        return "Its last good version is in force." if kept else self.without_version

    async def text(self) -> bytes | None:
        """Read the text to change it; None when there is no file. Raises BadServerFile when it is invalid."""
        text = await asyncio.to_thread(self.read_text, self.kind)
        if text is not None:
            self.parse(text)
        return text

    def parse(self, text: bytes) -> ServersConfig:
        return self._parse(text, self.name)

    async def save(self, before: bytes | None, after: bytes | None) -> None:
        """Replace the file's text, readable for this account only, and apply it.

        Raises Conflict and writes nothing when the file has changed since it was read.
        """
        await asyncio.to_thread(self._write, before, after)
        await self.load()

    def _write(self, before: bytes | None, after: bytes | None) -> None:
        if self.read_text(self.kind) != before:
            raise Conflict(f"{self.file} has changed in the meantime, so nothing was written. Try again.")
        real = Path(os.path.realpath(self.file))
        if after is not None:
            files.replace_file(real, after)
            return
        try:
            real.unlink(missing_ok=True)
        except OSError as error:
            raise files.write_error(self.file, error) from error

    def read(self, id: str) -> bytes | None:
        """Read the file; None when it is missing. A missing folder is an error, because it may not be mounted yet."""
        try:
            return super().read(id)
        except files.UnreadableFile as error:
            gone = isinstance(error.__cause__, FileNotFoundError) and not self.file.is_symlink()
            if gone and self.file.parent.is_dir():
                return None
            raise

    def apply(self, parsed: ServersConfig) -> None:
        self._apply_servers(parsed)

    def on_rejected(self, name: str, message: str) -> None:
        now = self._clock.now()
        self._events.publish(ServersRejected(tenant=_EVERY_TENANT, at=now, file=str(self.file), reason=message))

    def on_loaded(self, id: str) -> None:
        for one in self.servers.servers:
            if one.problem:
                self.log.warning("%s", one.problem)
        now = self._clock.now()
        self._events.publish(ServersLoaded(tenant=_EVERY_TENANT, at=now, servers=len(self.servers.servers)))
