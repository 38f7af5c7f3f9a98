"""Globs for paths: `*` stays within a folder, `**` crosses folders, `?` is one character.

A glob checks the path as written. Links are resolved by the code that opens the path.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import re2

_UNSUPPORTED = re.compile(r"[\[\]{}\\]")
_WILDCARDS = {"*": "[^/]*", "?": "[^/]"}


def compile_glob(glob: str) -> Callable[[str], bool]:
    """Return a function that tests whether a path matches. Raises ValueError if the glob is not valid."""
    unknown = _UNSUPPORTED.search(glob)
    if unknown:
        raise ValueError(f"a glob supports only *, ** and ?, not {unknown[0]!r}")
    normal = _normalize(glob)
    if normal is None:
        raise ValueError("a glob must not contain '..' or NUL, because such a path never matches")
    for name in normal.split("/"):
        if "**" in name and name != "**":
            raise ValueError(f"** must stand alone between slashes, as in src/**/*.md, not as in {name!r}")
    whole = re2.compile(_to_expression(normal))

    def match(path: str) -> bool:
        given = _normalize(path)
        return given is not None and whole.fullmatch(given) is not None

    return match


def _normalize(path: str) -> str | None:
    """Return the path without empty and `.` parts, or None if no glob may match it. The folder itself is empty."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return None
    names = [name for name in path.split("/") if name not in ("", ".")]
    if ".." in names or "\x00" in path:
        return None
    return ("/" if path.startswith("/") else "") + "/".join(names)


def _to_expression(normal: str) -> str:
    absolute = normal.startswith("/")
    *folders, last = normal.removeprefix("/").split("/")
    return "".join(
        [
            "/" if absolute else "",
            *("(?:[^/]+/)*" if name == "**" else f"{_name_expression(name)}/" for name in folders),
            # At least one name, so that `src/**` matches the content of src but not src itself.
            "[^/]+(?:/[^/]+)*" if last == "**" else _name_expression(last),
        ]
    )


def _name_expression(name: str) -> str:
    if name == "*":
        return "[^/]+"
    return "".join(_WILDCARDS.get(letter) or re2.escape(letter) for letter in name)
