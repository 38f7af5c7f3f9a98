"""Reads the changes that a program made in a copy-on-write view, from the overlay's upper layer."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import msgspec

from doorward.core.errors import DoorwardError
from doorward.sandbox.program import SandboxResult
from doorward.sandbox.safefs.guarded_paths import find_later_execution
from doorward.sandbox.safefs.openat2 import FOLDER_FLAGS, NO_SYMLINKS, open_beneath
from doorward.sandbox.safefs.snapshot import Snapshot, digest_or_empty, take_snapshot

_OPAQUE = "user.overlay.opaque"
_ORIGIN = "user.overlay.origin"
MOST_PATHS = 200_000


class OverlayChange(msgspec.Struct, frozen=True):
    path: str
    before: Snapshot | None
    after: Snapshot | None


class OverlayChanges(msgspec.Struct, frozen=True):
    """Changes in the order in which they can be applied: removals first, innermost first, then additions."""

    items: list[OverlayChange]
    left_out: list[str]
    """Paths of new pipes, sockets and devices, which cannot be applied to the workspace."""
    place: tuple[int, int]
    """Device and inode of the workspace folder."""
    withheld: list[str] = []
    """Paths that the program changed but may not change; their changes are not in `items`."""
    skipped: list[str] = []
    """Paths that the reader was told to leave out."""


def explain_execution(path: str, before: Snapshot | None, after: Snapshot | None) -> str:
    """Say what a person's own tools would run because of a change, as a sentence about the path; empty for nothing."""
    if (after or before or Snapshot("folder", 0)).kind == "folder":
        return ""  # the files in it count
    symlink = any(state is not None and state.kind == "symlink" for state in (before, after))
    return find_later_execution(path, _content(before), _content(after), symlink=symlink)


def _content(state: Snapshot | None) -> bytes | None:
    if state is None or state.kind == "folder":
        return None
    return state.mark.encode() if state.content is None else state.content


class TooManyChanges(Exception):
    """More paths or bytes changed than the limits allow."""


class ChangedMeanwhile(Exception):
    """A path in the workspace changed while the program ran on its view."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


ChangeError = TooManyChanges | ChangedMeanwhile | DoorwardError | UnicodeEncodeError | OSError | RecursionError
CHANGE_ERRORS = (TooManyChanges, ChangedMeanwhile, DoorwardError, UnicodeEncodeError, OSError, RecursionError)
"""Why the changes of a program cannot be used."""


class UnreadableChanges(Exception):
    """A program ended, but its changes cannot be used."""

    def __init__(self, ended: SandboxResult, why: ChangeError) -> None:
        super().__init__(str(why))
        self.ended = ended
        self.why = why


class _LayerReader:
    def __init__(self, upper: int, lower: int, room: int, since: int | None, skip: SkipPath, most_paths: int) -> None:
        self._upper = upper
        self._lower = lower
        self._since = since
        self._skip = skip
        self._most_paths = most_paths
        self._keep = room
        """Bytes of replaced content that may still be kept."""
        self._room = room
        """Bytes of new content still allowed. A sparse file can be far larger than the layer that holds it."""
        self.removals: list[OverlayChange] = []
        self.additions: list[OverlayChange] = []
        self.left_out: list[str] = []
        self.skipped: list[str] = []

    def compare_folder(self, path: str, *, hides: bool) -> None:
        """Compare a folder that both layers have. `hides` means that it is opaque: the lower folder is not visible."""
        with open_beneath(self._upper, path or ".", FOLDER_FLAGS, NO_SYMLINKS) as descriptor:
            names = sorted(os.listdir(descriptor))
        if hides:
            for name in self._names_below(path):
                if name not in names:
                    self._record_removal(_join(path, name))
        for name in names:
            self._compare_entry(_join(path, name), below=True, hides=hides)

    def _compare_entry(self, path: str, *, below: bool, hides: bool = False) -> None:
        """Compare one path of the upper layer. `below` says whether the lower layer may have it too."""
        self._check_limit(path)
        with open_beneath(self._upper, path, os.O_PATH | os.O_NOFOLLOW, NO_SYMLINKS) as descriptor:
            status = os.fstat(descriptor)
            # The origin attribute is reliable for folders only: a file may carry it along when it is moved.
            was_here = stat.S_ISDIR(status.st_mode) and _ORIGIN in os.listxattr(f"/proc/self/fd/{descriptor}")
        if self._skip(path, stat.S_ISDIR(status.st_mode)):
            self.skipped.append(path)
            return
        if stat.S_ISCHR(status.st_mode) and status.st_rdev == 0:
            self._record_removal(path)
            return
        if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode) or stat.S_ISLNK(status.st_mode)):
            self.left_out.append(path)
            if below:
                self._record_removal(path)
            return
        self._room -= status.st_size if stat.S_ISREG(status.st_mode) else 0
        if self._room < 0:
            raise TooManyChanges
        after = take_snapshot(self._upper, path, status.st_size)
        before = self._snapshot_before(path) if below else None
        if before is None and was_here and below and self._since is not None:
            raise ChangedMeanwhile(path)
        stays_folder = before is not None and before.kind == "folder" and after is not None and after.kind == "folder"
        if before is not None and before.kind == "folder" and not stays_folder:
            self._record_removals_inside(path)
        if digest_or_empty(before) != digest_or_empty(after) or _time_differs(before, after):
            self.additions.append(OverlayChange(path, before, after))
        if after is not None and after.kind == "folder":
            if stays_folder:
                # Folders inside an opaque folder are opaque too, without an attribute of their own.
                self.compare_folder(path, hides=hides or self._is_opaque(path))
            else:
                self._new_folder(path)

    def _check_limit(self, path: str) -> None:
        path.encode()  # a name that is not text cannot be shown, stored or approved
        if len(self.removals) + len(self.additions) >= self._most_paths:
            raise TooManyChanges

    def _new_folder(self, path: str) -> None:
        with open_beneath(self._upper, path, FOLDER_FLAGS, NO_SYMLINKS) as descriptor:
            names = sorted(os.listdir(descriptor))
        for name in names:
            self._compare_entry(_join(path, name), below=False)

    def _record_removal(self, path: str) -> None:
        self._check_limit(path)
        before = self._snapshot_before(path)
        if before is None:  # created and removed again
            return
        if before.kind == "folder":
            self._record_removals_inside(path)
        self.removals.append(OverlayChange(path, before, None))

    def _record_removals_inside(self, path: str) -> None:
        for name in self._names_below(path):
            self._record_removal(_join(path, name))

    def _snapshot_before(self, path: str) -> Snapshot | None:
        state = take_snapshot(self._lower, path, self._keep)
        if state is None:
            return None
        if self._since is not None and state.kind != "folder" and self._changed_at(path) > self._since:
            raise ChangedMeanwhile(path)
        if state.content:
            self._keep -= len(state.content)
        return state

    def _changed_at(self, path: str) -> int:
        with open_beneath(self._lower, path, os.O_PATH | os.O_NOFOLLOW, NO_SYMLINKS) as descriptor:
            return os.fstat(descriptor).st_ctime_ns

    def _names_below(self, path: str) -> list[str]:
        with open_beneath(self._lower, path or ".", FOLDER_FLAGS, NO_SYMLINKS) as descriptor:
            return sorted(os.listdir(descriptor))

    def _is_opaque(self, path: str) -> bool:
        with open_beneath(self._upper, path, FOLDER_FLAGS, NO_SYMLINKS) as descriptor:
            try:
                return os.getxattr(descriptor, _OPAQUE) == b"y"
            except OSError:
                return False


SkipPath = Callable[[str, bool], bool]
"""Whether to leave a path out, with everything in it. The second argument says whether it is a folder."""


def read_changes(
    upper: int,
    workspace: Path,
    room: int,
    since: int | None,
    skip: SkipPath = lambda _, __: False,
    most_paths: int | None = None,
) -> OverlayChanges:
    """Read the changes in the layer `upper` against the workspace as it is now.

    At most `room` bytes of new content and `most_paths` paths are allowed; of replaced content, `room` bytes are kept.
    Raises ChangedMeanwhile when the workspace changed after `since`, if that is given; TooManyChanges over the limits;
    UnicodeEncodeError for a name that is not text; and OSError for a path that cannot be read.
    """
    lower = os.open(workspace, FOLDER_FLAGS)
    try:
        folder = os.fstat(lower)
        reader = _LayerReader(upper, lower, room, since, skip, most_paths or MOST_PATHS)
        reader.compare_folder("", hides=False)
    finally:
        os.close(lower)
    items, place = [*reader.removals, *reader.additions], (folder.st_dev, folder.st_ino)
    return OverlayChanges(items, reader.left_out, place, skipped=reader.skipped)


def _time_differs(before: Snapshot | None, after: Snapshot | None) -> bool:
    """Whether the modification time of a file differs."""
    return before is not None and after is not None and after.kind == "file" and before.modified != after.modified


def _join(path: str, name: str) -> str:
    return f"{path}/{name}" if path else name
