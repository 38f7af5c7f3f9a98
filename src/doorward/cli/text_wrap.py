"""Wraps long lines between words, for terminals that would break them anywhere."""

from __future__ import annotations

import re
import shutil
import sys
import unicodedata
from collections.abc import Iterator

_WORDS = re.compile(r"\s*\S+|\s+$")
_MIN_WIDTH = 16
"""Least characters per line, however deep the indentation."""


def terminal_width() -> int:
    """Return the width of the terminal; 0, for no wrapping, when there is none."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else 0


def display_width(text: str) -> int:
    """Return the number of columns that a text takes."""
    if text.isascii():
        return len(text)
    return sum(map(_char_width, text))


def wrap_line(text: str, width: int, first: int, rest: int) -> list[str]:
    """Wrap a line. `first` and `rest` are the columns taken before the first and the other lines."""
    if not width or first + display_width(text) <= width:
        return [text]
    return list(_break_line(text, max(width - first, _MIN_WIDTH), max(width - rest, _MIN_WIDTH)))


def wrap_indented(text: str, width: int, rest: int) -> str:
    """Wrap a line and indent its continuation lines by `rest` columns."""
    return f"\n{' ' * rest}".join(wrap_line(text, width, 0, rest))


def _break_line(text: str, room: int, later: int) -> Iterator[str]:
    line = ""
    for word in _WORDS.findall(text):
        if display_width(line) + display_width(word) <= room:
            line += word
            continue
        if line.strip():
            yield line
            line, room = "", later
        line += word.lstrip() if room == later else word
        while display_width(line) > room:
            fits = _count_fitting(line, room)
            yield line[:fits]
            line, room = line[fits:], later
    if line.strip():
        yield line


def _count_fitting(text: str, room: int) -> int:
    """Return how many characters fit; at least one."""
    taken = 0
    for place, char in enumerate(text):
        taken += _char_width(char)
        if taken > room:
            return max(place, 1)
    return len(text)


def _char_width(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
