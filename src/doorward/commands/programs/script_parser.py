"""A static parser for bash scripts: commands, their words, redirects and inputs.

Whatever depends on the run, such as the value of a variable or the course of a loop, is unknown here. So the parser
serves to warn of mistakes. It is not a security boundary.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_BREAKS = frozenset(";&\n()")
_BLANKS = frozenset(" \t")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\+?=(.*)", re.DOTALL)
_BRACES = re.compile(r"(.*?)\{([^{}]*,[^{}]*)\}(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|([0-7]{1,3})|(.))", re.DOTALL)
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "v": "\v"}
_PLAIN = re.compile(r"[^ \t\n;&()|<>\\'\"`$]+")
_PLAIN_QUOTED = re.compile(r'[^"\\`$]+')
_DEEPEST = 20
_MOST_PARTS = 5_000
_LONGEST_BRACES = 200
_LONGEST_VALUE = 500
"""Longer values of variables are not tracked, since values can double from line to line."""
_MOST_BRACES = 100


class Word(NamedTuple):
    text: str
    """The text without quotes, with known variables filled in."""
    inner: tuple[Pipeline, ...] = ()
    """The scripts whose output is part of the word: `$(…)`, backticks, `<(…)`."""


class Redirect(NamedTuple):
    operator: str
    target: Word


class SimpleCommand(NamedTuple):
    """One command: its words without the assignments before them."""

    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...]
    fed: tuple[Word, ...]
    """The texts of its standard input: here-documents and here-strings."""


class Pipeline(NamedTuple):
    commands: tuple[SimpleCommand, ...]


class ScriptTooComplex(ValueError):
    """The script is too long or too deeply nested to parse."""


class _ParserState:
    """State shared by a script and the scripts nested in it."""

    __slots__ = ("known", "parts")

    def __init__(self) -> None:
        self.known: dict[str, str] = {}
        self.parts = 0

    def count(self, depth: int) -> None:
        self.parts += 1
        if self.parts > _MOST_PARTS or depth > _DEEPEST:
            raise ScriptTooComplex


def parse_script(script: str) -> list[Pipeline]:
    """Parse a script into its pipelines in order. Nested pipelines come before the ones that contain them."""
    reader = _ScriptParser(script.replace("\\\n", ""), _ParserState(), 0)
    reader.parse("")
    return reader.found


class _ScriptParser:
    def __init__(self, text: str, shared: _ParserState, depth: int, at: int = 0) -> None:
        shared.count(depth)
        self.text = text
        self.at = at
        self.shared = shared
        self.depth = depth
        self.found: list[Pipeline] = []
        self._commands: list[SimpleCommand] = []
        self._words: list[Word] = []
        self._redirects: list[Redirect] = []
        self._fed: list[Word] = []
        self._waiting: list[str] = []

    def parse(self, until: str) -> None:
        """Parse up to an unpaired `until`, or to the end."""
        while self.at < len(self.text):
            here = self.text[self.at]
            if here == until:
                self.at += 1
                break
            if here in _BLANKS:
                self.at += 1
            elif here == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            elif here == "\n":
                self.at += 1
                self._end_pipeline()
                self._here_documents()
            elif here == "|" and self.text[self.at + 1 : self.at + 2] != "|":
                self.at += 2 if self.text.startswith("|&", self.at) else 1
                self._end_command()
            elif here == "&" and self.text.startswith("&>", self.at):
                self._redirect()
            elif here in _BREAKS or here == "|":
                self.at += 1
                self._end_pipeline()
            elif here in "<>" and not self.text.startswith(("<(", ">("), self.at):
                self._redirect()
            else:
                self._add(self.read_word())
        self._end_pipeline()

    def _end_command(self) -> None:
        if self._words or self._redirects:
            self.shared.count(self.depth)
            self._commands.append(SimpleCommand(tuple(self._words), tuple(self._redirects), tuple(self._fed)))
        self._words, self._redirects, self._fed = [], [], []

    def _end_pipeline(self) -> None:
        self._end_command()
        if self._commands:
            self.found.append(Pipeline(tuple(self._commands)))
        self._commands = []

    def _add(self, words: list[Word]) -> None:
        for word in words:
            assigned = _ASSIGNMENT.fullmatch(word.text) if not self._words else None
            if assigned is not None:
                if len(assigned[2]) <= _LONGEST_VALUE:
                    self.shared.known[assigned[1]] = assigned[2]
                else:
                    self.shared.known.pop(assigned[1], None)
                # Scripts nested in an assignment run on their own.
                if word.inner:
                    self.found += word.inner
            else:
                self._words.append(word)

    def _redirect(self) -> None:
        operator = re.compile(r"&>>?|<<<|<<-?|<>|<&|<|>>|>&|>\||>").match(self.text, self.at)
        if operator is None:
            self.at += 1
            return
        self.at = operator.end()
        if self._words and self._words[-1].text.isdigit() and self.text[operator.start() - 1].isdigit():
            self._words.pop()
        while self.text[self.at : self.at + 1] in _BLANKS and self.at < len(self.text):
            self.at += 1
        if self.at >= len(self.text) or self.text[self.at] in "\n;|":
            return
        if self.text.startswith(("<(", ">("), self.at) or self.text[self.at] not in "<>&()":
            words = self.read_word()
            target = words[0] if words else Word("")
        else:
            return
        if operator[0] in ("<<", "<<-"):
            self._waiting.append(target.text)
        elif operator[0] == "<<<":
            self._fed.append(target)
        else:
            self._redirects.append(Redirect(operator[0], target))

    def _here_documents(self) -> None:
        """Read the bodies that begin after this line. They belong to the command that has just ended."""
        bodies = []
        for delimiter in self._waiting:
            lines = []
            while self.at < len(self.text):
                end = self.text.find("\n", self.at)
                end = len(self.text) if end < 0 else end
                line, self.at = self.text[self.at : end], end + 1
                if line.strip("\t") == delimiter:
                    break
                lines.append(line)
            bodies.append(Word("\n".join(lines)))
        self._waiting = []
        if bodies and self.found:
            last = self.found[-1].commands
            fed = last[0]._replace(fed=(*last[0].fed, *bodies))
            self.found[-1] = Pipeline((fed, *last[1:]))

    def read_word(self) -> list[Word]:
        """Read the word that begins here; it may expand to several words."""
        pieces: list[str] = []
        inner: list[Pipeline] = []
        spreads = True
        while self.at < len(self.text):
            here = self.text[self.at]
            if here in _BLANKS or here in _BREAKS or here == "|":
                break
            if self.text.startswith(("<(", ">("), self.at):
                self.at += 2
                inner += self._nested(")")
            elif here in "<>":
                break
            elif here == "\\":
                pieces.append(self.text[self.at + 1 : self.at + 2])
                self.at += 2
            elif here == "'":
                end = self.text.find("'", self.at + 1)
                end = len(self.text) if end < 0 else end
                pieces.append(self.text[self.at + 1 : end])
                self.at = end + 1
                spreads = False
            elif here == '"':
                self.at += 1
                self._double(pieces, inner)
                spreads = False
            elif here == "`":
                self.at += 1
                inner += self._backticks()
            elif here == "$":
                self._dollar(pieces, inner, quoted=False)
            else:
                self._plain(_PLAIN, pieces)
        text = "".join(pieces)
        parts = text.split("\x00") if "\x00" in text else [text]
        spread = [one for part in parts for one in (_braces(part) if spreads else [part])]
        words = [Word(one) for one in spread if one or len(spread) == 1]
        return [words[0]._replace(inner=tuple(inner)), *words[1:]] if words else []

    def _double(self, pieces: list[str], inner: list[Pipeline]) -> None:
        while self.at < len(self.text) and self.text[self.at] != '"':
            here = self.text[self.at]
            if here == "\\":
                escaped = self.text[self.at + 1 : self.at + 2]
                pieces.append(escaped if escaped in '$`"\\' else f"\\{escaped}")
                self.at += 2
            elif here == "`":
                self.at += 1
                inner += self._backticks()
            elif here == "$":
                self._dollar(pieces, inner, quoted=True)
            else:
                self._plain(_PLAIN_QUOTED, pieces)
        self.at += 1

    def _plain(self, signs: re.Pattern[str], pieces: list[str]) -> None:
        run = signs.match(self.text, self.at)
        end = run.end() if run else self.at + 1
        pieces.append(self.text[self.at : end])
        self.at = end

    def _dollar(self, pieces: list[str], inner: list[Pipeline], *, quoted: bool) -> None:
        rest = self.text[self.at + 1 : self.at + 2]
        if rest == "(":
            self.at += 2
            inner += self._nested(")")
        elif rest == "'" and not quoted:
            end = _closing(self.text, self.at + 2)
            pieces.append(_ESCAPE.sub(_unescaped, self.text[self.at + 2 : end]))
            self.at = end + 1
        elif rest == "{":
            end = self.text.find("}", self.at)
            end = len(self.text) if end < 0 else end
            name = _NAME.match(self.text, self.at + 2)
            pieces.append(self._value(name[0] if name else "", self.text[self.at : end + 1], quoted))
            self.at = end + 1
        else:
            name = _NAME.match(self.text, self.at + 1)
            end = name.end() if name else self.at + 1
            pieces.append(self._value(name[0] if name else "", self.text[self.at : end], quoted))
            self.at = end

    def _value(self, name: str, written: str, quoted: bool) -> str:
        if name == "IFS" and not quoted:
            return "\x00"
        value = self.shared.known.get(name, written)
        return value if quoted or name not in self.shared.known else "\x00".join(value.split())

    def _nested(self, until: str) -> list[Pipeline]:
        """Parse a nested script, from here to its end."""
        reader = _ScriptParser(self.text, self.shared, self.depth + 1, self.at)
        reader.parse(until)
        self.at = reader.at
        return reader.found

    def _backticks(self) -> list[Pipeline]:
        end = _closing(self.text, self.at, "`")
        reader = _ScriptParser(self.text[self.at : end].replace("\\`", "`"), self.shared, self.depth + 1)
        reader.parse("")
        self.at = end + 1
        return reader.found


def _closing(text: str, at: int, quote: str = "'") -> int:
    while at < len(text) and text[at] != quote:
        at += 2 if text[at] == "\\" else 1
    return min(at, len(text))


def _unescaped(found: re.Match[str]) -> str:
    for digits, base in ((found[1], 16), (found[2], 16), (found[3], 8)):
        if digits:
            return chr(int(digits, base))
    return _LETTERS.get(found[4], found[4])


def _braces(text: str) -> list[str]:
    """Expand `a{b,c}` to ab and ac, up to a sensible number of words."""
    words = [text]
    if "{" not in text or len(text) > _LONGEST_BRACES:
        return words
    place = 0
    while place < len(words) and len(words) <= _MOST_BRACES:
        found = None if words[place].startswith("${") else _BRACES.fullmatch(words[place])
        if found is None:
            place += 1
        else:
            words[place : place + 1] = [f"{found[1]}{part}{found[3]}" for part in found[2].split(",")]
    return words
