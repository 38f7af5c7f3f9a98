"""A text cut into words, numbers, quotations, names of files and marks, from left to right in one go."""

from __future__ import annotations

import re
from typing import Literal

from doorward.agents.house.entities.entity import Token
from doorward.agents.house.entities.knowledge import kinds
from doorward.agents.house.entities.spelling import spelled
from doorward.agents.house.entities.stemming import stem

MOST_TOKENS = 300
_QUOTES = {'"': '"', "`": "`", "“": "”", "„": "“", "‘": "’", "«": "»"}
_CLOSING = re.compile(r"'(?!\w)")
_APOSTROPHES = str.maketrans(dict.fromkeys("’ʼ´`‘′", "'"))
_BLANK = re.compile(r"\s+")
_PART = r"[^\s/\\\"'`“”‘’«»,;:?!()\[\]{}<>|&=*]"
_PATTERNS: tuple[tuple[Literal["word", "number", "path", "glob", "email", "url", "mark"], re.Pattern[str]], ...] = (
    ("url", re.compile(r"(?:https?|ftp|ssh|git|file)://[^\s\"'`<>“”‘’«»]{1,2000}", re.IGNORECASE)),
    ("email", re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")),
    ("glob", re.compile(r"(?=[^\s\"'`,;]{0,200}\*)(?=[^\s\"'`,;]{2})(?:[\w.~/\[\]?*{}-]|,(?=[\w*.]+\})){2,300}")),
    (
        "path",
        re.compile(
            rf"[A-Za-z]:\\[^\s\"'`]{{1,1000}}|(?<!\w)(?:~|\.{{1,2}})?/(?:{_PART}{{1,255}}/?){{0,64}}|(?<!\w)~(?!\w)"
        ),
    ),
    ("path", re.compile(rf"[\w.@%+-]{{1,255}}/(?:{_PART}{{1,255}}/?){{0,64}}")),
    ("number", re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:T[0-9:.]{4,15}Z?)?(?![\w.-]*\w)")),
    ("number", re.compile(r"[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{4}(?!\w)")),
    ("word", re.compile(r"v?[0-9]{1,9}(?:\.[0-9]{1,9}){2,5}(?!\w)")),
    ("number", re.compile(r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?:am|pm)?(?!\w)", re.IGNORECASE)),
    ("path", re.compile(r"(?:\.?[\w@%+-]{1,255}\.){1,16}[A-Za-z_][\w-]{0,30}(?!\w)|\.[A-Za-z][\w-]{1,30}(?!\w)")),
    ("number", re.compile(r"[0-9]{1,3}(?:,[0-9]{3}){1,5}(?:\.[0-9]{1,6})?[A-Za-z%]{0,10}(?!\w)")),
    ("number", re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,6})?(?:[A-Za-z]{1,10}|%)?(?!\w)")),
    ("mark", re.compile(r"[<>!=]=|<>|=>|->")),
    ("word", re.compile(r"\w{1,200}(?:['’][a-zA-Z]{1,10})*(?:-(?=\w)\w{1,200}){0,5}(?:\+\+)?")),
    ("mark", re.compile(r".", re.DOTALL)),
)


def scanned(text: str, known: frozenset[str] = frozenset()) -> tuple[Token, ...]:
    """The tokens of a text, at most so many. `known` are words to spell towards beside those of the house."""
    tokens: list[Token] = []
    last_closing = max((one.start() for one in _CLOSING.finditer(text)), default=-1)
    at = 0
    while at < len(text) and len(tokens) < MOST_TOKENS:
        blank = _BLANK.match(text, at)
        if blank is not None:
            at = blank.end()
            continue
        end = _quotation(text, at, last_closing)
        if end:
            inside = text[at + 1 : end - 1]
            tokens.append(Token(text[at:end], inside.lower(), inside.lower(), at, end, "quoted"))
            at = end
            continue
        token = _plain(text, at, known)
        tokens.append(token)
        at = token.end
    return tuple(tokens)


def _quotation(text: str, at: int, last_closing: int) -> int:
    """Where the quotation that begins here ends, behind its mark; 0 if none begins here."""
    mark = text[at]
    if mark == "'":
        if at >= last_closing or (at and (text[at - 1].isalnum() or text[at - 1] == "_")):
            return 0
        found = _CLOSING.search(text, at + 1)
        return found.end() if found is not None and found.start() > at + 1 else 0
    closing = _QUOTES.get(mark)
    if closing is None:
        return 0
    end = text.find(closing, at + 1)
    return end + 1 if end > at + 1 else 0


def _plain(text: str, at: int, known: frozenset[str]) -> Token:
    for shape, pattern in _PATTERNS:
        found = pattern.match(text, at)
        if found is None or found.end() == at:
            continue
        word = found[0]
        if shape in ("path", "url", "glob"):
            word = _without_end_marks(word)
        if shape == "path" and not _is_path(word):
            continue
        if not word:
            continue
        return _token(word, at, shape, known)
    return _token(text[at], at, "mark", known)


def _token(
    word: str,
    at: int,
    shape: Literal["word", "number", "path", "glob", "email", "url", "mark"],
    known: frozenset[str],
) -> Token:
    lower = word.lower().translate(_APOSTROPHES)
    if shape == "word":
        lower = spelled(lower, known)
    return Token(word, lower, stem(lower) if shape == "word" else lower, at, at + len(word), shape)


def _without_end_marks(word: str) -> str:
    shorter = word.rstrip(".,;:!?)")
    return word if word in (".", "..", "./", "../") or not shorter else shorter


def _is_path(word: str) -> bool:
    lower = word.lower()
    if lower in kinds().not_paths or lower.rstrip(".") in kinds().not_paths:
        return False
    head, _, tail = lower.partition("/")
    return not (head.isdigit() and tail.replace("/", "").isdigit())
