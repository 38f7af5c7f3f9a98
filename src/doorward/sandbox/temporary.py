"""The temporary files of a kept program: a folder for each time that it runs, removed after it.

It lies beside the program's own folder, where the program cannot put anything else in its place. Doorward holds it
locked meanwhile. What is not locked was left by one that was killed, and the next one removes it at its first start.
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
    """Remove what is not locked."""
    for path in list(_beside(home).iterdir()):
        with contextlib.suppress(OSError):  # somebody has it, or it is no folder
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
