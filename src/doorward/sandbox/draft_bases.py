"""The bases of a draft: what the workspace had at each path when the draft first changed it, for three-way merges."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

from doorward.sandbox.safefs.openat2 import FOLDER_FLAGS
from doorward.sandbox.safefs.snapshot import Snapshot, take_snapshot

LARGEST_BASE = 16 * 1024 * 1024
"""Larger files are never merged by content, so their bases are not kept."""


def save_bases(upper: str, workspace: str, bases: str, since: int) -> None:
    """Keep a copy of each file of the workspace that the draft has changed and that has no base yet.

    A file that changed after `since`, when the call that changed it began, may not be what that call started from. It
    gets no base.
    """
    _save_folder(upper, workspace, bases, since)


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
        if entry.is_dir(follow_symlinks=False):
            if stat.S_ISDIR(status.st_mode):
                _save_folder(entry.path, below, base, since)
            continue
        if os.path.lexists(base) or not stat.S_ISREG(status.st_mode):
            continue
        if status.st_ctime_ns < since and status.st_size <= LARGEST_BASE:
            os.makedirs(bases, 0o700, exist_ok=True)
            shutil.copyfile(below, f"{base}.new~", follow_symlinks=False)
            os.chmod(f"{base}.new~", stat.S_IMODE(status.st_mode) | stat.S_IRUSR | stat.S_IWUSR)
            if os.lstat(below).st_ctime_ns == status.st_ctime_ns:
                os.replace(f"{base}.new~", base)
            else:
                os.unlink(f"{base}.new~")


def read_base(bases: str, path: str) -> Snapshot | None:
    """The base of a path; None if there is none."""
    try:
        root = os.open(bases, FOLDER_FLAGS)
    except FileNotFoundError:
        return None
    try:
        found = take_snapshot(root, path, LARGEST_BASE)
        return found if found is not None and found.kind == "file" else None
    finally:
        os.close(root)


def forget_base(bases: str, path: str) -> None:
    base = Path(bases, path)
    if base.is_file() and not base.is_symlink():
        base.unlink()


def measure_bytes(folder: str) -> int:
    """The bytes that a folder takes on disk."""
    total, waiting = 0, [folder]
    while waiting:
        try:
            for entry in os.scandir(waiting.pop()):
                status = entry.stat(follow_symlinks=False)
                total += status.st_blocks * 512
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            continue
    return total
