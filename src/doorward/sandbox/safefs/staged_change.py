"""A staged change to one file: prepared beside it, then applied in one step."""

from __future__ import annotations

import contextlib
import errno
import os
from typing import Self

from doorward.core.errors import Conflict, NotFound
from doorward.sandbox.safefs.file_status import FileMark, make_mark, require_file
from doorward.sandbox.safefs.guarded_paths import find_guarded_path
from doorward.sandbox.safefs.openat2 import FOLDER_FLAGS, open_beneath, openat2
from doorward.sandbox.safefs.os_errors import translate_os_errors
from doorward.sandbox.safefs.unnamed_file import UnnamedFile


def open_parent(root: int, path: str, made: list[str] | None) -> int:
    """Open the parent folder of `path`. Missing folders are created and appended to `made`; without it, NotFound."""
    parent = path.rpartition("/")[0]
    with contextlib.suppress(FileNotFoundError):
        return openat2(root, parent or ".", FOLDER_FLAGS)
    if made is None:
        raise NotFound(f"The folder {parent!r} does not exist; create it first, or let missing parents be created.")
    parts = parent.split("/")
    folder = openat2(root, ".", FOLDER_FLAGS)
    for depth in range(1, len(parts) + 1):
        try:
            inner = _open_or_create(root, folder, "/".join(parts[:depth]), made)
        finally:
            os.close(folder)
        folder = inner
    return folder


def remove_folders(root: int, made: list[str]) -> None:
    """Remove folders that were created for a file that was not written. Folders that are no longer empty stay."""
    for path in reversed(made):
        above, _, name = path.rpartition("/")
        with contextlib.suppress(OSError), open_beneath(root, above or ".", FOLDER_FLAGS) as folder:
            os.rmdir(name, dir_fd=folder)


def _open_or_create(root: int, folder: int, path: str, made: list[str]) -> int:
    # Opened from the root, not from the parent: a symlink to a sibling folder is beneath the root, not the parent.
    with contextlib.suppress(FileNotFoundError):
        return openat2(root, path, FOLDER_FLAGS)
    with contextlib.suppress(FileExistsError):
        os.mkdir(path.rpartition("/")[2], dir_fd=folder)
        made.append(path)
        os.fsync(folder)
    return openat2(root, path, FOLDER_FLAGS)


class StagedChange:
    """A prepared change. `commit` applies it; `close` discards a change that was not applied."""

    def __init__(self, root: int, path: str, content: bytes | None, *, present: FileMark | None, parents: bool) -> None:
        self._path = path
        self._name = path.rpartition("/")[2]
        self._present = present
        self._verb = "delete" if content is None else "write"
        self._file: UnnamedFile | None = None
        self._created_folders: list[str] = []
        with contextlib.ExitStack() as left, translate_os_errors(self._verb, path):
            left.callback(remove_folders, root, self._created_folders)
            self._folder = open_parent(root, path, self._created_folders if parents else None)
            left.callback(os.close, self._folder)
            self._check_guarded(root)
            mode = self._check_target()
            if content is not None:
                self._file = UnnamedFile(self._folder, 0o666 if mode is None else 0o600)
                left.callback(self._file.close)
                self._file.write(content)
                if mode is not None:
                    os.fchmod(self._file.descriptor, mode & 0o777)
                os.fsync(self._file.descriptor)
            self._cleanup = left.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def commit(self) -> None:
        with translate_os_errors(self._verb, self._path):
            self._check_target()
            if self._file is not None:
                self._file.put_in_place(self._name)
            else:
                os.unlink(self._name, dir_fd=self._folder)
            self._created_folders.clear()
            os.fsync(self._folder)

    def close(self) -> None:
        self._cleanup.close()

    def _check_guarded(self, root: int) -> None:
        """Refuse a guarded file that is reached by another name: approval is decided by the name."""
        folder, workspace = (os.readlink(f"/proc/self/fd/{descriptor}") for descriptor in (self._folder, root))
        real = f"{folder[len(workspace) :].lstrip('/')}/{self._name}".lstrip("/")
        row = find_guarded_path(real)
        if row is not None and row != find_guarded_path(self._path):
            raise Conflict(
                f"The path {self._path!r} leads through a symlink to {real!r}, which your own tools run later.",
                hint=f"Give the path {real!r} itself.",
            )

    def _check_target(self) -> int | None:
        """Check that the target is still the file that was read, and return its mode."""
        status = self._stat_target()
        if status is not None:
            require_file(status)
        if (make_mark(status) if status is not None else None) != self._present:
            raise Conflict(f"The file {self._path!r} changed while it was being replaced; read it again and retry.")
        if status is None:
            return None
        # rename() checks only the folder's permissions, but a read-only file should not be replaced.
        if not os.access(self._name, os.W_OK, dir_fd=self._folder, effective_ids=True):
            raise OSError(errno.EACCES, os.strerror(errno.EACCES))
        return status.st_mode

    def _stat_target(self) -> os.stat_result | None:
        try:
            return os.stat(self._name, dir_fd=self._folder, follow_symlinks=False)
        except FileNotFoundError:
            return None
