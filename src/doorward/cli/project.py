"""The project that a person is in: the current folder, the top folder of its project, and a name for its room."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from doorward.config.wide_folders import describe_wide

_REPOSITORY = ".git"
_MARKERS = ("pyproject.toml", "package.json", "Cargo.toml", "go.mod", "Makefile")
_MAX_NAME_CHARS = 63
_RESERVED = "direct-"
"""The prefix of direct rooms, which no other room may have."""


def current_folder() -> str:
    """Return the current folder without symlinks; empty if it was deleted."""
    try:
        return os.path.realpath(os.getcwd())
    except FileNotFoundError:
        return ""


def find_project(folder: str) -> Path | None:
    """Return the top folder of the project that contains a folder, or None.

    That is the innermost git repository or, without one, the innermost folder with a file such as pyproject.toml.
    Home folders and system folders are never projects, whatever files they hold.
    """
    around = list(_folders_around(folder)) if folder else []
    for markers in ((_REPOSITORY,), _MARKERS):
        for one in around:
            if any((one / marker).exists() for marker in markers):
                return one
    return None


def _folders_around(folder: str) -> Iterator[Path]:
    path = Path(folder)
    for one in (path, *path.parents):
        if describe_wide(one):
            return
        yield one


def name_room(folder: Path, number: int = 1) -> str:
    """Return a valid name for the room of a folder. `number` tells apart folders with the same name."""
    plain = re.sub(r"[^a-z0-9_]+", "-", folder.name.lower()).strip("-_") or "project"
    name = f"project-{plain}" if plain.startswith(_RESERVED) else plain
    end = f"-{number}" if number > 1 else ""
    return name[: _MAX_NAME_CHARS - len(end)] + end
