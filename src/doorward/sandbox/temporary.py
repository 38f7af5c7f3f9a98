"""Temporary folders of long-running programs: one for each run, removed afterwards.

The folder is beside the program's own folder, where the program cannot replace it. Doorward holds a lock on it. A
folder without a lock was left by a Doorward that was killed; it is removed at the next start.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

_FOLDER = ".tmp"


class Temporary:
    def __init__(self, home: str) -> None:
        self.path = tempfile.mkdtemp(prefix=f"{os.path.basename(home)}-", dir=_beside(home))
        self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            raise

    def remove(self) -> None:
        if self._lock >= 0:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._lock)
            self._lock = -1


def remove_leftovers(home: str) -> None:
    """Remove folders that are not locked."""
    for path in list(_beside(home).iterdir()):
        with contextlib.suppress(OSError):  # locked by another process, or not a folder
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(descriptor)


def _beside(home: str) -> Path:
    folder = Path(home).parent / _FOLDER
    folder.mkdir(0o700, exist_ok=True)
    return folder
