"""Paths of the virtual tree: normalization, and escaping of record keys as file names."""

from __future__ import annotations

import unicodedata
from urllib.parse import quote, unquote

from doorward.core.command import shorten
from doorward.core.errors import BadParams

START_FOLDER = "/workspace"
MAX_PATH_BYTES = 4096


def normalize_path(path: str, cwd: str = START_FOLDER, home: str = "") -> str:
    """Normalize a path: absolute, without `.`, `..`, `~` and repeated slashes.

    As in Unix, the parent of the root is the root.
    """
    if not path:
        raise BadParams("The path is empty; give one such as /workspace/notes/today.md.")
    if any(unicodedata.category(letter) in ("Cc", "Cs") for letter in path):
        raise BadParams(f"The path contains a control character or lone surrogate; give plain text, not {path[:80]!a}.")
    if len(path.encode()) > MAX_PATH_BYTES:
        raise BadParams(
            f"The path has {len(path.encode())} bytes; the maximum is {MAX_PATH_BYTES}; given {shorten(path)}."
        )
    if home and (path == "~" or path.startswith("~/")):
        path = home + path[1:]
    whole = path if path.startswith("/") else f"{cwd}/{path}"
    parts: list[str] = []
    for part in whole.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return "/" + "/".join(parts)


def join_path(path: str, name: str) -> str:
    return f"{path.rstrip('/')}/{name}"


def name_of(path: str) -> str:
    return path.rpartition("/")[2] or "/"


def parent_of(path: str) -> str:
    return path.rpartition("/")[0] or "/"


def escape_key(key: str | int | float) -> str:
    """Escape a record's key as a file name: characters that a path cannot contain become such as `%2F`."""
    text = str(key)
    if text in (".", ".."):
        return text.replace(".", "%2E")
    return "".join(
        quote(one, safe="") if one in "/%" or unicodedata.category(one) in ("Cc", "Cs") else one
        for one in text.encode("utf-8", "replace").decode()
    )


def unescape_key(name: str) -> str:
    """Unescape a file name to a record's key."""
    return unquote(name) if "%" in name else name
