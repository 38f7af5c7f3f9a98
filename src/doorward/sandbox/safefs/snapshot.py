"""Snapshots of paths (files, folders, symlinks): read them, compare them, restore them."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
from typing import Literal, NamedTuple

from doorward.sandbox.safefs.openat2 import FOLDER_FLAGS, NO_SYMLINKS, open_beneath, openat2
from doorward.sandbox.safefs.os_errors import translate_os_errors
from doorward.sandbox.safefs.unnamed_file import UnnamedFile, make_temporary_name

SnapshotKind = Literal["file", "folder", "symlink", "other"]


class Snapshot(NamedTuple):
    """A snapshot of one path: a file with its bytes, a symlink with its target, or a folder without its content.

    Pipes, sockets and devices are `other`; they can be compared but not restored.
    """

    kind: SnapshotKind
    mode: int
    content: bytes | None = b""
    """None when the file is too large to keep; then only `mark` tells whether it is unchanged."""
    size: int = 0
    mark: str = ""
    modified: int = 0
    """The file's modification time in nanoseconds. It is restored, but not part of the digest."""

    @property
    def digest(self) -> str:
        """A hash of kind, mode and content."""
        content = self.mark.encode() if self.content is None else self.content
        return hashlib.sha256(f"{self.kind}:{self.mode:o}:".encode() + content).hexdigest()


def digest_or_empty(state: Snapshot | None) -> str:
    """Return the digest, or an empty string for None."""
    return "" if state is None else state.digest


def take_snapshot(root: int, path: str, most: int) -> Snapshot | None:
    """Take a snapshot of `path` beneath the folder; None when nothing is there. Symlinks are not followed."""
    with translate_os_errors("read", path):
        try:
            descriptor = openat2(root, path, os.O_PATH | os.O_NOFOLLOW, NO_SYMLINKS)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            if error.errno == errno.ELOOP:  # a parent folder is a symlink, so there is nothing at this path itself
                return None
            raise
        try:
            return _snapshot_of(descriptor, most)
        finally:
            os.close(descriptor)


def restore(root: int, path: str, state: Snapshot | None) -> None:
    """Restore `path` to `state`, whatever is there now, atomically where the system allows it.

    A folder stays writable for its owner, so that its content can be restored; `set_folder_mode` sets its own mode.
    """
    folder, _, name = path.rpartition("/")
    if state is None and take_snapshot(root, path, 0) is None:
        return
    with translate_os_errors("change", path), open_beneath(root, folder or ".", FOLDER_FLAGS, NO_SYMLINKS) as parent:
        present = _mode_at(parent, name)
        if state is None:
            if present is not None:
                (os.rmdir if stat.S_ISDIR(present) else os.unlink)(name, dir_fd=parent)
        elif state.kind == "folder":
            _restore_folder(parent, name, state.mode, present)
        else:
            if present is not None and stat.S_ISDIR(present):
                os.rmdir(name, dir_fd=parent)
            _restore_file(parent, name, state)
        os.fsync(parent)


def set_folder_mode(root: int, path: str, mode: int) -> None:
    """Set a restored folder's own mode, after its content is in place."""
    with (
        translate_os_errors("change", path),
        open_beneath(root, path, FOLDER_FLAGS | os.O_NOFOLLOW, NO_SYMLINKS) as folder,
    ):
        os.fchmod(folder, mode)


def list_names(root: int, path: str) -> list[str]:
    with (
        translate_os_errors("list", path),
        open_beneath(root, path, FOLDER_FLAGS | os.O_NOFOLLOW, NO_SYMLINKS) as folder,
    ):
        return os.listdir(folder)


def _snapshot_of(descriptor: int, most: int) -> Snapshot:
    status = os.fstat(descriptor)
    mode = stat.S_IMODE(status.st_mode) & 0o777
    if stat.S_ISDIR(status.st_mode):
        return Snapshot("folder", mode)
    if stat.S_ISLNK(status.st_mode):
        target = os.fsencode(os.readlink("", dir_fd=descriptor))
        return Snapshot("symlink", 0o777, target, len(target))
    if not stat.S_ISREG(status.st_mode):
        return Snapshot("other", mode, None, 0, f"{status.st_ino}:{status.st_mode}:{status.st_rdev}")
    if status.st_size > most:
        mark = f"{status.st_ino}:{status.st_size}:{status.st_mtime_ns}"
        return Snapshot("file", mode, None, status.st_size, mark, status.st_mtime_ns)
    with open(f"/proc/self/fd/{descriptor}", "rb") as file:
        content = file.read(most + 1)
    return Snapshot("file", mode, content, len(content), "", status.st_mtime_ns)


def _mode_at(parent: int, name: str) -> int | None:
    try:
        return os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return None


def _restore_folder(parent: int, name: str, mode: int, present: int | None) -> None:
    if present is not None and not stat.S_ISDIR(present):
        os.unlink(name, dir_fd=parent)
        present = None
    if present is None:
        os.mkdir(name, 0o700, dir_fd=parent)
    with open_beneath(parent, name, FOLDER_FLAGS | os.O_NOFOLLOW, NO_SYMLINKS) as made:
        os.fchmod(made, mode | 0o700)


def _restore_file(parent: int, name: str, state: Snapshot) -> None:
    """Write a file or symlink beside its place, then rename it into place."""
    if state.content is None:
        raise ValueError("content that was not kept cannot be restored")
    if state.kind != "symlink":
        with contextlib.closing(UnnamedFile(parent, 0o600)) as file:
            file.write(state.content)
            os.fchmod(file.descriptor, state.mode)
            os.utime(file.descriptor, ns=(state.modified, state.modified))
            os.fsync(file.descriptor)
            file.put_in_place(name)
        return
    temporary = make_temporary_name()
    try:
        os.symlink(os.fsdecode(state.content), temporary, dir_fd=parent)
        os.rename(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=parent)
        raise
