"""File metadata: kinds of entries, and marks that identify a version of a file."""

from __future__ import annotations

import errno
import os
import stat
from typing import Literal, NamedTuple

from doorward.sandbox.safefs.openat2 import open_beneath

EntryKind = Literal["file", "folder", "symlink", "other"]


class FileMark(NamedTuple):
    """Identifies one version of a file: any change to the file changes its mark."""

    device: int
    inode: int
    size: int
    modified: int
    changed: int


class FileEntry(NamedTuple):
    path: str
    """Relative to the workspace."""
    kind: EntryKind
    status: os.stat_result


def kind_of(mode: int) -> EntryKind:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    return "symlink" if stat.S_ISLNK(mode) else "other"


def stat_entry(folder: int, name: str, path: str, flags: int, resolve: int) -> FileEntry:
    with open_beneath(folder, name, os.O_PATH | flags, resolve) as fd:
        status = os.fstat(fd)
    return FileEntry(path, kind_of(status.st_mode), status)


def make_mark(status: os.stat_result) -> FileMark:
    return FileMark(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


_WRONG_KIND: dict[EntryKind, int] = {"symlink": errno.ELOOP, "folder": errno.EISDIR, "other": errno.ENXIO}


def require_file(status: os.stat_result) -> None:
    code = _WRONG_KIND.get(kind_of(status.st_mode))
    if code is not None:
        raise OSError(code, os.strerror(code))
