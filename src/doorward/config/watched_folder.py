"""A watched folder of configuration files, such as recipes or personas."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import ClassVar

from doorward.config import json_folder as files
from doorward.config.files import create_file, printable_name, read_file, replace_file
from doorward.config.watched_config import T, WatchedConfig
from doorward.core.errors import NotFound

_VALID = "lower-case letters, digits and hyphens, a letter first, at most 63 characters"


class WatchedFolder(WatchedConfig[T]):
    """The files of a folder. A file that is removed is no longer in force."""

    id_field: ClassVar[str]
    """The field that holds the id; the file has the same name."""
    package: ClassVar[str]
    """The package whose folder `shipped` holds the files that come with Doorward."""

    def text(self, id: str) -> bytes | None:
        """The text in force. It differs from the file's while the file is invalid."""
        version = self.versions.get(id)
        return version.text if version else None

    async def save(self, id: str, text: bytes) -> None:
        """Validate a text, write it to its file and apply it; raise `error_class` when it is invalid."""
        await asyncio.to_thread(self._check_and_write, id, text)
        await self.load()

    async def remove(self, id: str) -> None:
        """Delete a file and drop its version."""
        noun = self.error_class.noun
        if not self.is_id(id):
            raise NotFound(f"There is no {noun} {id[:80]!r}; nothing was removed.")
        await asyncio.to_thread(files.remove_json_file, self._file(id), noun)
        await self.load()

    async def install_shipped(self) -> list[str]:
        """Write the shipped files that are missing and return their ids. `load` applies them."""
        return await asyncio.to_thread(self._write_shipped)

    def is_id(self, id: str) -> bool:
        raise NotImplementedError

    def list_ids(self) -> list[str]:
        return [file.stem for file in files.list_json_files(self.folder)]

    def file_name(self, id: str) -> str:
        return printable_name(self._file(id))

    def is_watched(self, name: str) -> bool:
        return files.is_json_file(name)

    def read(self, id: str) -> bytes:
        return read_file(self._file(id), self.max_bytes)

    def _file(self, id: str) -> Path:
        return self.folder / f"{id}.json"

    def _check_and_write(self, id: str, text: bytes) -> None:
        file = self._file(id)
        if not self.is_id(id):
            raise self.error_class("to be saved", self.id_field, f"{id[:80]!r} is not valid; valid: {_VALID}")
        self._parse(text, file.name)
        replace_file(file, text)

    def _write_shipped(self) -> list[str]:
        files.make_folder(self.folder)
        return [id for id, text in files.shipped_files(self.package).items() if create_file(self._file(id), text)]
