"""Paths as programs are given them: relative to the folder they start in, and never out of the workspace."""

from __future__ import annotations

import posixpath

from doorward.beneath import normal
from doorward.sandbox.view import WORKSPACE


def folder_inside(path: str) -> str:
    """The one spelling of a folder to start in; refuses what is not inside the workspace."""
    return normal(_relative(path))


def inside(path: str, folder: str) -> str:
    """A path as a program that starts in `folder` is given it; refuses one that leads out of the workspace.

    `..` is resolved by name; where symlinks lead is the sandbox's business, which has nothing else to show.
    """
    if path == WORKSPACE or path.startswith(f"{WORKSPACE}/"):
        whole = normal(_relative(path))
    else:
        whole = normal(path if folder == "." or not path or path.startswith("/") else f"{folder}/{path}")
    shown = whole if folder == "." else posixpath.relpath(whole, folder)
    # A slash at the end says that a folder is meant, which some programs heed.
    return f"{shown}/" if path.endswith("/") and not shown.endswith("/") else shown


def _relative(path: str) -> str:
    if path == WORKSPACE:
        return "."
    return path.removeprefix(f"{WORKSPACE}/") or "."
