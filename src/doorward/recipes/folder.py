"""The files of recipes on the disk. Everything here blocks, so it runs on a thread."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable
from importlib import resources
from pathlib import Path

from doorward.errors import NotFound, Unusable
from doorward.home import sync_folder
from doorward.recipes.recipe import LARGEST, BadRecipe


def shipped() -> dict[str, bytes]:
    """The recipes that come with Doorward, by id."""
    files = resources.files(__package__).joinpath("shipped").iterdir()
    return {file.name.removesuffix(".json"): file.read_bytes() for file in files if file.name.endswith(".json")}


def recipe_files(folder: Path) -> list[Path]:
    """Hidden files are left out: they are editors' locks and our own unfinished writes."""
    return sorted(folder / name for name in os.listdir(folder) if is_recipe_file(name))


def is_recipe_file(name: str) -> bool:
    return name.endswith(".json") and not name.startswith(".")


def shown_name(file: Path) -> str:
    """A file's name as it may be printed and stored: a name on the disk need not be text."""
    return file.name if file.name.isprintable() else repr(file.name)[1:-1]


def identity(folder: Path) -> tuple[int, int] | None:
    """What tells this folder from another that takes its place; None when there is none."""
    try:
        facts = folder.stat()
    except OSError:
        return None
    return facts.st_dev, facts.st_ino


def read(file: Path) -> bytes:
    """The text of one recipe; BadRecipe when it is no ordinary, readable file of a sensible size."""
    name = shown_name(file)
    try:
        # Without O_NONBLOCK, opening a pipe would wait for somebody to write into it.
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise BadRecipe(name, "", f"it cannot be read: {error.strerror}") from error
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise BadRecipe(name, "", "it is not an ordinary file; valid: a file that holds one JSON object")
        with open(descriptor, "rb", closefd=False) as stream:
            text = stream.read(LARGEST + 1)
    except OSError as error:
        raise BadRecipe(name, "", f"it cannot be read: {error.strerror}") from error
    finally:
        os.close(descriptor)
    if len(text) > LARGEST:
        raise BadRecipe(name, "", f"it is too large: at most {LARGEST} bytes are valid, it has {facts.st_size}")
    return text


def replace(file: Path, text: bytes) -> None:
    """Write a file so that readers see the old text or the new one, and nothing between."""
    _put(file, text, os.replace)


def create(file: Path, text: bytes) -> bool:
    """Write a file that does not exist yet, whole or not at all; False when something has that name already."""
    try:
        _put(file, text, os.link)
    except FileExistsError:
        return False
    return True


def _put(file: Path, text: bytes, into_place: Callable[[str, Path], None]) -> None:
    unfinished = None
    try:
        descriptor, unfinished = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=file.parent)
        with open(descriptor, "wb") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(descriptor)
        into_place(unfinished, file)
        sync_folder(file.parent)
    except FileExistsError:
        raise
    except OSError as error:
        raise _cannot_be_written(file, error) from error
    finally:
        if unfinished is not None:
            Path(unfinished).unlink(missing_ok=True)


def remove(file: Path) -> None:
    try:
        file.unlink()
        sync_folder(file.parent)
    except FileNotFoundError as error:
        raise NotFound(f"There is no recipe file {shown_name(file)}; nothing was removed.") from error
    except OSError as error:
        raise _cannot_be_written(file, error) from error


def make(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise _cannot_be_written(folder, error) from error


def _cannot_be_written(file: Path, error: OSError) -> Unusable:
    return Unusable(
        f"{file} cannot be written: {error.strerror}.",
        hint="Make sure that the folder exists, has space and is writable for this account.",
    )
