"""Files as requests name them: kinds of files, paths, patterns, quotations, addresses."""

from __future__ import annotations

import re
from functools import cache

from doorward.agents.house.entities.entity import Kind
from doorward.agents.house.entities.knowledge import FileKind, kinds
from doorward.agents.house.entities.line import Find, Line
from doorward.agents.house.entities.phrases import Phrases

_EXTENSION = re.compile(r"[^\n]{0,200}[\w)]\.[A-Za-z0-9]{1,8}")
_ENDING = re.compile(r"\.[a-z0-9]{1,10}")
_INTO = ("in", "under", "inside", "into", "to", "from", "within", "below", "of", "at", "beneath", "through", "across")


@cache
def _kinds() -> Phrases[FileKind]:
    alone = {word: one for one in kinds().kinds if one.alone for word in one.words}
    with_files = {
        f"{word} {behind}": one
        for one in kinds().kinds
        if not one.alone
        for word in one.words
        for behind in kinds().files
        if behind not in ("source", "sources")
    }
    return Phrases({**with_files, **alone})


@cache
def _home() -> Phrases[str]:
    places = kinds()
    return Phrases({**dict.fromkeys(places.here, "."), **dict.fromkeys(places.home, "~")})


def kind(line: Line, i: int) -> Find | None:
    """`python files`, `images`, `.csv files`."""
    found = _kinds().at(line.tokens, i)
    if found is not None:
        one, end = found
        return "kind", Kind(one.says, one.globs), i, end
    word = line.tokens[i]
    behind = line.lower(i + 1) in kinds().files
    if word.shape == "path" and _ENDING.fullmatch(word.lower) and behind:
        return "kind", Kind(f"{word.lower} files", (f"*{word.lower}",)), i, i + 2
    if word.lower in ("*", ".") and line.touches(i + 1) and line.is_word(i + 1) and line.lower(i + 2) in kinds().files:
        return "kind", Kind(f".{line.lower(i + 1)} files", (f"*.{line.lower(i + 1)}",)), i, i + 3
    return None


def path(line: Line, i: int) -> Find | None:
    """A path that is written out, or a folder that is named: `the tmp folder`, `folder src`, `my home directory`."""
    place = _home().at(line.tokens, i)
    if place is not None and _is_place(line, i, place[1]):
        return "path", place[0], i, place[1]
    token = line.tokens[i]
    if token.shape == "path":
        end = i + 2 if line.lower(i + 1) in kinds().folder_words else i + 1
        return "path", token.text, i, end
    if token.shape == "quoted" and _is_path(token.text):
        end = i + 2 if line.lower(i + 1) in kinds().folder_words else i + 1
        return "path", token.text[1:-1], i, end
    if token.lower in kinds().folder_words:
        return _folder_behind(line, i)
    if token.shape in ("word", "quoted", "number") and line.lower(i + 1) in kinds().folder_words:
        if token.shape == "quoted":
            return "path", token.text[1:-1], i, i + 2
        if token.lower not in kinds().not_folder_names and line.lower(i + 1) in (
            "folder",
            "directory",
            "dir",
            "subfolder",
        ):
            return "path", token.text, i, i + 2
    if token.lower in kinds().names and token.shape == "word":
        return "path", token.text, i, i + 1
    if token.lower in kinds().folders and line.lower(i - 1) in _INTO and token.shape == "word":
        return "path", token.text, i, i + 1
    return None


def _is_place(line: Line, i: int, end: int) -> bool:
    """Whether the words for home or for here stand for a place, and do not merely begin another name."""
    if end > i + 1 or line.lower(i) == "workspace":
        return True
    return line.lower(i - 1) in (*_INTO, "my", "go") and not line.is_word(end)


def _folder_behind(line: Line, i: int) -> Find | None:
    """`the folder src`, `a directory called notes`."""
    at = i + 2 if line.lower(i + 1) in ("called", "named") else i + 1
    token = line.tokens[at] if at < len(line.tokens) else None
    if token is None:
        return None
    if token.shape == "quoted":
        return "path", token.text[1:-1], i, at + 1
    if token.shape == "path":
        return "path", token.text, i, at + 1
    if token.shape != "word" or (at == i + 1 and token.lower in kinds().not_folder_names):
        return None
    return "path", token.text, i, at + 1


def _is_path(text: str) -> bool:
    """Whether a quotation is the name of a file: it has an ending, or slashes and no blanks."""
    inside = text[1:-1]
    if text[0] == "`" and " " in inside:
        return False
    if len(inside) > 255 or "\n" in inside:
        return False
    slashes = "/" in inside and " " not in inside and "://" not in inside
    return slashes or (_EXTENSION.fullmatch(inside) is not None and len(inside.split()) <= 6)


def literal(line: Line, i: int) -> Find | None:
    """What is written out and stands for itself."""
    token = line.tokens[i]
    if token.shape == "quoted":
        return "quoted", token.text[1:-1], i, i + 1
    if token.shape == "glob":
        return "glob", token.text, i, i + 1
    if token.shape == "email":
        return "email", token.text, i, i + 1
    if token.shape == "url":
        return "url", token.text, i, i + 1
    return None
