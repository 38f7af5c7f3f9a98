"""Path rules of a workspace, checked on the text before any file is opened."""

from __future__ import annotations

import unicodedata

from doorward.errors import BadParams

LONGEST_PATH = 4096


def normal(path: str, *, file: bool = False) -> str:
    """Normalize a path inside the workspace (`.` is the workspace), or raise BadParams.

    `..` is resolved on the text, before any symlink is followed.
    """
    shown = path if len(path) <= 80 else f"{path[:80]}…"
    if not path:
        raise BadParams("The path is empty; give one relative to the workspace, such as 'notes/today.md'.")
    if any(unicodedata.category(letter) in ("Cc", "Cs") for letter in path):
        raise BadParams(f"The path contains a control character or a lone surrogate; use plain text, not {shown!a}.")
    if len(path.encode()) > LONGEST_PATH:
        raise BadParams(f"The path has {len(path.encode())} bytes; at most {LONGEST_PATH} are valid: {shown!r}.")
    if path.startswith("/"):
        raise BadParams(f"The path {shown!r} starts with '/'; give one relative to the workspace.")
    parts: list[str] = []
    for part in path.split("/"):
        if part == ".." and not parts:
            raise BadParams(f"The path {shown!r} leads out of the workspace; give one that stays inside.")
        if part == "..":
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    if file and (not parts or path.endswith(("/", "/.", "/.."))):
        raise BadParams(f"The path {shown!r} names a folder; give the path of a file.")
    return "/".join(parts) or "."
