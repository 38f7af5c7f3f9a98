"""Syntax highlighting of the shell's input line, which marks unknown commands while you type."""

from __future__ import annotations

from collections.abc import Callable

from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.lexers import Lexer
from prompt_toolkit.styles import Style

from doorward.cli.shell_known import Known
from doorward.cli.shell_words import parts, words

STYLE = Style.from_dict(
    {
        "command": "bold ansigreen",
        "command.begun": "bold",
        "command.unknown": "ansired",
        "option": "ansicyan",
        "string": "ansiyellow",
        "variable": "ansimagenta",
        "operator": "bold",
        "comment": "ansibrightblack",
        "question": "ansiblue",
        "auto-suggestion": "ansibrightblack",
        "status.failed": "ansired",
        "room": "ansicyan",
        "folder": "ansiblue",
    }
)


class Colours(Lexer):
    def __init__(self, known: Known) -> None:
        self._known = known

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        lines = _by_line(styled(document.text, self._known, document.cursor_position))
        return lambda number: lines[number] if number < len(lines) else []


def styled(text: str, known: Known, cursor: int = -1) -> list[tuple[str, str]]:
    """Split a line into pieces, each with the name of its style."""
    if text.startswith(("@", "!")):
        return [("class:question", text)]
    names: dict[int, str] = {}
    for word in words(text):
        for part in word.parts:
            names[part.start] = part.kind if part.kind != "plain" else word.role
        if word.role == "command" and not known.knows(word.value):
            begun = word.end == cursor and known.begins(word.value)
            for part in word.parts:
                names[part.start] = "command.begun" if begun else "command.unknown"
    return [(f"class:{names.get(part.start, part.kind)}", part.text) for part in parts(text)]


def _by_line(pieces: list[tuple[str, str]]) -> list[StyleAndTextTuples]:
    lines: list[StyleAndTextTuples] = [[]]
    for style, text in pieces:
        first, *others = text.split("\n")
        lines[-1].append((style, first))
        lines += [[(style, other)] for other in others]
    return lines
