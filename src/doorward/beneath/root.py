"""A workspace folder: every file access goes through it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple, Self

from doorward.beneath.openat2 import FOLDER, openat2, opened
from doorward.beneath.sentences import telling
from doorward.beneath.staged import Staged
from doorward.beneath.status import Entry, Mark, entry_at, mark, must_be_file
from doorward.beneath.walk import Walk
from doorward.errors import BadParams, NotFound, Unusable


class Content(NamedTuple):
    data: bytes
    mark: Mark


class Root:
    """A workspace folder, held open by a descriptor. Its methods block. Paths must be normalized."""

    def __init__(self, folder: Path) -> None:
        try:
            self._fd = os.open(folder, FOLDER)
        except OSError as error:
            raise Unusable(
                f"The workspace {folder} cannot be opened: {error.strerror}.",
                hint="Create it, or name another folder in the setting files.workspace.",
            ) from error
        try:
            os.close(openat2(self._fd, ".", os.O_PATH))
        except OSError as error:
            os.close(self._fd)
            raise Unusable(
                f"Files cannot be opened safely here: the system call openat2 is not available ({error.strerror}).",
                hint="Doorward needs Linux 5.6 or newer, and a container whose seccomp profile allows openat2.",
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        os.close(self._fd)

    def read(self, path: str, largest: int, *, follow: bool = True) -> Content:
        """Read a regular file. With `follow=False` the last part of the path may not be a symlink."""
        # O_NONBLOCK: opening a FIFO must not wait for a writer.
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | (0 if follow else os.O_NOFOLLOW)
        with telling("read", path), opened(self._fd, path, flags) as fd:
            status = os.fstat(fd)
            must_be_file(status)
            pieces: list[bytes] = []
            left = largest + 1
            while status.st_size <= largest and left and (piece := os.read(fd, min(left, 1 << 20))):
                pieces.append(piece)
                left -= len(piece)
        if status.st_size > largest or not left:
            raise BadParams(
                f"The file {path!r} has {max(status.st_size, largest + 1)} bytes; "
                f"at most {largest} are valid (setting files.largest_file)."
            )
        return Content(b"".join(pieces), mark(status))

    def find(self, path: str, largest: int) -> Content | None:
        """Read the file that is about to be replaced, or return None. A symlink is refused."""
        try:
            return self.read(path, largest, follow=False)
        except NotFound:
            return None

    def entry(self, path: str, *, follow: bool = False) -> Entry:
        with telling("look at", path):
            return entry_at(self._fd, path, path, 0 if follow else os.O_NOFOLLOW, 0)

    def walk(self, path: str, *, recursive: bool, hidden: bool) -> Walk:
        return Walk(self._fd, path, recursive=recursive, hidden=hidden)

    def stage(self, path: str, content: bytes | None, *, present: Mark | None, parents: bool) -> Staged:
        """Write new content to a temporary file beside its target, ready to commit. None deletes the file.

        `present` is the mark of the file that was read. If the target has changed since, the change is refused.
        """
        return Staged(self._fd, path, content, present=present, parents=parents)
