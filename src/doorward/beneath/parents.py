"""Parent folders: open them, create missing ones, remove unused ones."""

from __future__ import annotations

import contextlib
import os

from doorward.beneath.openat2 import FOLDER, openat2, opened
from doorward.errors import NotFound


def open_parent(root: int, path: str, made: list[str] | None) -> int:
    """Open the parent folder of `path`. Missing folders are created and appended to `made`; without it, NotFound."""
    parent = path.rpartition("/")[0]
    with contextlib.suppress(FileNotFoundError):
        return openat2(root, parent or ".", FOLDER)
    if made is None:
        raise NotFound(f"The folder {parent!r} does not exist; create it first, or let missing parents be created.")
    parts = parent.split("/")
    folder = openat2(root, ".", FOLDER)
    for depth in range(1, len(parts) + 1):
        try:
            inner = _child(root, folder, "/".join(parts[:depth]), made)
        finally:
            os.close(folder)
        folder = inner
    return folder


def remove_folders(root: int, made: list[str]) -> None:
    """Remove folders that were created for a file that was not written. Folders that are no longer empty stay."""
    for path in reversed(made):
        above, _, name = path.rpartition("/")
        with contextlib.suppress(OSError), opened(root, above or ".", FOLDER) as folder:
            os.rmdir(name, dir_fd=folder)


def _child(root: int, folder: int, path: str, made: list[str]) -> int:
    # Opened from the root, not from the parent: a symlink to a sibling folder is beneath the root, not the parent.
    with contextlib.suppress(FileNotFoundError):
        return openat2(root, path, FOLDER)
    with contextlib.suppress(FileExistsError):
        os.mkdir(path.rpartition("/")[2], dir_fd=folder)
        made.append(path)
        os.fsync(folder)
    return openat2(root, path, FOLDER)
