"""Access to a folder of JSON configuration files. All functions block, so call them on a thread."""

from __future__ import annotations

import os
from importlib import resources
from pathlib import Path

from doorward.edited.badfile import BadFile
from doorward.edited.wholefile import Unreadable, cannot_be_written, shown_name
from doorward.edited.wholefile import read as read_whole
from doorward.errors import NotFound
from doorward.home import sync_folder


def shipped(package: str) -> dict[str, bytes]:
    """The files that ship with Doorward in the folder `shipped` of a package, by id."""
    files = resources.files(package).joinpath("shipped").iterdir()
    return {file.name.removesuffix(".json"): file.read_bytes() for file in files if file.name.endswith(".json")}


def files_in(folder: Path) -> list[Path]:
    """List the JSON files, without hidden ones: those are editors' locks and our own unfinished writes."""
    return sorted(folder / name for name in os.listdir(folder) if concerns(name))


def concerns(name: str) -> bool:
    return name.endswith(".json") and not name.startswith(".")


def read(file: Path, largest: int, bad: type[BadFile]) -> bytes:
    """Read one file; raise `bad` unless it is a regular, readable file of at most `largest` bytes."""
    try:
        return read_whole(file, largest)
    except Unreadable as error:
        raise bad(shown_name(file), "", str(error)) from error


def remove(file: Path, what: str) -> None:
    try:
        file.unlink()
        sync_folder(file.parent)
    except FileNotFoundError as error:
        raise NotFound(f"There is no {what} file {shown_name(file)}; nothing was removed.") from error
    except OSError as error:
        raise cannot_be_written(file, error) from error


def make(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_be_written(folder, error) from error
