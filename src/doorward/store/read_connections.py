"""Read-only connections with a time limit, and the translation of their database errors."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from doorward.core.errors import CommandFailed, DoorwardError, NotFound, TimedOut, Unreachable
from doorward.store import sql_functions
from doorward.store.sql_functions import Secrets

STEPS_BETWEEN_CHECKS = 500


class Source:
    """A database file and the name users know it by."""

    def __init__(self, name: str, path: Path) -> None:
        self.name = name
        self.path = path

    def uri(self, mode: str) -> str:
        """The URI for SQLite. Checks that the path is a regular file, because opening a pipe would block forever."""
        if not self.path.exists():
            raise NotFound(f"The file of database {self.name!r} does not exist: {self.path}.")
        if not self.path.is_file():
            raise Unreachable(f"The database {self.name!r} is not a regular file: {self.path}.")
        return f"{self.path.absolute().as_uri()}?mode={mode}"


@contextmanager
def open_reader(source: Source, seconds: float, secrets: Secrets) -> Iterator[sqlite3.Connection]:
    """A read-only connection whose statements may take `seconds` in total."""
    with translate_errors(source, seconds):
        uri = source.uri("ro")
        with closing(sqlite3.connect(uri, uri=True, isolation_level=None, timeout=min(seconds, 5))) as db:
            db.execute("PRAGMA query_only = ON")
            db.execute("PRAGMA trusted_schema = OFF")
            db.text_factory = _text
            sql_functions.install(db, secrets)
            limit_time(db, seconds)
            yield db


def limit_time(db: sqlite3.Connection, seconds: float) -> None:
    end = time.monotonic() + seconds
    db.set_progress_handler(lambda: time.monotonic() > end, STEPS_BETWEEN_CHECKS)


@contextmanager
def translate_errors(source: Source, seconds: float) -> Iterator[None]:
    """Turn database errors inside into Doorward errors."""
    try:
        yield
    except sqlite3.Error as error:
        raise describe_error(error, source, seconds) from error


def describe_error(error: sqlite3.Error, source: Source, seconds: float) -> DoorwardError:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    if code == sqlite3.SQLITE_INTERRUPT:
        return TimedOut(
            f"Reading database {source.name!r} was stopped after {seconds:g} s, the time limit; request less data.",
            hint="The setting data.query_seconds is the limit.",
        )
    if code in (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_NOMEM):
        return CommandFailed(f"Database {source.name!r} reported an error: {error}.")
    return Unreachable(f"Database {source.name!r} cannot be used: {error}.", hint=f"Check the file {source.path}.")


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
