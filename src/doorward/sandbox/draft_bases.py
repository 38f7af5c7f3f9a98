"""The bases of a draft: what the workspace had at each path when the draft first changed it, for three-way merges."""

from __future__ import annotations

import contextlib
import filecmp
import os
import shutil
import stat
import time
from pathlib import Path

from doorward.sandbox.safefs.openat2 import FOLDER_FLAGS
from doorward.sandbox.safefs.snapshot import Snapshot, take_snapshot

_OPAQUE = "user.overlay.opaque"
_DELETED = ".deleted~"
"""Ends the name of the mark that says since when the draft has deleted a folder of the workspace."""
LARGEST_BASE = 16 * 1024 * 1024
"""Of larger files, which are never merged by content, only a mark is kept."""


def save_bases(draft: str, workspace: str, since: int | None) -> None:
    """Keep a copy of each file of the workspace that the draft has changed and that has no base yet.

    A file that changed after `since`, when the call that changed it began, may not be what that call started from. It
    gets no base. After a restart it is not known when calls began, only when bases were saved last: `since` is None.
    """
    saved, now = Path(draft, "saved"), time.time_ns()
    if since is None:
        since = int(saved.read_text()) if saved.is_file() else 0
    _save_folder(f"{draft}/upper", workspace, f"{draft}/bases", since)
    new = saved.with_suffix(".new")
    new.write_text(str(now))
    new.replace(saved)


def _save_folder(upper: str, lower: str, bases: str, since: int) -> None:
    try:
        entries = list(os.scandir(upper))
    except (NotADirectoryError, FileNotFoundError, PermissionError):
        return
    for entry in entries:
        below, base = f"{lower}/{entry.name}", f"{bases}/{entry.name}"
        try:
            status = os.lstat(below)
        except (FileNotFoundError, NotADirectoryError):
            continue  # new in the draft, with everything in it
        is_folder = entry.is_dir(follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode) and (not is_folder or _is_opaque(entry.path)):
            _mark_deleted(base, since)
        if is_folder:
            if stat.S_ISDIR(status.st_mode):
                _save_folder(entry.path, below, base, since)
            continue
        if os.path.lexists(base) or not stat.S_ISREG(status.st_mode):
            continue
        if status.st_ctime_ns < since:
            os.makedirs(bases, 0o700, exist_ok=True)
            with contextlib.suppress(PermissionError):  # then a change of it in the workspace is a conflict
                _save_file(below, base, status)


def _is_opaque(folder: str) -> bool:
    try:
        return os.getxattr(folder, _OPAQUE, follow_symlinks=False) == b"y"
    except OSError:
        return False


def _mark_deleted(base: str, since: int) -> None:
    """Note that a folder was deleted by a call that began at `since`. What changed in it later is no part of that."""
    if not os.path.lexists(base + _DELETED):
        os.makedirs(os.path.dirname(base), 0o700, exist_ok=True)
        os.symlink(str(since), base + _DELETED)


def _forget_deleted(base: str) -> None:
    if os.path.islink(base + _DELETED):
        os.unlink(base + _DELETED)


def _save_file(below: str, base: str, status: os.stat_result) -> None:
    new = f"{base}.new~"
    if status.st_size > LARGEST_BASE:
        os.symlink(_mark(status), new)
    else:
        shutil.copyfile(below, new, follow_symlinks=False)
        os.chmod(new, stat.S_IMODE(status.st_mode) | stat.S_IRUSR)
    if os.lstat(below).st_ctime_ns == status.st_ctime_ns:
        os.replace(new, base)
    else:
        os.unlink(new)


def _mark(status: os.stat_result) -> str:
    return f"mark:{status.st_ino}:{status.st_size}:{status.st_ctime_ns}"


def read_base(bases: str, path: str, workspace: str, now: Snapshot | None) -> Snapshot | None:
    """The base of a path, of which the workspace has the version `now`; None if there is none."""
    try:
        root = os.open(bases, FOLDER_FLAGS)
    except FileNotFoundError:
        return None
    try:
        found = take_snapshot(root, path, LARGEST_BASE)
        if found is not None and found.kind == "symlink":
            same = found.content == _mark(os.lstat(f"{workspace}/{path}")).encode() if now is not None else False
            return now if same else None
        if found is None and now is not None and _was_deleted(bases, path, workspace):
            return now
        return found if found is not None and found.kind == "file" else None
    finally:
        os.close(root)


def _was_deleted(bases: str, path: str, workspace: str) -> bool:
    """Whether the draft deleted a folder around this path, in which the path has not changed since."""
    folder = path
    while folder := folder.rpartition("/")[0]:
        try:
            since = int(os.readlink(f"{bases}/{folder}{_DELETED}"))
            return os.lstat(f"{workspace}/{path}").st_ctime_ns < since
        except (OSError, ValueError):
            continue
    return False


def renew_base(bases: str, path: str, state: Snapshot | None) -> None:
    """Make this version of a path its base, because the draft knows it now. Folders and symlinks have none."""
    base = Path(bases, path)
    _forget_deleted(str(base))
    if base.is_symlink() or base.is_file():
        base.unlink()
    if state is not None and state.kind == "file" and state.content is not None and len(state.content) <= LARGEST_BASE:
        base.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        base.write_bytes(state.content)
        base.chmod(state.mode | stat.S_IRUSR)


def prune_layer(upper: str, workspace: str, bases: str) -> None:
    """Remove from the layer what equals its base or deletes nothing, so that the workspace's version shows again.

    The draft must not be mounted. What programs made unreadable stays as it is.
    """
    try:
        entries = list(os.scandir(upper))
    except PermissionError:
        return
    for entry in entries:
        below, base = f"{workspace}/{entry.name}", f"{bases}/{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            if os.path.isdir(below) and not os.path.islink(below):
                prune_layer(entry.path, below, base)
                with contextlib.suppress(OSError):  # it is not empty, or may not be removed
                    os.rmdir(entry.path)
        elif stat.S_ISCHR(entry.stat(follow_symlinks=False).st_mode):
            if not os.path.lexists(below) and _remove(entry.path):
                _forget_deleted(base)
        elif entry.is_file(follow_symlinks=False) and _equals_base(entry.path, base) and _remove(entry.path):
            os.unlink(base)


def _remove(path: str) -> bool:
    try:
        os.unlink(path)
    except PermissionError:  # its folder is read-only
        return False
    return True


def _equals_base(path: str, base: str) -> bool:
    if not os.path.isfile(base) or os.path.islink(base):
        return False
    try:
        return filecmp.cmp(path, base, shallow=False) and _mode(path) == _mode(base)
    except PermissionError:
        return False


def _mode(path: str) -> int:
    return stat.S_IMODE(os.stat(path).st_mode) | stat.S_IRUSR
