"""The files of recipes on the disk. Everything here blocks, so it runs on a thread."""

from __future__ import annotations

import os
from importlib import resources
from pathlib import Path

from doorward.edited.wholefile import Unreadable, cannot_be_written, create, replace, shown_name
from doorward.edited.wholefile import read as read_whole
from doorward.errors import NotFound
from doorward.home import sync_folder
from doorward.recipes.recipe import LARGEST, BadRecipe

__all__ = ["create", "is_recipe_file", "make", "read", "recipe_files", "remove", "replace", "shipped", "shown_name"]


def shipped() -> dict[str, bytes]:
    """The recipes that come with Doorward, by id."""
    files = resources.files(__package__).joinpath("shipped").iterdir()
    return {file.name.removesuffix(".json"): file.read_bytes() for file in files if file.name.endswith(".json")}


def recipe_files(folder: Path) -> list[Path]:
    """Hidden files are left out: they are editors' locks and our own unfinished writes."""
    return sorted(folder / name for name in os.listdir(folder) if is_recipe_file(name))


def is_recipe_file(name: str) -> bool:
    return name.endswith(".json") and not name.startswith(".")


def read(file: Path) -> bytes:
    """The text of one recipe; BadRecipe when it is no ordinary, readable file of a sensible size."""
    try:
        return read_whole(file, LARGEST)
    except Unreadable as error:
        raise BadRecipe(shown_name(file), "", str(error)) from error


def remove(file: Path) -> None:
    try:
        file.unlink()
        sync_folder(file.parent)
    except FileNotFoundError as error:
        raise NotFound(f"There is no recipe file {shown_name(file)}; nothing was removed.") from error
    except OSError as error:
        raise cannot_be_written(file, error) from error


def make(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_be_written(folder, error) from error
