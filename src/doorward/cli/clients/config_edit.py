"""One edit of an MCP client's configuration file: computed, shown as a diff, and written with a backup."""

from __future__ import annotations

import contextlib
import difflib
import os
import stat
import time
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from doorward.cli.clients import json_config, toml_config
from doorward.cli.clients.registry import McpClientConfig
from doorward.config.home import fsync_folder
from doorward.config.jsonc import UneditableText, UnreadableText
from doorward.core import redact
from doorward.core.errors import Conflict, Unusable
from doorward.upstream.client_files import is_doorward_entry

_HTTP_KEYS = ("url", "httpUrl", "bearer_token_env_var")
"""Keys for HTTP entries. Those that the new entry does not use are removed."""
_SHARED_KEYS = {"env": "DOORWARD_HOME", "headers": "Authorization", "http_headers": "Authorization"}
"""Keys that hold one value of ours beside the person's own."""
_TRANSPORT_KEYS = (
    "type",
    "command",
    "args",
    "env",
    "envFile",
    "env_vars",
    "cwd",
    "headers",
    "http_headers",
    "env_http_headers",
)
"""Keys that apply only to stdio or only to HTTP entries."""


def merge_entry(there: Mapping[str, Any], entry: Mapping[str, Any]) -> dict[str, Any]:
    """Merge the new entry into the existing one. The person's additions stay, unless they no longer apply."""
    gone = {*_HTTP_KEYS} - entry.keys()
    if ("command" in there) != ("command" in entry):
        gone |= {*_TRANSPORT_KEYS}
    kept = {key: value for key, value in there.items() if key not in gone}
    for key, value in _SHARED_KEYS.items():
        held = kept.get(key)
        if isinstance(held, dict) and value in held:
            kept[key] = {name: one for name, one in held.items() if name != value}
            if not kept[key]:
                del kept[key]
    for key, value in entry.items():
        held = kept.get(key)
        kept[key] = {**held, **value} if key in _SHARED_KEYS and isinstance(held, dict) else value
    if "args" in entry and "command" in there:
        kept["args"] = [*entry["args"], *_extra_args(there["args"])]
    return kept


def _extra_args(args: list[Any]) -> list[Any]:
    """Return the arguments a person added, such as `--as reviewer`: all after `mcp` except the room."""
    rest, added = args[args.index("mcp") + 1 :] if "mcp" in args else [], []
    while rest:
        one, *rest = rest
        if one == "--room":
            rest = rest[1:]
        elif not (isinstance(one, str) and one.startswith("--room=")):
            added.append(one)
    return added


_MAX_FILE_BYTES = 64 * 1024 * 1024
_BACKUP_SUFFIX = ".before-doorward-"
_MAX_DIFF_COLUMNS = 200
"""Longer lines of a diff are truncated; some clients keep their whole configuration on one line."""


class ConfigEdit(msgspec.Struct, frozen=True):
    """The text of a file before and after the edit; None when the file does not exist."""

    file: Path
    before: str | None
    after: str | None

    @property
    def is_empty(self) -> bool:
        return self.before == self.after

    def render_diff(self, token: str = "") -> str:
        """Return the diff for people, with our token and other secrets masked."""
        found = difflib.unified_diff(
            (self.before or "").splitlines(),
            (self.after or "").splitlines(),
            str(self.file) if self.before is not None else os.devnull,
            str(self.file) if self.after is not None else os.devnull,
            lineterm="",
        )
        theirs = {line.rstrip(",") for line in (self.before or "").splitlines()}
        lines = []
        for line in found:
            ours = line.startswith("+") and len(theirs) > 1 and line[1:].rstrip(",") not in theirs
            text = line.replace(token, f"{token[:4]}…") if token else line
            text = text if ours or not theirs else redact.text(text)
            lines.append(text if len(text) <= _MAX_DIFF_COLUMNS else f"{text[:_MAX_DIFF_COLUMNS]}…")
        return "\n".join(lines)

    def write(self, mode: int = 0o666) -> Path | None:
        """Write the edit atomically, and return the backup if the file existed.

        `mode` applies to a new file. Raises if the file has changed since it was read.
        """
        real = resolve_links(self.file)
        found = read_text(real)
        if found != self.before:
            raise Conflict(f"{self.file} was changed by another program; nothing was written. Run this again.")
        try:
            backup = None if found is None else _write_backup(real, found)
            if self.after is None:
                real.unlink()
                return backup
            real.parent.mkdir(parents=True, exist_ok=True)
            _replace_file(real, self.after, mode)
        except OSError as error:
            raise Unusable(f"{self.file} cannot be written: {error.strerror}.") from error
        return backup


def plan_connect(
    client: McpClientConfig, file: Path, name: str, entry: Mapping[str, Any], server: str = ""
) -> ConfigEdit:
    """Compute the edit that adds or updates our entry. Raises if the name belongs to a foreign entry."""
    before = read_text(resolve_links(file))
    editor = _editor(client)
    try:
        there = editor.entries(before or "", client.container).get(name)
        if there is not None:
            _check_ours(file, name, there, server, "choose another name with --name NAME")
            entry = merge_entry(there, entry)
        return ConfigEdit(file, before, editor.set_entry(before or "", client.container, name, entry))
    except UnreadableText as error:
        raise unchanged_error(file, error) from error


def plan_removal(client: McpClientConfig, file: Path, name: str, server: str = "") -> ConfigEdit:
    """Compute the edit that removes our entry. Restores the exact original bytes if nothing else has changed."""
    before = read_text(resolve_links(file))
    editor = _editor(client)
    try:
        there = editor.entry(before or "", client.container, name)
    except UnreadableText as error:
        raise unchanged_error(file, error) from error
    if before is None or there is None:
        return ConfigEdit(file, before, before)
    _check_ours(file, name, there, server, "name Doorward's entry with --name NAME")

    def leads_here(earlier: str) -> bool:
        with contextlib.suppress(UnreadableText):
            if editor.entry(earlier, client.container, name) is None:
                return bool(editor.set_entry(earlier, client.container, name, there) == before)
        return False

    try:
        for copy in list_backups(resolve_links(file)):
            earlier = read_text(copy)
            if earlier is not None and leads_here(earlier):
                return ConfigEdit(file, before, earlier)
        rest = None if leads_here("") else editor.remove_entry(before, client.container, name)
        return ConfigEdit(file, before, rest)
    except UnreadableText as error:
        raise unchanged_error(file, error) from error


def find_our_entries(client: McpClientConfig, file: Path, server: str = "") -> list[str]:
    """Return the names of Doorward's entries in the file."""
    try:
        held = _editor(client).entries(read_text(resolve_links(file)) or "", client.container)
    except UnreadableText as error:
        raise unchanged_error(file, error) from error
    return [name for name, entry in held.items() if is_doorward_entry(entry, server)]


def _check_ours(file: Path, name: str, there: Any, server: str, instead: str) -> None:
    if not is_doorward_entry(there, server):
        raise Conflict(f"{file} was not changed: its entry {name!r} does not belong to Doorward; {instead}.")


def _editor(client: McpClientConfig) -> ModuleType:
    return toml_config if client.toml else json_config


def unchanged_error(file: Path, error: UnreadableText) -> Unusable:
    if isinstance(error, UneditableText):
        return Unusable(f"{file} was not changed: {error}.")
    return Unusable(
        f"{file} was not changed, because it cannot be parsed: {error}.", hint="Fix the file and try again."
    )


def resolve_links(file: Path) -> Path:
    """Resolve symlinks, so that an edit replaces the file and keeps the link."""
    try:
        real = Path(os.path.realpath(file, strict=False))
        leads_nowhere = file.is_symlink() and not os.path.exists(file)
    except OSError as error:
        raise Unusable(f"{file} cannot be followed: {error.strerror}.") from error
    if leads_nowhere:
        raise Unusable(f"{file} was not changed: it is a link to {real}, which does not exist.")
    return real


def read_text(real: Path) -> str | None:
    try:
        descriptor = os.open(real, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise Unusable(f"{real} was not changed: it is not a regular file.")
        with open(descriptor, "rb") as file:
            data = file.read(_MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unusable(f"{real} cannot be read: {error.strerror}.") from error
    if len(data) > _MAX_FILE_BYTES:
        raise Unusable(f"{real} was not changed: it is larger than {_MAX_FILE_BYTES} bytes.")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise Unusable(f"{real} was not changed: it is not UTF-8 text, byte {error.start} is invalid.") from error


def list_backups(real: Path) -> list[Path]:
    """Return the backups of a file, newest first."""
    with contextlib.suppress(OSError):
        return sorted(
            (one for one in real.parent.iterdir() if one.name.startswith(real.name + _BACKUP_SUFFIX)), reverse=True
        )
    return []


def _write_backup(real: Path, text: str) -> Path:
    """Write a backup beside the file, with the same permissions."""
    stamp = time.strftime("%Y%m%d-%H%M%S")
    for number in range(1_000):
        copy = real.with_name(f"{real.name}{_BACKUP_SUFFIX}{stamp}{f'-{number:03}' if number else ''}")
        try:
            descriptor = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            continue
        with open(descriptor, "wb") as out:
            os.fchmod(out.fileno(), stat.S_IMODE(real.stat().st_mode))
            out.write(text.encode())
        return copy
    raise Unusable(f"There are too many backups beside {real}; delete some.")


def _replace_file(real: Path, text: str, mode: int) -> None:
    """Replace the file atomically, keeping its owner and mode."""
    partial = real.with_name(f"{real.name}.{os.getpid()}.partial")
    try:
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        with open(descriptor, "wb") as out:
            with contextlib.suppress(FileNotFoundError):
                was = real.stat()
                with contextlib.suppress(PermissionError):
                    os.fchown(out.fileno(), was.st_uid, was.st_gid)
                os.fchmod(out.fileno(), stat.S_IMODE(was.st_mode))
            out.write(text.encode())
            out.flush()
            os.fsync(out.fileno())
        partial.rename(real)
        fsync_folder(real.parent)
    finally:
        partial.unlink(missing_ok=True)
