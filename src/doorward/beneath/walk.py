"""Directory listing that follows no symlinks."""

from __future__ import annotations

import os
from collections.abc import Iterator

from doorward.beneath.openat2 import FOLDER, NO_SYMLINKS, opened
from doorward.beneath.sentences import telling
from doorward.beneath.status import Entry, entry_at


class Walk:
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

    def __iter__(self) -> Iterator[Entry]:
        prefix = "" if self._path == "." else f"{self._path}/"
        with telling("list", self._path), opened(self._root, self._path, FOLDER) as base:
            waiting = self._names(base, "")
            while waiting:
                name = waiting.pop()
                try:
                    found = entry_at(base, name, prefix + name, os.O_NOFOLLOW, NO_SYMLINKS)
                except FileNotFoundError:
                    continue
                except OSError:
                    self.unreadable += 1
                    continue
                yield found
                if self._recursive and found.kind == "folder":
                    try:
                        waiting += self._names(base, name)
                    except OSError:
                        self.unreadable += 1

    def _names(self, base: int, folder: str) -> list[str]:
        """List paths relative to `base`, in reverse order."""
        with opened(base, folder or ".", FOLDER | os.O_NOFOLLOW, NO_SYMLINKS) as fd:
            names = os.listdir(fd)
        shown = [name for name in names if self._hidden or not name.startswith(".")]
        self.left_out += len(names) - len(shown)
        return [f"{folder}/{name}" if folder else name for name in sorted(shown, reverse=True)]
