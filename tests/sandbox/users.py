"""The users that the sandbox is tried as, and a folder of its own for each."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import ordinary

AS_ROOT = os.geteuid() == 0
USERS = ["root", "user"] if AS_ROOT else ["user"]
"""Root is confined as well as an ordinary user; who cannot be root tries it as an ordinary user alone."""


def as_user(who: str, words: list[str]) -> list[str]:
    """The command line that runs these words as this user."""
    return ordinary.command(*words) if who == "user" else words


@contextlib.contextmanager
def own_folder(who: str) -> Iterator[Path]:
    """A folder of this user's, on a disk where set-user-id programs are not ignored anyway."""
    places = [place for place in ("/tmp", "/var/tmp", os.getcwd()) if not os.statvfs(place).f_flag & os.ST_NOSUID]
    folder = Path(tempfile.mkdtemp(prefix="doorward-user-", dir=places[0]))
    try:
        if AS_ROOT and who == "user":
            os.chown(folder, ordinary.USER, ordinary.USER)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
