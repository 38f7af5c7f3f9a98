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

from doorward import redact
from doorward.cli.clients import jsonfile, tomlfile
from doorward.cli.clients.known import Client
from doorward.cli.clients.ours import merged
from doorward.edited.unreadable import Unchangeable, Unreadable
from doorward.errors import Conflict, Unusable
from doorward.home import sync_folder
from doorward.upstream.ourselves import is_ours

_LARGEST = 64 * 1024 * 1024
_BACKUP = ".before-doorward-"
_WIDEST = 200
"""Longer lines of a diff are truncated; some clients keep their whole configuration on one line."""


class Change(msgspec.Struct, frozen=True):
    """The text of a file before and after the edit; None when the file does not exist."""

    file: Path
    before: str | None
    after: str | None

    @property
    def nothing(self) -> bool:
        return self.before == self.after

    def shown(self, token: str = "") -> str:
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
            lines.append(text if len(text) <= _WIDEST else f"{text[:_WIDEST]}…")
        return "\n".join(lines)

    def make(self, mode: int = 0o666) -> Path | None:
        """Write the edit atomically, and return the backup if the file existed.

        `mode` applies to a new file. Raises if the file has changed since it was read.
        """
        real = _real(self.file)
        found = _read(real)
        if found != self.before:
            raise Conflict(f"{self.file} was changed by another program; nothing was written. Run this again.")
        try:
            backup = None if found is None else _copy(real, found)
            if self.after is None:
                real.unlink()
                return backup
            real.parent.mkdir(parents=True, exist_ok=True)
            _replace(real, self.after, mode)
        except OSError as error:
            raise Unusable(f"{self.file} cannot be written: {error.strerror}.") from error
        return backup


def connecting(client: Client, file: Path, name: str, entry: Mapping[str, Any], server: str = "") -> Change:
    """Compute the edit that adds or updates our entry. Raises if the name belongs to a foreign entry."""
    before = _read(_real(file))
    editor = _editor(client)
    try:
        there = editor.entries(before or "", client.container).get(name)
        if there is not None:
            _check_ours(file, name, there, server, "choose another name with --name NAME")
            entry = merged(there, entry)
        return Change(file, before, editor.set_entry(before or "", client.container, name, entry))
    except Unreadable as error:
        raise _refused(file, error) from error


def removing(client: Client, file: Path, name: str, server: str = "") -> Change:
    """Compute the edit that removes our entry. Restores the exact original bytes if nothing else has changed."""
    before = _read(_real(file))
    editor = _editor(client)
    try:
        there = editor.entry(before or "", client.container, name)
    except Unreadable as error:
        raise _refused(file, error) from error
    if before is None or there is None:
        return Change(file, before, before)
    _check_ours(file, name, there, server, "name Doorward's entry with --name NAME")

    def leads_here(earlier: str) -> bool:
        with contextlib.suppress(Unreadable):
            if editor.entry(earlier, client.container, name) is None:
                return bool(editor.set_entry(earlier, client.container, name, there) == before)
        return False

    try:
        for copy in _copies(_real(file)):
            earlier = _read(copy)
            if earlier is not None and leads_here(earlier):
                return Change(file, before, earlier)
        rest = None if leads_here("") else editor.remove_entry(before, client.container, name)
        return Change(file, before, rest)
    except Unreadable as error:
        raise _refused(file, error) from error


def present(client: Client, file: Path, server: str = "") -> list[str]:
    """Return the names of Doorward's entries in the file."""
    try:
        held = _editor(client).entries(_read(_real(file)) or "", client.container)
    except Unreadable as error:
        raise _refused(file, error) from error
    return [name for name, entry in held.items() if is_ours(entry, server)]


def _check_ours(file: Path, name: str, there: Any, server: str, instead: str) -> None:
    if not is_ours(there, server):
        raise Conflict(f"{file} was not changed: its entry {name!r} does not belong to Doorward; {instead}.")


def _editor(client: Client) -> ModuleType:
    return tomlfile if client.toml else jsonfile


def _refused(file: Path, error: Unreadable) -> Unusable:
    if isinstance(error, Unchangeable):
        return Unusable(f"{file} was not changed: {error}.")
    return Unusable(
        f"{file} was not changed, because it cannot be parsed: {error}.", hint="Fix the file and try again."
    )


def _real(file: Path) -> Path:
    """Resolve symlinks, so that an edit replaces the file and keeps the link."""
    try:
        real = Path(os.path.realpath(file, strict=False))
        leads_nowhere = file.is_symlink() and not os.path.exists(file)
    except OSError as error:
        raise Unusable(f"{file} cannot be followed: {error.strerror}.") from error
    if leads_nowhere:
        raise Unusable(f"{file} was not changed: it is a link to {real}, which does not exist.")
    return real


def _read(real: Path) -> str | None:
    try:
        descriptor = os.open(real, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise Unusable(f"{real} was not changed: it is not a regular file.")
        with open(descriptor, "rb") as file:
            data = file.read(_LARGEST + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unusable(f"{real} cannot be read: {error.strerror}.") from error
    if len(data) > _LARGEST:
        raise Unusable(f"{real} was not changed: it is larger than {_LARGEST} bytes.")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise Unusable(f"{real} was not changed: it is not UTF-8 text, byte {error.start} is invalid.") from error


def _copies(real: Path) -> list[Path]:
    """Return the backups of a file, newest first."""
    with contextlib.suppress(OSError):
        return sorted((one for one in real.parent.iterdir() if one.name.startswith(real.name + _BACKUP)), reverse=True)
    return []


def _copy(real: Path, text: str) -> Path:
    """Write a backup beside the file, with the same permissions."""
    stamp = time.strftime("%Y%m%d-%H%M%S")
    for number in range(1_000):
        copy = real.with_name(f"{real.name}{_BACKUP}{stamp}{f'-{number:03}' if number else ''}")
        try:
            descriptor = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            continue
        with open(descriptor, "wb") as out:
            os.fchmod(out.fileno(), stat.S_IMODE(real.stat().st_mode))
            out.write(text.encode())
        return copy
    raise Unusable(f"There are too many backups beside {real}; delete some.")


def _replace(real: Path, text: str, mode: int) -> None:
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
        sync_folder(real.parent)
    finally:
        partial.unlink(missing_ok=True)
