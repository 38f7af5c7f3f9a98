"""Replacements of text in a file: several at once, all or none, with the place where one fails."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from doorward.commands.file.changes import ContentFunction
from doorward.commands.file.text import decode_text
from doorward.core.errors import BadParams, Conflict, NotFound

_PLACES_SHOWN = 10
_LINES_SHOWN = 5
_MOST_LINES_COMPARED = 5_000
_LONGEST_LINE = 160
_LEAST_LIKENESS = 0.6


class Replacement(NamedTuple):
    """Replace a text by another. It must occur exactly once, unless it is replaced everywhere."""

    old: str
    new: str
    everywhere: bool = False


def read_replacements(
    old: str | None, new: str | None, everywhere: bool, edits: Sequence[Mapping[str, Any]]
) -> list[Replacement]:
    """The replacements of a call, which gives either one or a list of them."""
    if not edits:
        if old is None or new is None:
            missing = "oldString" if old is None else "newString"
            raise BadParams(f"Missing parameter '{missing}'. Give oldString and newString, or several as edits.")
        found = [Replacement(old, new, everywhere)]
    else:
        if old is not None or new is not None or everywhere:
            raise BadParams("Give oldString, newString and replaceAll, or edits, but not both.")
        found = [Replacement(one["oldString"], one["newString"], one.get("replaceAll", False)) for one in edits]
    for number, one in enumerate(found, 1):
        if one.old == one.new:
            where = _name_edit(number, len(found))
            raise BadParams(f"{where}oldString and newString are the same. Give a different newString.")
    return found


class Replacer:
    """Makes the new content of a file, and counts what it replaced. Each replacement sees those before it."""

    def __init__(self, path: str, replacements: Sequence[Replacement]) -> None:
        self._path = path
        self._replacements = replacements
        self.replaced = 0

    @property
    def make(self) -> ContentFunction:
        return self._make

    def _make(self, present: bytes | None) -> bytes:
        if present is None:
            raise NotFound(f"There is no file {self._path!r} in the workspace. file/list shows the files.")
        text = decode_text(present, self._path)
        self.replaced = 0
        for number, one in enumerate(self._replacements, 1):
            where = _name_edit(number, len(self._replacements))
            count = text.count(one.old)
            if count == 0:
                raise Conflict(
                    f"{where}oldString does not occur in {self._path!r}. Give it exactly as file/read shows it."
                    f"{_unchanged(len(self._replacements))}{_describe_nearest(text, one.old)}",
                    hint=_line_end_hint(text, one.old),
                )
            if count > 1 and not one.everywhere:
                raise Conflict(
                    f"{where}oldString occurs {count} times in {self._path!r}, in lines "
                    f"{_list_lines(text, one.old, count)}. Include more of the surrounding text, or set replaceAll."
                    f"{_unchanged(len(self._replacements))}"
                )
            text = text.replace(one.old, one.new)
            self.replaced += count
        return _encode(text)


def _name_edit(number: int, count: int) -> str:
    return f"Edit {number} of {count}: " if count > 1 else ""


def _unchanged(count: int) -> str:
    return " Nothing was changed." if count > 1 else ""


def _describe_nearest(text: str, old: str) -> str:
    """The lines that are most like the text that was not found, with their numbers."""
    wanted = [line for line in old.splitlines() if line.strip()]
    lines = text.splitlines()[:_MOST_LINES_COMPARED]
    if not wanted or not lines:
        return ""
    stripped = [line.strip()[:_LONGEST_LINE] for line in lines]
    near = difflib.get_close_matches(wanted[0].strip()[:_LONGEST_LINE], stripped, n=1, cutoff=_LEAST_LIKENESS)
    if not near:
        return ""
    first = stripped.index(near[0])
    shown = lines[first : first + min(_LINES_SHOWN, len(old.splitlines()))]
    numbered = "\n".join(f"{number:6}\t{line[:_LONGEST_LINE]}" for number, line in enumerate(shown, first + 1))
    return f" The nearest lines are:\n{numbered}"


def _encode(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise BadParams("newString contains half a character (a lone surrogate). Give valid text.") from error


def _line_end_hint(text: str, old: str) -> str:
    if "\r\n" in text and "\n" in old and old.replace("\r\n", "\n").replace("\n", "\r\n") in text:
        return "The file has \\r\\n line ends; with those, oldString does occur."
    return ""


def _list_lines(text: str, old: str, count: int) -> str:
    lines: list[str] = []
    at = -len(old)
    for _ in range(min(count, _PLACES_SHOWN)):
        at = text.index(old, at + len(old))
        lines.append(str(text.count("\n", 0, at) + 1))
    return ", ".join(lines) + (" and more" if count > _PLACES_SHOWN else "")
