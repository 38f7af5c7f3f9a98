"""A staged change to one file: prepared beside it, then applied in one step."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from typing import Self

from doorward.beneath.parents import open_parent, remove_folders
from doorward.beneath.sentences import telling
from doorward.beneath.status import Mark, mark, must_be_file
from doorward.errors import Conflict


class Staged:
    """A prepared change. `commit` applies it; `close` removes the temporary files of a change that was not applied."""

    def __init__(self, root: int, path: str, content: bytes | None, *, present: Mark | None, parents: bool) -> None:
        self._path = path
        self._name = path.rpartition("/")[2]
        self._present = present
        self._doing = "delete" if content is None else "write"
        self._temporary = ""
        self._made: list[str] = []
        with contextlib.ExitStack() as left, telling(self._doing, path):
            left.callback(remove_folders, root, self._made)
            self._folder = open_parent(root, path, self._made if parents else None)
            left.callback(os.close, self._folder)
            left.callback(self._unlink_temporary)
            mode = self._check()
            if content is not None:
                self._write(content, mode)
            self._left = left.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def commit(self) -> None:
        with telling(self._doing, self._path):
            self._check()
            if self._temporary:
                os.rename(self._temporary, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
                self._temporary = ""
            else:
                os.unlink(self._name, dir_fd=self._folder)
            self._made.clear()
            os.fsync(self._folder)

    def close(self) -> None:
        self._left.close()

    def _check(self) -> int | None:
        """Check that the target is still the file that was read, and return its mode."""
        status = self._status()
        if status is not None:
            must_be_file(status)
        if (mark(status) if status is not None else None) != self._present:
            raise Conflict(f"The file {self._path!r} changed while it was being replaced; read it again and retry.")
        if status is None:
            return None
        # rename() checks only the folder's permissions, but a read-only file should not be replaced.
        if not os.access(self._name, os.W_OK, dir_fd=self._folder, effective_ids=True):
            raise OSError(errno.EACCES, os.strerror(errno.EACCES))
        return status.st_mode

    def _status(self) -> os.stat_result | None:
        try:
            return os.stat(self._name, dir_fd=self._folder, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def _write(self, content: bytes, mode: int | None) -> None:
        name = f".{secrets.token_hex(8)}.doorward"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(name, flags, 0o666 if mode is None else 0o600, dir_fd=self._folder)
        self._temporary = name
        try:
            rest = memoryview(content)
            while rest:
                rest = rest[os.write(fd, rest) :]
            if mode is not None:
                os.fchmod(fd, mode & 0o777)
            os.fsync(fd)
        finally:
            os.close(fd)

    def _unlink_temporary(self) -> None:
        if self._temporary:
            with contextlib.suppress(OSError):
                os.unlink(self._temporary, dir_fd=self._folder)
