"""Long lines, broken between words where a terminal would break them anywhere."""

from __future__ import annotations

import re
import shutil
import sys
import unicodedata
from collections.abc import Iterator

_WORDS = re.compile(r"\s*\S+|\s+$")
_NARROWEST = 16
"""However little room an indentation leaves, so many characters stand on a line."""


def columns() -> int:
    """How wide the terminal is; 0 where there is none, and lines stay as they are."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else 0


def cells(text: str) -> int:
    """How many columns a text takes."""
    if text.isascii():
        return len(text)
    return sum(map(_cell, text))


def wrapped(text: str, width: int, first: int, rest: int) -> list[str]:
    """One line as several, without their indentation: before the first are `first` columns, before others `rest`."""
    if not width or first + cells(text) <= width:
        return [text]
    return list(_broken(text, max(width - first, _NARROWEST), max(width - rest, _NARROWEST)))


def indented(text: str, width: int, rest: int) -> str:
    """A line, and what of it does not fit on lines below that are indented so far."""
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
    """How many characters fit, at least one."""
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
