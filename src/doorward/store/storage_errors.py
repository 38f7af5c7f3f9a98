"""Errors of the database as refusals that say what to do."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path

from doorward.core.errors import LedgerUnavailable, Unusable


def is_damage(error: Exception) -> bool:
    """Whether an error means that the database file is damaged."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def unavailable(error: Exception, path: Path, way: str, *, is_starting: bool) -> LedgerUnavailable:
    """A database error as a refusal with a hint."""
    reason = _reason(error, path)
    return LedgerUnavailable(
        f"The record could not be {way} {path}: {reason}.", hint=_advice(reason, is_starting), retry_after=5.0
    )


def unusable(error: Exception, path: Path) -> Unusable:
    """A database error that keeps the program from starting or from reading."""
    reason = _reason(error, path)
    return Unusable(f"The database {path} cannot be opened: {reason}.", hint=_advice(reason, is_starting=True))


def _reason(error: Exception, path: Path) -> str:
    """The cause of an error. SQLite reports a full disk as an I/O error if its shared-memory file has no space."""
    with contextlib.suppress(OSError):
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_IOERR:
            return f"{error}, since the disk is full" if os.statvfs(path.parent).f_bavail == 0 else str(error)
    return str(error)


def _advice(reason: str, is_starting: bool) -> str:
    text = reason.lower()
    if "full" in text or "no space" in text:
        goes_on = ", then start Doorward again." if is_starting else "; Doorward then continues automatically."
        return f"Free some space on that disk{goes_on}"
    if "readonly" in text or "read-only" in text:
        return "Make the home folder writable for this account."
    if "locked" in text or "busy" in text:
        return "Another program has the database open for writing; close it."
    if "malformed" in text or "not a database" in text or "corrupt" in text:
        return "Move the file away and restore a backup, or start with another DOORWARD_HOME."
    return "Check that the home folder exists and belongs to this account."
