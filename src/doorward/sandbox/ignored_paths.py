"""The paths that the .gitignore files of a project name: build output, caches and local settings."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pathspec

_LARGEST = 1_000_000
_REPOSITORY = ".git"


class IgnoredPaths:
    """Answers whether a path is ignored, by the .gitignore files above it. `read` gives a file of the project."""

    def __init__(self, read: Callable[[str], bytes | None]) -> None:
        self._read = read
        self._rules: dict[str, pathspec.GitIgnoreSpec | None] = {}

    def matches(self, path: str, is_folder: bool) -> bool:
        names = path.split("/")
        if _REPOSITORY in names:
            return False
        ignored = False
        for depth in range(len(names)):
            rules = self._rules_in("/".join(names[:depth]))
            if rules is not None:
                found = rules.check_file("/".join(names[depth:]) + ("/" if is_folder else ""))
                ignored = ignored if found.include is None else found.include
        return ignored

    def _rules_in(self, folder: str) -> pathspec.GitIgnoreSpec | None:
        if folder not in self._rules:
            import pathspec  # noqa: PLC0415 - slow to load, and few calls need it

            lines: list[str] = []
            for name in (".gitignore",) if folder else (f"{_REPOSITORY}/info/exclude", ".gitignore"):
                text = self._read(f"{folder}/{name}" if folder else name) or b""
                lines += text.decode(errors="replace").splitlines()
            self._rules[folder] = pathspec.GitIgnoreSpec.from_lines(lines) if lines else None
        return self._rules[folder]


def read_first(folders: Sequence[str]) -> Callable[[str], bytes | None]:
    """A reader that takes each file from the first of these folders that has it. Symlinks are not followed."""

    def read(path: str) -> bytes | None:
        for folder in folders:
            try:
                descriptor = os.open(f"{folder}/{path}", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            except OSError:
                continue
            with os.fdopen(descriptor, "rb") as file:
                return file.read(_LARGEST)
        return None

    return read
