"""Wraps long lines between words, for terminals that would break them anywhere."""

from __future__ import annotations

import re
import shutil
import sys
import unicodedata
from collections.abc import Iterator

_WORDS = re.compile(r"\s*\S+|\s+$")
_NARROWEST = 16
"""Least characters per line, however deep the indentation."""


def columns() -> int:
    """Return the width of the terminal; 0, for no wrapping, when there is none."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else 0


def cells(text: str) -> int:
    """Return the number of columns that a text takes."""
    if text.isascii():
        return len(text)
    return sum(map(_cell, text))


def wrapped(text: str, width: int, first: int, rest: int) -> list[str]:
    """Wrap a line. `first` and `rest` are the columns taken before the first and the other lines."""
    if not width or first + cells(text) <= width:
        return [text]
    return list(_broken(text, max(width - first, _NARROWEST), max(width - rest, _NARROWEST)))


def indented(text: str, width: int, rest: int) -> str:
    """Wrap a line and indent its continuation lines by `rest` columns."""
    return f"\n{' ' * rest}".join(wrapped(text, width, 0, rest))


def _broken(text: str, room: int, later: int) -> Iterator[str]:
    line = ""
    for word in _WORDS.findall(text):
        if cells(line) + cells(word) <= room:
            line += word
            continue
        if line.strip():
            yield line
            line, room = "", later
        line += word.lstrip() if room == later else word
        while cells(line) > room:
            fits = _fitting(line, room)
            yield line[:fits]
            line, room = line[fits:], later
    if line.strip():
        yield line


def _fitting(text: str, room: int) -> int:
    """Return how many characters fit; at least one."""
    taken = 0
    for place, char in enumerate(text):
        taken += _cell(char)
        if taken > room:
            return max(place, 1)
    return len(text)


def _cell(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
