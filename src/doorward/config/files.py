"""Reads and writes small configuration files as a whole, and the error for an invalid one."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from doorward.config.home import fsync_folder
from doorward.core.errors import Unusable


class BadFile(Unusable):
    """An invalid configuration file; the message names the file, the field and the reason."""

    noun: ClassVar[str] = "file"
    default_hint: ClassVar[str] = ""

    def __init__(self, file: str, field: str, reason: str) -> None:
        where = f" at {field}" if field else ""
        stop = "" if reason.endswith((".", "?")) else "."
        super().__init__(f"The {self.noun} {file} is not valid{where}: {reason}{stop}", hint=self.default_hint)
        self.file = file
        self.field = field
        self.reason = reason


class UnreadableFile(Exception):
    """The file cannot be read; the message is a clause that says what is wrong and what is valid."""


def printable_name(file: Path) -> str:
    """A file's name, escaped for printing and storing: names on disk need not be text."""
    return file.name if file.name.isprintable() else repr(file.name)[1:-1]


def printable_path(file: Path, home: Path) -> str:
    """The name of a file in the home folder, or the whole path of a file elsewhere."""
    return printable_name(file) if file.parent == home else str(file.with_name(printable_name(file)))


def expand_path(given: str, noun: str, variable: str, setting: str) -> Path:
    """The path of a file that an environment variable or a setting names; it may be relative."""
    hint = f"It comes from the environment variable {variable} or from the setting {setting}."
    if "\x00" in given or not given.isprintable():
        raise Unusable(f"The path of the {noun} is not plain text; given {given!a}.", hint=hint)
    try:
        return Path(given).expanduser()
    except RuntimeError as error:
        raise Unusable(f"The path of the {noun} names no home folder; given {given!r}.", hint=hint) from error


def read_file(file: Path, largest: int) -> bytes:
    """Read a file; raise Unreadable unless it is a regular, readable file of at most `largest` bytes."""
    try:
        # Without O_NONBLOCK, opening a pipe would wait for a writer.
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise UnreadableFile(f"it cannot be read: {error.strerror}") from error
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise UnreadableFile("it is not a regular file; valid: a file that holds one JSON object")
        with open(descriptor, "rb", closefd=False) as stream:
            text = stream.read(largest + 1)
    except OSError as error:
        raise UnreadableFile(f"it cannot be read: {error.strerror}") from error
    finally:
        os.close(descriptor)
    if len(text) > largest:
        raise UnreadableFile(f"it is too large; valid: at most {largest} bytes; it has {facts.st_size}")
    return text


def replace_file(file: Path, text: bytes) -> None:
    """Write a file atomically: readers see either the old text or the new one."""
    _write_atomically(file, text, os.replace)


def create_file(file: Path, text: bytes) -> bool:
    """Create a file atomically; return False when the name already exists."""
    try:
        _write_atomically(file, text, os.link)
    except FileExistsError:
        return False
    return True


def _write_atomically(file: Path, text: bytes, into_place: Callable[[str, Path], None]) -> None:
    unfinished = None
    try:
        descriptor, unfinished = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=file.parent)
        with open(descriptor, "wb") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(descriptor)
        into_place(unfinished, file)
        fsync_folder(file.parent)
    except FileExistsError:
        raise
    except OSError as error:
        raise write_error(file, error) from error
    finally:
        if unfinished is not None:
            Path(unfinished).unlink(missing_ok=True)


def write_error(file: Path, error: OSError) -> Unusable:
    return Unusable(
        f"{file} cannot be written: {error.strerror}.",
        hint="Check that the folder exists, has free space and is writable for this account.",
    )
