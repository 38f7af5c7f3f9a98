"""Access to a folder of JSON configuration files. All functions block, so call them on a thread."""

from __future__ import annotations

import os
from importlib import resources
from pathlib import Path

from doorward.config.files import printable_name, write_error
from doorward.config.home import fsync_folder
from doorward.core.errors import NotFound


def shipped_files(package: str) -> dict[str, bytes]:
    """The files that ship with Doorward in the folder `shipped` of a package, by id."""
    files = resources.files(package).joinpath("shipped").iterdir()
    return {file.name.removesuffix(".json"): file.read_bytes() for file in files if file.name.endswith(".json")}


def list_json_files(folder: Path) -> list[Path]:
    """List the JSON files, without hidden ones: those are editors' locks and our own unfinished writes."""
    return sorted(folder / name for name in os.listdir(folder) if is_json_file(name))


def is_json_file(name: str) -> bool:
    """Whether a file of this name is read. Expectations such as support.tests.json lie beside what they test."""
    return name.endswith(".json") and not name.startswith(".") and not name.endswith(".tests.json")


def remove_json_file(file: Path, what: str) -> None:
    try:
        file.unlink()
        fsync_folder(file.parent)
    except FileNotFoundError as error:
        raise NotFound(f"There is no {what} file {printable_name(file)}; nothing was removed.") from error
    except OSError as error:
        raise write_error(file, error) from error


def make_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise write_error(folder, error) from error
