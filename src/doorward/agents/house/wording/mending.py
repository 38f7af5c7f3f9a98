"""A message with its typing mistakes mended and its short forms written out."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from doorward.agents.house import knowledge as house
from doorward.agents.house.entities.entity import Token
from doorward.agents.house.entities.scanning import scanned
from doorward.agents.house.wording.knowledge import spellings

_LITERAL = frozenset(("word", "text", "string", "phrase", "called", "named", "titled", "saying", "say", "says"))
"""Behind these a word is meant just as it is spelt."""
_VOWELS = frozenset("aeiou")
_ENDINGS = ("s", "es", "ed", "er", "ly", "ing")
_KEYS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_NUMBER_OF = re.compile(r"\b(?:no|nr)\. ?of\b", re.IGNORECASE)
_SHORT = re.compile(r"(?<![\w/])(?:w/o|w/|b4|&)(?=\s)")
_PLUS = re.compile(r" \+ ")


def mended(text: str) -> str:
    """The message as it was meant. Quotations, names of files and names of people stay as they are."""
    known = spellings().abbreviations
    text = _NUMBER_OF.sub("number of", text)
    text = _PLUS.sub(" and ", _SHORT.sub(lambda found: known.get(found[0], found[0]), text))
    tokens = scanned(text)
    made, at = [], 0
    for number, token in enumerate(tokens):
        better = _better(token, number, tokens)
        if better == token.text:
            continue
        made.append(text[at : token.start] + better)
        at = token.end
    return " ".join(("".join(made) + text[at:]).split(" ")) if made else text


def _better(token: Token, number: int, tokens: tuple[Token, ...]) -> str:
    word = token.text.lower()
    if token.shape != "word" or (number and tokens[number - 1].lower in _LITERAL):
        return token.text
    name = token.text[0].isupper() and (number > 0 or token.text.isupper())
    if name and tokens[number - 1].text not in (".", "!", "?"):
        return token.text
    known = spellings()
    if word in known.abbreviations:
        return known.abbreviations[word]
    if word in known.misspellings:
        return known.misspellings[word]
    right = corrected(word, _targets(), _right())
    return right if right != word else token.text


def is_right(word: str) -> bool:
    """Whether a word is one that people write, and no mistake."""
    return any(one in _right() or one in _targets() for one in (word, *_roots(word)))


def _roots(word: str) -> list[str]:
    """A word without the endings that it may have: `listed`, `closes`, `used`, `bigger`."""
    roots = [word.removesuffix(one) for one in _ENDINGS if word.endswith(one)]
    if word.endswith(("ed", "er")):
        roots.append(word[:-1])
    if word.endswith("ing"):
        roots.append(f"{word[:-3]}e")
    return [*roots, *(one[:-1] for one in roots if len(one) > 3 and one[-1] == one[-2])]


def corrected(word: str, targets: frozenset[str], right: frozenset[str] = frozenset()) -> str:
    """The one word that a mistyped one was meant as; itself where there is none, or more than one as likely."""
    if len(word) < 4 or not word.isascii() or not word.isalpha() or word in right or word in targets:
        return word
    if any(root in right or root in targets for root in _roots(word)):
        return word
    ranked: dict[int, list[str]] = {}
    for other in _near(word, targets):
        rank = mistake(word, other)
        if rank and other not in (f"{word}{one}" for one in (*_ENDINGS, "d", "r")):
            ranked.setdefault(rank, []).append(other)
    best = ranked[min(ranked)] if ranked else []
    return best[0] if len(best) == 1 else word


def _near(word: str, targets: frozenset[str]) -> set[str]:
    shorter = _shorter(targets)
    cuts = {word[:at] + word[at + 1 :] for at in range(len(word))}
    return {*shorter.get(word, ()), *(one for cut in cuts for one in shorter.get(cut, ()))} | (cuts & targets)


@lru_cache(maxsize=64)
def _shorter(words: frozenset[str]) -> dict[str, tuple[str, ...]]:
    """From every word without one of its letters to the words it may be."""
    found: dict[str, list[str]] = {}
    for word in words:
        for at in range(len(word)):
            found.setdefault(word[:at] + word[at + 1 :], []).append(word)
    return {cut: tuple(dict.fromkeys(many)) for cut, many in found.items()}


def mistake(word: str, other: str) -> int:
    """How likely a mistake made one word of the other: 1 is the likeliest, 0 is none that is mended."""
    front = 0
    while front < min(len(word), len(other)) and word[front] == other[front]:
        front += 1
    a, b = word[front:], other[front:]
    if len(a) == len(b) >= 2 and a[0] == b[1] and a[1] == b[0] and a[2:] == b[2:]:
        return 1
    missing = bool(front) and len(b) == len(a) + 1 and b[1:] == a
    if missing and (len(word) >= 5 or b[0] in _VOWELS or b[0] == other[front - 1]):
        return 2
    if len(a) == len(b) + 1 and a[1:] == b and front and (len(other) >= 5 or a[0] == word[front - 1]):
        return 3
    if a and len(a) == len(b) and a[1:] == b[1:] and front and len(word) >= 5 and _beside(a[0], b[0]):
        return 4
    return 0


def _beside(one: str, other: str) -> bool:
    """Whether two letters lie beside each other on a keyboard."""
    return any(abs(row.find(one) - row.find(other)) == 1 for row in _KEYS if one in row and other in row)


@cache
def _targets() -> frozenset[str]:
    """The words that a mistake may stand for."""
    known = house.synonyms()
    words = {
        word
        for group in (known.acts, known.things, known.fields)
        for text in group.values()
        for word in re.split(r"[| ]", text)
    }
    words |= {word for one in house.things().collections.values() for word in re.split(r"[| ]", one.words)}
    words |= {word for one in house.things().values for word in re.split(r"[| ]", one.words)}
    words |= set(spellings().common.split())
    return frozenset(one.lower() for one in words if len(one) >= 4 and one.isalpha())


@cache
def _right() -> frozenset[str]:
    """The words that are no mistakes."""
    return frozenset(
        (
            *spellings().kept.split(),
            *spellings().common.split(),
            *house.synonyms().stop.split(),
            *house.synonyms().noise.split(),
        )
    )
