"""File metadata: kinds of entries, and marks that identify a version of a file."""

from __future__ import annotations

import errno
import os
import stat
from typing import Literal, NamedTuple

from doorward.beneath.openat2 import opened

Kind = Literal["file", "folder", "symlink", "other"]


class Mark(NamedTuple):
    """Identifies one version of a file: any change to the file changes its mark."""

    device: int
    inode: int
    size: int
    modified: int
    changed: int


class Entry(NamedTuple):
    path: str
    """Relative to the workspace."""
    kind: Kind
    status: os.stat_result


def kind_of(mode: int) -> Kind:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    return "symlink" if stat.S_ISLNK(mode) else "other"


def entry_at(folder: int, name: str, path: str, flags: int, resolve: int) -> Entry:
    with opened(folder, name, os.O_PATH | flags, resolve) as fd:
        status = os.fstat(fd)
    return Entry(path, kind_of(status.st_mode), status)


def mark(status: os.stat_result) -> Mark:
    return Mark(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


_WRONG_KIND: dict[Kind, int] = {"symlink": errno.ELOOP, "folder": errno.EISDIR, "other": errno.ENXIO}


def must_be_file(status: os.stat_result) -> None:
    code = _WRONG_KIND.get(kind_of(status.st_mode))
    if code is not None:
        raise OSError(code, os.strerror(code))
