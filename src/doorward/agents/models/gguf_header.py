"""Read what a GGUF file says of itself. The file may be hostile: every read and every count is bounded."""

from __future__ import annotations

import os
import stat
import struct
from pathlib import Path
from typing import IO, Any

import msgspec

from doorward.agents.models.server_discovery import parse_count

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_MAX_READ = 64 * 1024 * 1024
"""Bytes read of a header; the largest known have about 20 MB, nearly all of it the vocabulary."""
_MAX_ENTRIES = 10_000
_MAX_TENSORS = 100_000
_MAX_ITEMS = 4_000_000
_MAX_TEXT = 1_000
"""Characters kept of a text."""
_MAX_NUMBER = 2**53
_NUMBERS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
_STRING, _ARRAY = 8, 9


class BadGguf(Exception):
    """Not a usable GGUF file. The message completes the sentence "The file …"."""


class GgufHeader(msgspec.Struct, frozen=True, kw_only=True):
    bytes: int
    """The size of the file."""
    architecture: str = ""
    name: str = ""
    parameters: int = 0
    """The number of its weights; 0 if unknown."""
    context: int = 0
    """The context that it was trained for, in tokens; 0 if unknown."""
    parts: int = 1
    """The number of files that the model is split into."""

    @property
    def answers(self) -> bool:
        """Whether it can answer in words; encoders of images and of meanings cannot."""
        return self.architecture not in ("clip", "mmproj") and not self.architecture.endswith("bert")


def read_header(file: Path) -> GgufHeader:
    """Return what a file says of itself. Raises `BadGguf`."""
    try:
        # Without O_NONBLOCK, opening a pipe would wait for a writer.
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise BadGguf(f"cannot be read: {getattr(error, 'strerror', None) or 'its path is not valid'}") from None
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise BadGguf("is not a regular file")
        with open(descriptor, "rb", buffering=65_536, closefd=False) as opened:
            return _HeaderReader(opened, facts.st_size).read()
    except OSError as error:
        raise BadGguf(f"cannot be read: {error.strerror}") from None
    finally:
        os.close(descriptor)


class _HeaderReader:
    def __init__(self, opened: IO[bytes], size: int) -> None:
        self._file = opened
        self._size = size
        self._left = min(size, _MAX_READ)
        self._items = _MAX_ITEMS
        self._values: dict[str, Any] = {}

    def read(self) -> GgufHeader:
        if self._size < len(_MAGIC) or self._take(len(_MAGIC)) != _MAGIC:
            raise BadGguf("is not a GGUF file: those begin with the letters GGUF")
        version = self._number(4)
        if version not in _VERSIONS:
            raise BadGguf(f"is a GGUF file of the version {version}; valid: 2 and 3")
        tensors, entries = self._number(10), self._number(10)
        if tensors > _MAX_TENSORS or entries > _MAX_ENTRIES:
            raise BadGguf("is damaged: its header announces more entries than any model has")
        for _ in range(entries):
            key = self._text()
            if key.startswith("tokenizer.") and self._parameters() and self._context():
                break
            value = self._value(self._number(4), depth=0)
            if value is not None:
                self._values[key] = value
        else:
            if not self._parameters():
                self._values["general.parameter_count"] = self._count_weights(tensors)
        architecture = self._values.get("general.architecture", "")
        return GgufHeader(
            bytes=self._size,
            architecture=architecture if isinstance(architecture, str) else "",
            name=name if isinstance(name := self._values.get("general.name"), str) else "",
            parameters=self._parameters(),
            context=self._context(),
            parts=self._whole("split.count") or 1,
        )

    def _parameters(self) -> int:
        return self._whole("general.parameter_count") or parse_count(self._values.get("general.size_label"))

    def _context(self) -> int:
        return self._whole(f"{self._values.get('general.architecture')}.context_length")

    def _whole(self, key: str) -> int:
        value = self._values.get(key)
        return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < _MAX_NUMBER else 0

    def _take(self, count: int) -> bytes:
        self._left -= count
        if self._left < 0:
            raise BadGguf("is damaged: its header is longer than the file, or than any model's")
        data = self._file.read(count)
        if len(data) < count:
            raise BadGguf("is damaged: it ends inside its header")
        return data

    def _skip(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise BadGguf("is damaged: its header is longer than the file, or than any model's")
        self._file.seek(count, os.SEEK_CUR)

    def _number(self, kind: int) -> Any:
        form = _NUMBERS[kind]
        return struct.unpack(form, self._take(struct.calcsize(form)))[0]

    def _text(self) -> str:
        length = self._number(10)
        kept = self._take(min(length, _MAX_TEXT))
        self._skip(length - len(kept))
        return kept.decode("utf-8", "replace")

    def _value(self, kind: int, depth: int) -> Any:
        """Return a number or a text; None for a list, which is skipped."""
        if kind in _NUMBERS:
            return self._number(kind)
        if kind == _STRING:
            return self._text()
        if kind != _ARRAY or depth > 2:
            raise BadGguf("is damaged: its header has a value of an unknown kind")
        kind, count = self._number(4), self._number(10)
        if kind in _NUMBERS:
            self._skip(struct.calcsize(_NUMBERS[kind]) * count)
            return None
        for _ in range(count):
            self._items -= 1
            if self._items < 0:
                raise BadGguf("is damaged: its header announces more entries than any model has")
            if kind == _STRING:
                self._skip(self._number(10))
            else:
                self._value(kind, depth + 1)
        return None

    def _count_weights(self, tensors: int) -> int:
        total = 0
        for _ in range(tensors):
            self._text()
            dimensions = self._number(4)
            if dimensions > 8:
                raise BadGguf("is damaged: one of its tensors has too many dimensions")
            weights = 1
            for _ in range(dimensions):
                weights *= self._number(10)
            total += weights
            self._skip(12)
        return total
