"""Tolerant lexer for a shell line while it is typed: its words, and the role of each.

The session language parses a line once it is entered. This lexer serves highlighting and completion, so it never
fails: text that makes no sense yet is an ordinary word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

PartKind = Literal["plain", "string", "variable", "operator", "comment", "blank"]
Role = Literal["command", "option", "argument", "assignment", "target"]

MAX_LINE_CHARS = 65_536
"""Maximum characters of a line, as in the session language. Longer lines are not analysed."""
_TOKEN = re.compile(
    r"(?P<blank>[^\S\n]+)"
    r"|(?P<operator>\n|\|\||&&|;|&>>?|[0-9]?>>?(?:&[12])?|<<<|<|\||&|\$\(|[()])"
    r"|(?P<string>'[^']*+'?|\"(?:[^\"\\]|\\.)*+\\?\"?)"
    r"|(?P<variable>\$(?:\w++|\{[^}\n]*+\}?|[?#@]))"
    r"|(?P<plain>(?:\\.|\\$|[^\s|&;<>()'\"$\\]|\$)++)",
    re.DOTALL,
)
_COMMAND_SEPARATORS = frozenset({"\n", "||", "&&", ";", "|", "&", "$(", "("})
_OPEN_OPERATORS = frozenset({"||", "&&", "|"})
"""Operators that need another command after them."""
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_QUOTE_BODY = {"'": re.compile(r"[^']*+"), '"': re.compile(r"(?:[^\"\\]|\\.)*+", re.DOTALL)}
"""The inside of a quote, up to its end or the end of the text."""


class LinePart(NamedTuple):
    kind: PartKind
    start: int
    text: str

    @property
    def end(self) -> int:
        return self.start + len(self.text)


class LineWord(NamedTuple):
    role: Role
    parts: tuple[LinePart, ...]
    command: str
    """The command it belongs to; empty for the command itself."""
    before: tuple[str, ...] = ()
    """The words between the command and this one."""

    @property
    def start(self) -> int:
        return self.parts[0].start

    @property
    def end(self) -> int:
        return self.parts[-1].end

    @property
    def value(self) -> str:
        """The word without its quotes; variables are not expanded."""
        return "".join(_unquote(part) for part in self.parts)


def parts(text: str, at: int = 0) -> Iterator[LinePart]:
    """Yield the parts of a text from position `at` on."""
    if len(text) > MAX_LINE_CHARS:
        yield LinePart("plain", at, text[at:])
        return
    while at < len(text):
        if text[at] == "#" and (at == 0 or text[at - 1].isspace()):
            end = text.find("\n", at)
            found = LinePart("comment", at, text[at : end if end >= 0 else len(text)])
        else:
            match = _TOKEN.match(text, at)
            kind = match.lastgroup if match is not None else "plain"
            found = LinePart(kind, at, match[0] if match is not None else text[at])  # type: ignore[arg-type]
        yield found
        at = found.end


def words(text: str) -> list[LineWord]:
    """Return the words of a text, each with its role in its command."""
    found: list[LineWord] = []
    collected: list[LinePart] = []
    command, target = "", False
    before: list[str] = []

    def close() -> None:
        nonlocal command, target
        if not collected:
            return
        word = LineWord(_find_role(command, collected, target), tuple(collected), command, tuple(before))
        found.append(word)
        if word.role == "command":
            command = word.value
        elif word.role in ("argument", "option"):
            before.append(word.value)
        target = False
        collected.clear()

    for part in parts(text):
        if part.kind in ("plain", "string", "variable"):
            collected.append(part)
            continue
        close()
        if part.kind == "operator":
            target = part.text not in _COMMAND_SEPARATORS and not part.text.endswith(("&1", "&2", ")"))
            if part.text in _COMMAND_SEPARATORS:
                command, before = "", []
    close()
    return found


def is_incomplete(text: str) -> bool:
    """Whether a line needs a continuation: a quote or bracket is open, or it ends with an operator."""
    return len(text) <= MAX_LINE_CHARS and PendingCommand().append_line(text)


class PendingCommand:
    """A command that grows by continuation lines. Each line is scanned only once."""

    def __init__(self) -> None:
        self.text = ""
        self._quote = ""
        """The quote that is open at the end, if any."""
        self._trailing_backslash = ""
        """A trailing backslash, which escapes the next character."""
        self._depth = 0
        self._has_content = self._ends_with_operator = False

    @property
    def too_long(self) -> bool:
        return len(self.text) > MAX_LINE_CHARS

    def append_line(self, line: str) -> bool:
        """Append a line; returns whether another one is needed."""
        new = f"\n{line}" if self.text else line
        self.text += new
        text, self._trailing_backslash = self._trailing_backslash + new, ""
        at = self._skip_quote(text) if self._quote else 0
        if self._quote:
            return True
        for part in parts(text, at):
            self._add_part(part, last=part.end == len(text))
        return self._has_content and (
            bool(self._quote or self._trailing_backslash) or self._depth > 0 or self._ends_with_operator
        )

    def _skip_quote(self, text: str) -> int:
        """Skip the inside of an open quote, and return the position after it."""
        match = _QUOTE_BODY[self._quote].match(text)
        end = match.end() if match is not None else 0
        if end < len(text) and text[end] == self._quote:
            self._quote, self._ends_with_operator = "", False
            return end + 1
        self._trailing_backslash = text[end:]
        return len(text)

    def _add_part(self, part: LinePart, *, last: bool) -> None:
        if part.kind in ("blank", "comment"):
            return
        self._has_content = True
        self._ends_with_operator = part.kind == "operator" and part.text in _OPEN_OPERATORS
        if part.kind == "operator":
            self._depth += (part.text in ("$(", "(")) - (part.text == ")")
        elif part.kind == "string" and not _is_closed(part.text):
            self._quote = part.text[0]
            self._trailing_backslash = "\\" if self._quote == '"' and _ends_with_escape(part.text) else ""
        elif part.kind == "plain" and last and _ends_with_escape(part.text):
            self._trailing_backslash = "\\"


def quote(value: str) -> str:
    """Quote a value for the command line."""
    if value and re.fullmatch(r"[\w@%+=:,./~-]+", value, re.ASCII):
        return value
    return "'" + value.replace("'", "'\\''") + "'"


def _find_role(command: str, collected: list[LinePart], target: bool) -> Role:
    first = collected[0]
    if target:
        return "target"
    if not command:
        return "assignment" if first.kind == "plain" and _ASSIGNMENT.match(first.text) else "command"
    return "option" if first.kind == "plain" and first.text.startswith("-") else "argument"


def _is_closed(text: str) -> bool:
    if len(text) < 2 or text[-1] != text[0]:
        return False
    body = text[1:-1]
    return text[0] == "'" or not _ends_with_escape(body)


def _ends_with_escape(text: str) -> bool:
    """Whether the text ends with a backslash that escapes the next character."""
    return (len(text) - len(text.rstrip("\\"))) % 2 == 1


def _unquote(part: LinePart) -> str:
    if part.kind == "plain":
        return _ESCAPED.sub(r"\1", part.text)
    if part.kind != "string":
        return part.text
    body = part.text[1:-1] if _is_closed(part.text) else part.text[1:]
    return body if part.text[0] == "'" else re.sub(r"\\([\"\\$`])", r"\1", body)
