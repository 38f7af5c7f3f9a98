"""The folders of installed servers: `servers-installed/<id>/<version>` in the home folder.

An installation is prepared in a folder of its own, which is locked, and renamed when it is complete. A folder is kept
while the server file or a version of it that can be restored names it.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

from doorward.config import files
from doorward.core.errors import CommandFailed, Conflict

FOLDER = "servers-installed"
_UNFINISHED = ".installing-"
_PLANS = ".plans"
_PLAN_SECONDS = 86_400.0
"""How long a plan is kept for the person who saw it."""
_DIGEST = re.compile(r"[0-9a-f]{32}")


def find_installation(home: Path, id: str) -> str:
    """The folder with everything that was installed for a server; empty when nothing was."""
    folder = os.path.realpath(home / FOLDER / id)
    return folder if os.path.isdir(folder) else ""


class Staging:
    """The folder in which one installation is prepared. It is removed at the end, complete or not.

    Installations of one server exclude each other. A plan changes nothing, so plans do not.
    """

    def __init__(self, home: Path, id: str, *, plans: bool = False) -> None:
        self._root = home / FOLDER
        self._id = id
        self._plans = plans
        self._lock = -1
        self._final: Path | None = None
        self._folder = Path()
        """The locked folder. It exists until the installation is in the server file, or removed."""
        self.path = Path()

    async def __aenter__(self) -> Self:
        try:
            self._root.mkdir(0o700, exist_ok=True)
            if self._plans:
                self._folder = Path(tempfile.mkdtemp(prefix=f"{_UNFINISHED}{self._id}-plan-", dir=self._root))
            else:
                self._folder = self._root / f"{_UNFINISHED}{self._id}"
                self._folder.mkdir(0o700, exist_ok=True)
            self._lock = lock_folder(self._folder)
        except OSError as error:
            raise CommandFailed(f"{self._root} cannot be used: {error.strerror or error}.") from error
        if self._lock < 0:
            raise Conflict(
                f"The server {self._id!r} is being installed already.",
                hint="Wait until that installation ends: doorward executions lists it.",
            )
        try:
            self.path = self._folder / "content"
            await asyncio.to_thread(shutil.rmtree, self.path, ignore_errors=True)
            self.path.mkdir(0o700)
        except OSError as error:
            self._unlock()
            raise CommandFailed(f"{self.path} cannot be created: {error.strerror or error}.") from error
        except BaseException:
            self._unlock()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        removing = asyncio.ensure_future(asyncio.to_thread(self._remove, error is not None))
        try:
            await asyncio.shield(removing)
        except asyncio.CancelledError:
            await asyncio.wait([removing])
            raise

    def choose_folder(self, version: str) -> Path:
        """The folder that the installation gets: its version, with a number if an earlier one is still kept."""
        folder = self._root / self._id / version
        number = 2
        while folder.exists():
            folder = self._root / self._id / f"{version}-{number}"
            number += 1
        return folder

    def complete(self, folder: Path) -> None:
        """Move what was installed to its folder. It is removed again if the context ends with an error."""
        try:
            folder.parent.mkdir(0o700, exist_ok=True)
            self._final = folder
            self.path.rename(folder)
        except OSError as error:
            raise CommandFailed(f"{folder} cannot be created: {error.strerror or error}.") from error

    def keep(self) -> None:
        """Keep what was completed, whatever happens now."""
        self._final = None

    def _remove(self, failed: bool) -> None:
        if self._final is not None and failed:
            shutil.rmtree(self._final, ignore_errors=True)
            with contextlib.suppress(OSError):  # other versions are in it
                self._final.parent.rmdir()
        shutil.rmtree(self._folder, ignore_errors=True)
        self._unlock()

    def _unlock(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def lock_folder(folder: Path) -> int:
    """Lock a folder and return the descriptor that holds the lock; -1 when somebody else holds it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(descriptor).st_ino == os.stat(folder).st_ino:
            return descriptor
    except (BlockingIOError, FileNotFoundError):  # locked, or just removed by its owner
        pass
    except OSError:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return -1


def save_plan(home: Path, digest: str, text: bytes) -> None:
    """Keep a plan for a while, so that what a person saw can be installed later."""
    folder = home / FOLDER / _PLANS
    try:
        folder.mkdir(0o700, parents=True, exist_ok=True)
        files.replace_file(folder / f"{digest}.json", text)
    except OSError as error:
        raise CommandFailed(f"The plan cannot be kept: {error.strerror or error}.") from error


def load_plan(home: Path, digest: str) -> bytes | None:
    """The text of a plan; None if there is none."""
    if not _DIGEST.fullmatch(digest):
        return None
    try:
        return (home / FOLDER / _PLANS / f"{digest}.json").read_bytes()
    except OSError:
        return None


def _remove_old_plans(folder: Path) -> None:
    oldest = time.time() - _PLAN_SECONDS
    for file in folder.iterdir():
        with contextlib.suppress(OSError):
            if file.stat().st_mtime < oldest:
                file.unlink()


def remove_unfinished(home: Path) -> list[Path]:
    """Remove what killed installations left, and old plans. Returns the folders of finished installations.

    The list leaves out servers that are being installed now: the server file does not name their folders yet.
    """
    root = home / FOLDER
    finished: list[Path] = []
    for place in sorted(root.iterdir()) if root.is_dir() else ():
        if place.name == _PLANS:
            _remove_old_plans(place)
        elif place.name.startswith(_UNFINISHED):
            _remove_unlocked(place)
        elif place.is_dir() and not (root / f"{_UNFINISHED}{place.name}").exists():
            finished += place.iterdir()
    return finished


def remove_unused(finished: Iterable[Path], texts: Iterable[str]) -> list[Path]:
    """Remove the folders that none of these server files names, and return them."""
    kept = list(texts)
    removed = [folder for folder in finished if not any(_names(text, folder) for text in kept)]
    for folder in removed:
        shutil.rmtree(folder, ignore_errors=True)
        with contextlib.suppress(OSError):  # other versions are in it
            folder.parent.rmdir()
    return removed


def _names(text: str, folder: Path) -> bool:
    """Whether a server file names a path in this folder, however its characters are escaped."""
    path = f"{folder}/"
    return any(json.dumps(path, ensure_ascii=ascii)[1:-1] in text for ascii in (True, False))


def _remove_unlocked(folder: Path) -> None:
    try:
        lock = lock_folder(folder)
    except OSError:
        return
    if lock >= 0:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)
