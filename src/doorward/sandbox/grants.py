"""The paths that a long-running program may access. Each is checked; Doorward's own files are never among them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Self

import msgspec

from doorward.config.home import Home
from doorward.core.errors import SandboxUnavailable, Unusable
from doorward.sandbox import view

NEVER_GRANTED = ("/proc", "/sys", "/dev", view.HELPER_CODE)
"""Folders that the sandbox mounts itself, or that expose the whole machine."""
_SHARED_MEMORY = "/dev/shm/"
"""Folders in shared memory may be granted like any other."""


_REPLACED = ("/tmp", view.LAYERS, view.WORKSPACE)
"""Folders that the sandbox replaces for programs, so that what is in them outside cannot be seen."""


def check_readable_folders(folders: Iterable[str], home: Path) -> None:
    """Check the setting sandbox.readable: absolute paths that the sandbox can show and that keep the home folder out.

    A folder that does not exist is valid, and shows when it does.
    """
    for folder in folders:
        real = os.path.realpath(folder)
        why = "" if folder.startswith("/") else "is not an absolute path"
        why = why or Home(home).describe_overlap(Path(folder))
        for place in (*NEVER_GRANTED, *_REPLACED):
            for path in (os.path.normpath(folder), real):
                if not why and (is_beneath(path, place) or is_beneath(place, path)):
                    why = f"is, contains or is in {place}, which the sandbox provides itself"
        if why:
            raise Unusable(
                f"The setting sandbox.readable has {folder!r}, which {why}.",
                hint="Name folders elsewhere, by their absolute paths.",
            )


class Grant(msgspec.Struct, frozen=True):
    """A path that a program may access: `source` is mounted at `at`."""

    source: str
    """Without symlinks."""
    at: str
    writable: bool
    handle: int
    """Descriptor of the file or folder that was checked, held open so that its inode is not reused."""

    @property
    def identity(self) -> tuple[int, int]:
        """Device and inode of what was checked."""
        facts = os.fstat(self.handle)
        return facts.st_dev, facts.st_ino

    def is_at(self, process: int) -> bool:
        """Whether the process sees the checked file at this path."""
        try:
            theirs = os.stat(f"/proc/{process}/root{self.at}")
        except OSError:
            return False
        return (theirs.st_dev, theirs.st_ino) == self.identity


class Grants:
    """The grants of one program. Close them when the program has started or failed to start."""

    def __init__(self, whose: str, home: Path, governing: Iterable[Path] = ()) -> None:
        """`governing` are files and folders that decide what programs may do; no program may change them."""
        self._program = whose
        self._home = os.path.realpath(home)
        self._governing = {
            place: str(path) for path in (home, *governing) for place in _deciding_paths(os.path.abspath(path))
        }
        self._own = self._installation = ""
        self.items: list[Grant] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        while self.items:
            os.close(self.items.pop().handle)

    def add_own_folder(self, folder: str) -> None:
        """Grant the program's own folder, the only one that may lie inside Doorward's."""
        self._own = os.path.realpath(folder)
        if is_beneath(self._home, self._own):
            raise SandboxUnavailable(
                f"{self._program}: its own folder {folder} contains Doorward's folder {self._home}; choose one "
                "inside it."
            )
        self._add(folder, writable=True)

    def add_installation(self, folder: str) -> None:
        """Grant read access to the program's installed packages, which may lie inside Doorward's folder."""
        real = os.path.realpath(folder)
        if is_beneath(self._home, real) or real != os.path.normpath(folder):
            raise self._refusal(folder, False, "is not a folder of installed packages")
        self._installation = real
        self._add(folder, writable=False)

    def add(self, paths: Iterable[str], *, writable: bool) -> None:
        """Grant these paths, or raise SandboxUnavailable for the first that cannot be granted."""
        for path in paths:
            if not path.startswith("/"):
                raise self._refusal(path, writable, "is not an absolute path")
            self._add(os.path.normpath(path), writable=writable)

    def add_code(self, path: str) -> bool:
        """Grant read access to a program's code; False when that would expose too much."""
        try:
            self._add(path, writable=False)
        except SandboxUnavailable:
            return False
        return True

    def in_mount_order(self) -> list[Grant]:
        """Sort the grants in mount order: folders before their content."""
        places = {grant.at for grant in self.items if grant.at == grant.source}
        needed = [grant for grant in self.items if grant.at == grant.source or not _is_visible_anyway(grant.at, places)]
        return sorted(needed, key=lambda grant: (grant.at.count("/"), grant.at, grant.writable))

    def check_process(self, process: int) -> None:
        """Check that the process sees exactly the files that were checked."""
        for grant in self.in_mount_order():
            if not grant.is_at(process):
                raise self._refusal(grant.at, grant.writable, "was replaced meanwhile")

    def _add(self, path: str, *, writable: bool) -> None:
        try:
            handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError as error:
            raise self._refusal(path, writable, f"cannot be used: {error.strerror}") from error
        source = os.readlink(f"/proc/self/fd/{handle}")
        why = self._why_not(source) or (self._why_not_change(source) if writable else "")
        if why:
            os.close(handle)
            raise self._refusal(path, writable, why)
        self.items.append(Grant(source, source, writable, handle))
        if path != source:
            self.items.append(Grant(source, path, writable, os.dup(handle)))

    def _why_not(self, source: str) -> str:
        if is_beneath(self._home, source):
            return f"contains Doorward's own folder {self._home}, which no program may see"
        if any(folder and is_beneath(source, folder) for folder in (self._own, self._installation)):
            return ""
        if is_beneath(source, self._home):
            return f"is in Doorward's own folder {self._home}, which no program may see"
        for place in NEVER_GRANTED:
            if is_beneath(place, source) or (is_beneath(source, place) and not is_beneath(source, _SHARED_MEMORY)):
                return f"is, contains or is in {place}, which the sandbox provides itself"
        return ""

    def _why_not_change(self, source: str) -> str:
        if self._own and is_beneath(source, self._own):
            return ""
        for place, path in self._governing.items():
            if is_beneath(place, source) or is_beneath(source, place):
                return f"is, contains or is in {path}, which decides what programs may do; grant a smaller folder"
        return ""

    def _refusal(self, path: str, writable: bool, why: str) -> SandboxUnavailable:
        verb = "change" if writable else "read"
        return SandboxUnavailable(f"{self._program} cannot {verb} {path}: it {why}.")


def _is_visible_anyway(path: str, places: set[str]) -> bool:
    """Whether the symlinks in this path are visible anyway, in a folder that is granted as a whole."""
    links = (link for link, _ in view.list_system_links())
    return any(is_beneath(path, place) for place in (*places, *view.list_system_folders(), *links))


def _deciding_paths(path: str) -> set[str]:
    """List every place that decides what is at an absolute path: each symlink on the way, and the final target."""
    found, here, ahead = set(), "/", path.split("/")[::-1]
    while ahead:
        part = ahead.pop()
        if part == "..":
            here = os.path.dirname(here)
        elif part not in ("", "."):
            here = os.path.join(here, part)
        if here in found or not os.path.islink(here):
            continue
        found.add(here)
        target = os.readlink(here)
        ahead += target.split("/")[::-1]
        here = "/" if target.startswith("/") else os.path.dirname(here)
    return {*found, here}


def is_beneath(path: str, folder: str) -> bool:
    """Whether `path` is `folder` or inside it. Both must be free of symlinks."""
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")
