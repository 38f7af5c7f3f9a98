"""What of a request is address and courtesy: everything before and behind what is wanted."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache, lru_cache

from doorward.agents.house.entities.knowledge import vocabulary

_BETWEEN = r"[,:!.\s…-]*"
_ROUNDS = 12
_END = 60
"""How much of the end is looked at for courtesy."""


@cache
def _front() -> re.Pattern[str]:
    words = vocabulary()
    return re.compile(rf"(?:{_any(words.courtesy)})(?:{_BETWEEN}|,\s*)(?=\S)", re.IGNORECASE)


@cache
def _greeting() -> re.Pattern[str]:
    return re.compile(rf"(?:{_any(vocabulary().greetings)})(?P<mark>[,:!.\s…-]+)(?=\S)", re.IGNORECASE)


@cache
def _to_know() -> re.Pattern[str]:
    words = vocabulary()
    asked = rf"(?:{_any(words.asks_to_know)})[,:\s]+"
    return re.compile(rf"{asked}(?=(?:{_any(words.wonders)})\b)", re.IGNORECASE)


@cache
def _may_i() -> re.Pattern[str]:
    words = vocabulary()
    return re.compile(rf"(?:{_any(words.may_i)})\s+(?=(?:{_any(words.looking)})\b)", re.IGNORECASE)


@cache
def _behind() -> re.Pattern[str]:
    words = vocabulary()
    phrases = rf"(?<![\w'’-])(?:{_any(words.afterwards)})|,\s?(?:{_any(words.after_comma)})"
    return re.compile(rf"(?:{phrases})\s?(?P<marks>[?.! ]{{0,5}})$", re.IGNORECASE)


@lru_cache(maxsize=256)
def _address(names: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """An address at the beginning, at the end, and anywhere with an @ before it."""
    known = _any(names)
    return (
        re.compile(rf"@?(?:{known})(?![\w.-]*\w)(?P<marks>[,:!.\s]*)", re.IGNORECASE),
        re.compile(rf"(?:,\s?@?|\s@)(?:{known})\s?(?P<marks>[.!? ]{{0,5}})$", re.IGNORECASE),
        re.compile(rf"(?<![\w@.-])@(?:{known})(?![\w-])", re.IGNORECASE),
    )


def _any(phrases: Collection[str]) -> str:
    """Any of these phrases, with either apostrophe, and whole words only."""
    parts = sorted(phrases, key=len, reverse=True)
    written = "|".join(re.escape(one).replace("'", "['’]").replace(r"\ ", r"\s+") for one in parts)
    return rf"(?:{written})(?!\w)"


def plain(text: str, names: tuple[str, ...] = ()) -> str:
    """What is asked, without the name of who is asked and without courtesy.

    A question mark goes as well where courtesy made a question of a request, as in `can you … ?`. A message that is
    nothing but courtesy stays as it is.
    """
    whole = text = " ".join(text.split()) if "\n" not in text.strip() else text.strip()
    known = tuple(sorted({*names, *vocabulary().names}))
    front, end, mentioned = _address(known)
    asked = False
    for _ in range(_ROUNDS):
        rest, question = _less(text, front)
        if rest == text:
            break
        asked, text = asked or question, rest
    text = mentioned.sub("", text)
    text = _cut_end(text, end)[0]
    for _ in range(_ROUNDS):
        rest, said = _cut_end(text, _behind())
        if not said or not rest:
            break
        asked = asked or said.strip(" ,.!?;-").lower() in ("would you", "will you", "could you", "can you")
        text = rest
    text = text.rstrip("? ") if asked else text.strip()
    return text or whole


def _cut_end(text: str, pattern: re.Pattern[str]) -> tuple[str, str]:
    """The text without what a pattern finds at its end, and what that was. A question mark stays."""
    found = pattern.search(text, max(0, len(text) - _END))
    if found is None or not text[: found.start()].strip():
        return text, ""
    rest = text[: found.start()].rstrip(" ,;-")
    return rest + ("?" if "?" in found["marks"] else ""), found[0]


def _less(text: str, front: re.Pattern[str]) -> tuple[str, bool]:
    """The text without one more address or courtesy at its beginning, and whether that made a question of it."""
    named = front.match(text)
    if named is not None and named.end() < len(text):
        rest = text[named.end() :]
        if named["marks"].strip() or text.startswith("@") or _begins_wish(rest):
            return rest, False
    greeted = _greeting().match(text)
    if greeted is not None and (greeted["mark"].strip() or _soft(greeted[0])) and not text.lower().startswith("so far"):
        return text[greeted.end() :], False
    known, polite = _to_know().match(text), _front().match(text)
    if known is not None and (polite is None or polite.end() <= known.end()):
        rest = text[known.end() :]
        for word in ("if ", "whether "):
            if rest.lower().startswith(word):
                return rest[len(word) :], True
        return rest, " you" in known[0].lower()
    may = _may_i().match(text)
    if may is not None:
        return text[may.end() :], True
    if polite is not None:
        return text[polite.end() :], any(one in f" {polite[0].lower()}" for one in (" you", " possible", " u "))
    return text, False


def _soft(greeting: str) -> bool:
    """Greetings that need no comma behind them."""
    return greeting.strip(" ,:!.-").lower() in vocabulary().soft_greetings


def _begins_wish(rest: str) -> bool:
    """Whether a name without a comma behind it is an address: a verb or a question follows."""
    words = vocabulary()
    first = re.match(r"[\w'’]+", rest)
    if first is None:
        return False
    word = first[0].lower().replace("’", "'")
    return word in words.acts or word in words.questions or word in ("please", "don't", "never", "do")
