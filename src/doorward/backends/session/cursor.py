"""The position in a script that is being parsed, and the syntax error."""

from __future__ import annotations

import re

LONGEST = 65_536
_BLANKS = re.compile(r"(?:[ \t]|\r(?=\n|\Z)|\\\r?\n)+")
_LINE_END = re.compile(r"\r?\n|\r?\Z")
_ENDINGS = {"'": "'", '"': '"', "${": "}", "$(": ")"}


class Fault(Exception):
    """A syntax error: the message says what is wrong, what is valid, and where."""

    def __init__(self, message: str, line: int, column: int, *, unfinished: bool = False) -> None:
        self.message = f"Line {line}, column {column}: {message}"
        super().__init__(self.message)
        self.line = line
        self.column = column
        self.unfinished = unfinished
        """Whether more input could complete it: an open quote or `$(`, or a final `|`, `&&`, `||` or `\\`."""


class Cursor:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        if len(text) > LONGEST:
            raise self.fault(f"a script has at most {LONGEST} characters; given {len(text)}")
        if "\0" in text:
            raise self.fault("NUL bytes are not allowed in a script", text.index("\0"))

    def seen(self) -> str:
        return self.text[self.at : self.at + 1]

    def stands(self, sign: str) -> bool:
        return self.text.startswith(sign, self.at)

    def takes(self, sign: str) -> bool:
        if not self.stands(sign):
            return False
        self.at += len(sign)
        return True

    def at_line_end(self) -> bool:
        return _LINE_END.match(self.text, self.at) is not None

    def blanks(self) -> None:
        """Skip blanks, line continuations and a comment."""
        found = _BLANKS.match(self.text, self.at)
        if found is not None:
            self.at = found.end()
        if self.seen() == "#":
            end = self.text.find("\n", self.at)
            self.at = end if end >= 0 else len(self.text)

    def empty_lines(self) -> None:
        self.blanks()
        while self.takes("\n"):
            self.blanks()

    def open(self, what: str, start: int | None = None) -> Fault:
        return self.fault(
            f"{what} is opened here and never closed; close it with {_ENDINGS[what]}", start, unfinished=True
        )

    def fault(self, message: str, at: int | None = None, *, unfinished: bool = False) -> Fault:
        place = self.at if at is None else at
        line = self.text.count("\n", 0, place) + 1
        column = place - (self.text.rfind("\n", 0, place) + 1) + 1
        return Fault(f"{message}.", line, column, unfinished=unfinished)
