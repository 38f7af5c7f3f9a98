"""The audit log of the line door: one line of JSON for each call, for external tools.

It supplements the ledger, which is the verifiable record. A line is written after the record is stored. If writing
fails, a warning is logged and the call still succeeds.
"""

from __future__ import annotations

import contextlib
import logging
import os
from pathlib import Path
from typing import Any

import msgspec

from doorward.core.errors import Unusable

log = logging.getLogger(__name__)

_MAX_FILES = 3
_encode = msgspec.json.Encoder().encode


class AuditLog:
    def __init__(self, path: str, largest: int) -> None:
        file = self._file = Path(path).expanduser().absolute()
        self._largest = largest
        self._broken = False
        try:
            self._descriptor = _open(file)
        except OSError as error:
            raise Unusable(
                f"The audit log {file} cannot be opened: {error.strerror}.",
                hint="Change the setting line.audit_log or the environment variable USHELL_MCP_AUDIT_LOG.",
            ) from error
        self._size = os.fstat(self._descriptor).st_size

    def write(self, entry: dict[str, Any]) -> None:
        line = _encode(entry) + b"\n"
        try:
            if self._size and self._size + len(line) > self._largest:
                self._rotate()
            self._size += os.write(self._descriptor, line)
            self._broken = False
        except OSError as error:
            if not self._broken:
                log.warning("the audit log %s cannot be written: %s", self._file, error.strerror)
            self._broken = True

    def close(self) -> None:
        os.close(self._descriptor)

    def _rotate(self) -> None:
        """Rotate: the file becomes `.1`, `.1` becomes `.2`, and the oldest is dropped."""
        for number in range(_MAX_FILES - 1, 0, -1):
            with contextlib.suppress(FileNotFoundError):
                os.replace(f"{self._file}.{number}", f"{self._file}.{number + 1}")
        os.replace(self._file, f"{self._file}.1")
        fresh = _open(self._file)
        os.close(self._descriptor)
        self._descriptor, self._size = fresh, 0


def _open(file: Path) -> int:
    """Open with access for the owner only, and never through a symlink that somebody else may have planted."""
    return os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
