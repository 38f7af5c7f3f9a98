"""A workspace folder: every file access goes through it, by descriptor and without following symlinks out."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Self

from doorward.core.errors import BadParams, NotFound, Unusable
from doorward.sandbox.safefs.file_status import FileEntry, FileMark, make_mark, require_file, stat_entry
from doorward.sandbox.safefs.openat2 import FOLDER_FLAGS, NO_SYMLINKS, open_beneath, openat2
from doorward.sandbox.safefs.os_errors import translate_os_errors
from doorward.sandbox.safefs.staged_change import StagedChange

MAX_PATH_BYTES = 4096


def normalize_path(path: str, *, file: bool = False) -> str:
    """Normalize a path inside the workspace (`.` is the workspace), or raise BadParams.

    `..` is resolved on the text, before any symlink is followed.
    """
    shown = path if len(path) <= 80 else f"{path[:80]}…"
    if not path:
        raise BadParams("The path is empty; give one relative to the workspace, such as 'notes/today.md'.")
    if any(unicodedata.category(letter) in ("Cc", "Cs") for letter in path):
        raise BadParams(f"The path contains a control character or a lone surrogate; use plain text, not {shown!a}.")
    if len(path.encode()) > MAX_PATH_BYTES:
        raise BadParams(f"The path has {len(path.encode())} bytes; at most {MAX_PATH_BYTES} are valid: {shown!r}.")
    if path.startswith("/"):
        raise BadParams(f"The path {shown!r} starts with '/'; give one relative to the workspace, or in /workspace.")
    parts: list[str] = []
    for part in path.split("/"):
        if part == ".." and not parts:
            raise BadParams(f"The path {shown!r} leads out of the workspace; give one that stays inside.")
        if part == "..":
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    if file and (not parts or path.endswith(("/", "/.", "/.."))):
        raise BadParams(f"The path {shown!r} names a folder; give the path of a file.")
    return "/".join(parts) or "."


class FolderWalk:
    """Iterates over a folder's entries sorted by name, each folder before its content. Follows no symlinks."""

    def __init__(self, root: int, path: str, *, recursive: bool, hidden: bool) -> None:
        self._root = root
        self._path = path
        self._recursive = recursive
        self._hidden = hidden
        self.left_out = 0
        """Number of hidden entries skipped."""
        self.unreadable = 0
        """Number of entries that could not be read."""

    def __iter__(self) -> Iterator[FileEntry]:
        prefix = "" if self._path == "." else f"{self._path}/"
        with translate_os_errors("list", self._path), open_beneath(self._root, self._path, FOLDER_FLAGS) as base:
            waiting = self._list_names(base, "")
            while waiting:
                name = waiting.pop()
                try:
                    found = stat_entry(base, name, prefix + name, os.O_NOFOLLOW, NO_SYMLINKS)
                except FileNotFoundError:
                    continue
                except OSError:
                    self.unreadable += 1
                    continue
                yield found
                if self._recursive and found.kind == "folder":
                    try:
                        waiting += self._list_names(base, name)
                    except OSError:
                        self.unreadable += 1

    def _list_names(self, base: int, folder: str) -> list[str]:
        """List paths relative to `base`, in reverse order."""
        with open_beneath(base, folder or ".", FOLDER_FLAGS | os.O_NOFOLLOW, NO_SYMLINKS) as fd:
            names = os.listdir(fd)
        shown = [name for name in names if self._hidden or not name.startswith(".")]
        self.left_out += len(names) - len(shown)
        return [f"{folder}/{name}" if folder else name for name in sorted(shown, reverse=True)]


class MarkedContent(NamedTuple):
    data: bytes
    mark: FileMark


class SafeRoot:
    """A workspace folder, held open by a descriptor. Its methods block. Paths must be normalized."""

    def __init__(self, folder: Path) -> None:
        try:
            self._fd = os.open(folder, FOLDER_FLAGS)
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

    def read(self, path: str, largest: int, *, follow: bool = True) -> MarkedContent:
        """Read a regular file. With `follow=False` the last part of the path may not be a symlink."""
        # O_NONBLOCK: opening a FIFO must not wait for a writer.
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | (0 if follow else os.O_NOFOLLOW)
        with translate_os_errors("read", path), open_beneath(self._fd, path, flags) as fd:
            status = os.fstat(fd)
            require_file(status)
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
        return MarkedContent(b"".join(pieces), make_mark(status))

    def read_existing(self, path: str, largest: int) -> MarkedContent | None:
        """Read the file that is about to be replaced, or return None. A symlink is refused."""
        try:
            return self.read(path, largest, follow=False)
        except NotFound:
            return None

    def stat(self, path: str, *, follow: bool = False) -> FileEntry:
        with translate_os_errors("look at", path):
            return stat_entry(self._fd, path, path, 0 if follow else os.O_NOFOLLOW, 0)

    def walk(self, path: str, *, recursive: bool, hidden: bool) -> FolderWalk:
        return FolderWalk(self._fd, path, recursive=recursive, hidden=hidden)

    def stage(self, path: str, content: bytes | None, *, present: FileMark | None, parents: bool) -> StagedChange:
        """Write new content to a temporary file beside its target, ready to commit. None deletes the file.

        `present` is the mark of the file that was read. If the target has changed since, the change is refused.
        """
        return StagedChange(self._fd, path, content, present=present, parents=parents)
