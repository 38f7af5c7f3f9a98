"""A new file that has no name until it is put in place, so that a killed process leaves nothing behind."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets

_UNSUPPORTED = (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT)
"""Errors of file systems that cannot create files without a name."""


class UnnamedFile:
    """A file in a folder. Where the file system cannot create it without a name, it has a temporary one."""

    def __init__(self, folder: int, mode: int) -> None:
        self._folder = folder
        self._name = ""
        try:
            self.descriptor = os.open(".", os.O_WRONLY | os.O_TMPFILE | os.O_CLOEXEC, mode, dir_fd=folder)
        except OSError as error:
            if error.errno not in _UNSUPPORTED:
                raise
            name = make_temporary_name()
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            self.descriptor = os.open(name, flags, mode, dir_fd=folder)
            self._name = name

    def write(self, content: bytes) -> None:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(self.descriptor, rest) :]

    def put_in_place(self, name: str) -> None:
        """Replace whatever has this name in the folder, in one step."""
        if not self._name:
            temporary = make_temporary_name()
            os.link(f"/proc/self/fd/{self.descriptor}", temporary, dst_dir_fd=self._folder)
            self._name = temporary
        os.rename(self._name, name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        self._name = ""

    def close(self) -> None:
        """Close the file. It is gone, unless it was put in place."""
        if self._name:
            with contextlib.suppress(OSError):
                os.unlink(self._name, dir_fd=self._folder)
            self._name = ""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


def make_temporary_name() -> str:
    return f".{secrets.token_hex(8)}.doorward"
