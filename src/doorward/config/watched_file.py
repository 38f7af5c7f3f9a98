"""A single watched configuration file, such as the catalogue."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from doorward.config.files import printable_path, read_file
from doorward.config.watched_config import FileVersion, LastGoodStore, T, WatchedConfig


class WatchedFile(WatchedConfig[T]):
    """One file, which may be outside the home folder. Its id is its kind."""

    def __init__(self, file: Path, home: Path, last_good: LastGoodStore, parse: Callable[[bytes, str], T]) -> None:
        super().__init__(file.parent, last_good, parse)
        self.file = file
        self.name = printable_path(file, home)
        """The name of the file in messages."""

    @property
    def problem(self) -> str:
        """The current problem of the file; empty when there is none."""
        return self.problems.get(self.name, "")

    @property
    def version(self) -> FileVersion[T] | None:
        return self.versions.get(self.kind)

    def list_ids(self) -> list[str]:
        return [self.kind]

    def file_name(self, id: str) -> str:
        return self.name

    def is_watched(self, name: str) -> bool:
        return name == self.file.name

    def read(self, id: str) -> bytes | None:
        return read_file(self.file, self.max_bytes)
