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

LONGEST = 65_536
"""Maximum characters of a line, as in the session language. Longer lines are not analysed."""
_TOKEN = re.compile(
    r"(?P<blank>[^\S\n]+)"
    r"|(?P<operator>\n|\|\||&&|;|&>>?|[0-9]?>>?(?:&[12])?|<<<|<|\||&|\$\(|[()])"
    r"|(?P<string>'[^']*+'?|\"(?:[^\"\\]|\\.)*+\\?\"?)"
    r"|(?P<variable>\$(?:\w++|\{[^}\n]*+\}?|[?#@]))"
    r"|(?P<plain>(?:\\.|\\$|[^\s|&;<>()'\"$\\]|\$)++)",
    re.DOTALL,
)
_BEGINS_A_COMMAND = frozenset({"\n", "||", "&&", ";", "|", "&", "$(", "("})
_GOES_ON = frozenset({"||", "&&", "|"})
"""Operators that need another command after them."""
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_WITHIN = {"'": re.compile(r"[^']*+"), '"': re.compile(r"(?:[^\"\\]|\\.)*+", re.DOTALL)}
"""The inside of a quote, up to its end or the end of the text."""


class Part(NamedTuple):
    kind: PartKind
    start: int
    text: str

    @property
    def end(self) -> int:
        return self.start + len(self.text)


class Word(NamedTuple):
    role: Role
    parts: tuple[Part, ...]
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
        return "".join(_unquoted(part) for part in self.parts)


def parts(text: str, at: int = 0) -> Iterator[Part]:
    """Yield the parts of a text from position `at` on."""
    if len(text) > LONGEST:
        yield Part("plain", at, text[at:])
        return
    while at < len(text):
        if text[at] == "#" and (at == 0 or text[at - 1].isspace()):
            end = text.find("\n", at)
            found = Part("comment", at, text[at : end if end >= 0 else len(text)])
        else:
            match = _TOKEN.match(text, at)
            kind = match.lastgroup if match is not None else "plain"
            found = Part(kind, at, match[0] if match is not None else text[at])  # type: ignore[arg-type]
        yield found
        at = found.end


def words(text: str) -> list[Word]:
    """Return the words of a text, each with its role in its command."""
    found: list[Word] = []
    collected: list[Part] = []
    command, target = "", False
    before: list[str] = []

    def close() -> None:
        nonlocal command, target
        if not collected:
            return
        word = Word(_role(command, collected, target), tuple(collected), command, tuple(before))
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
            target = part.text not in _BEGINS_A_COMMAND and not part.text.endswith(("&1", "&2", ")"))
            if part.text in _BEGINS_A_COMMAND:
                command, before = "", []
    close()
    return found


def unfinished(text: str) -> bool:
    """Whether a line needs a continuation: a quote or bracket is open, or it ends with an operator."""
    return len(text) <= LONGEST and Gathered().goes_on(text)


class Gathered:
    """A command that grows by continuation lines. Each line is scanned only once."""

    def __init__(self) -> None:
        self.text = ""
        self._quote = ""
        """The quote that is open at the end, if any."""
        self._kept = ""
        """A trailing backslash, which escapes the next character."""
        self._depth = 0
        self._seen = self._stops = False

    @property
    def too_long(self) -> bool:
        return len(self.text) > LONGEST

    def goes_on(self, line: str) -> bool:
        """Append a line; returns whether another one is needed."""
        new = f"\n{line}" if self.text else line
        self.text += new
        text, self._kept = self._kept + new, ""
        at = self._within(text) if self._quote else 0
        if self._quote:
            return True
        for part in parts(text, at):
            self._take(part, last=part.end == len(text))
        return self._seen and (bool(self._quote or self._kept) or self._depth > 0 or self._stops)

    def _within(self, text: str) -> int:
        """Skip the inside of an open quote, and return the position after it."""
        match = _WITHIN[self._quote].match(text)
        end = match.end() if match is not None else 0
        if end < len(text) and text[end] == self._quote:
            self._quote, self._stops = "", False
            return end + 1
        self._kept = text[end:]
        return len(text)

    def _take(self, part: Part, *, last: bool) -> None:
        if part.kind in ("blank", "comment"):
            return
        self._seen = True
        self._stops = part.kind == "operator" and part.text in _GOES_ON
        if part.kind == "operator":
            self._depth += (part.text in ("$(", "(")) - (part.text == ")")
        elif part.kind == "string" and not _closed(part.text):
            self._quote = part.text[0]
            self._kept = "\\" if self._quote == '"' and _odd_backslashes(part.text) else ""
        elif part.kind == "plain" and last and _odd_backslashes(part.text):
            self._kept = "\\"


def quoted(value: str) -> str:
    """Quote a value for the command line."""
    if value and re.fullmatch(r"[\w@%+=:,./~-]+", value, re.ASCII):
        return value
    return "'" + value.replace("'", "'\\''") + "'"


def _role(command: str, collected: list[Part], target: bool) -> Role:
    first = collected[0]
    if target:
        return "target"
    if not command:
        return "assignment" if first.kind == "plain" and _ASSIGNMENT.match(first.text) else "command"
    return "option" if first.kind == "plain" and first.text.startswith("-") else "argument"


def _closed(text: str) -> bool:
    if len(text) < 2 or text[-1] != text[0]:
        return False
    body = text[1:-1]
    return text[0] == "'" or not _odd_backslashes(body)


def _odd_backslashes(text: str) -> bool:
    """Whether the text ends with a backslash that escapes the next character."""
    return (len(text) - len(text.rstrip("\\"))) % 2 == 1


def _unquoted(part: Part) -> str:
    if part.kind == "plain":
        return _ESCAPED.sub(r"\1", part.text)
    if part.kind != "string":
        return part.text
    body = part.text[1:-1] if _closed(part.text) else part.text[1:]
    return body if part.text[0] == "'" else re.sub(r"\\([\"\\$`])", r"\1", body)
