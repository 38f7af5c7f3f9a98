"""Paths for programs: relative to the folder they start in, and always inside the workspace."""

from __future__ import annotations

import posixpath

from doorward.beneath import normal
from doorward.sandbox.view import WORKSPACE


def folder_inside(path: str) -> str:
    """The normalized path of a folder to start in; refuses paths outside the workspace."""
    return normal(_relative(path))


def inside(path: str, folder: str) -> str:
    """The path to pass to a program that starts in `folder`; refuses paths outside the workspace.

    `..` is resolved by name. Symlinks are left to the sandbox, in which nothing outside the workspace is visible.
    """
    if path == WORKSPACE or path.startswith(f"{WORKSPACE}/"):
        whole = normal(_relative(path))
    else:
        whole = normal(path if folder == "." or not path or path.startswith("/") else f"{folder}/{path}")
    shown = whole if folder == "." else posixpath.relpath(whole, folder)
    # Some programs treat a path that ends with a slash as a folder.
    return f"{shown}/" if path.endswith("/") and not shown.endswith("/") else shown


def _relative(path: str) -> str:
    if path == WORKSPACE:
        return "."
    return path.removeprefix(f"{WORKSPACE}/") or "."
