"""English words: stems, plurals, numbers in words, and the words that carry no meaning of their own."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from importlib import resources
from typing import Any, TypeVar

import msgspec

_ENDINGS = ("ing", "ed", "e")
_SHORTEST = 3
_MAX_STEMS = 20_000
_T = TypeVar("_T")
YES = frozenset(("true", "yes", "on", "1", "y"))
NO = frozenset(("false", "no", "off", "0", "n"))


def load(name: str, type: type[_T]) -> _T:
    """Read a data file of this package."""
    text = resources.files(__package__).joinpath("data", name).read_bytes()
    return msgspec.json.decode(text, type=type)


def load_patterns(name: str, section: str = "", **known: str) -> dict[str, Any]:
    """Read the patterns of a data file, in which `@{name}` stands for an earlier one or one of `known`."""
    found = load(name, dict[str, Any])

    def expand(one: Any) -> Any:
        if isinstance(one, list):
            return [expand(each) for each in one]
        return re.sub(r"@\{(\w+)\}", lambda each: known[each[1]], one)

    for key, one in (found[section] if section else found).items():
        known[key] = expand(one)
    return known


class WordLists(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    stop: str
    """Words that carry no meaning of their own."""
    numbers: dict[str, int]
    irregular: dict[str, str]
    """Plurals and past forms, and the word whose stem they share."""
    abbreviations: dict[str, str]
    grammar: str
    """Words that readers look for; slips of the keyboard are corrected to these."""
    people: str
    """Nouns for people."""
    people_fields: str
    """Words of fields that only people have."""
    groups: tuple[str, ...]
    """Groups of words that people use for the same thing."""


@cache
def word_lists() -> WordLists:
    return load("words.json", WordLists)


@cache
def stop_words() -> frozenset[str]:
    return frozenset(word_lists().stop.split())


@cache
def _irregular() -> dict[str, str]:
    return word_lists().irregular


@lru_cache(maxsize=_MAX_STEMS)
def stem(word: str) -> str:
    """Return a word without its ending, so that `decided`, `decides` and `deciding` meet `decide`."""
    word = word.lower().partition("'")[0].partition("’")[0]
    word = _irregular().get(word, word)
    word = _without_plural(word)
    for ending in _ENDINGS:
        least = _SHORTEST + (ending == "e")
        if word.endswith(ending) and len(word) - len(ending) >= least:
            word = word[: -len(ending)]
            doubled = word[-1] == word[-2] and word[-1] not in "ls"
            if ending != "e" and (doubled or (len(word) > _SHORTEST and word.endswith("e"))):
                word = word[:-1]
            break
    return word


def _without_plural(word: str) -> str:
    if word.endswith(("ies", "ied")) and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    plural = word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > _SHORTEST
    return word[:-1] if plural else word


@cache
def synonyms() -> dict[str, frozenset[str]]:
    """By stem, the stems of the words that people use for the same thing, itself included."""
    found: dict[str, set[str]] = {}
    for group in word_lists().groups:
        stems = {stem(one) for one in group.split()}
        for one in stems:
            found.setdefault(one, set()).update(stems)
    return {one: frozenset(stems) for one, stems in found.items()}


def same_words(one: str) -> frozenset[str]:
    """Return the stem and its synonyms."""
    return synonyms().get(one, frozenset((one,)))


def number_word(word: str) -> int | None:
    return word_lists().numbers.get(word)


_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_A-Za-z]+")


def name_words(name: str) -> tuple[str, ...]:
    """Return the words of a field or collection name: `dueOn` and `due_on` are `due on`."""
    return tuple(one.lower() for one in _PARTS.findall(name))


_IRREGULAR_ONE = {"people": "person", "children": "child", "men": "man", "women": "woman", "data": "record"}


def singular(many: str) -> str:
    if many in _IRREGULAR_ONE:
        return _IRREGULAR_ONE[many]
    if many.endswith("ies") and len(many) > 4:
        return f"{many[:-3]}y"
    if many.endswith(("sses", "xes", "ches", "shes")):
        return many[:-2]
    return many[:-1] if many.endswith("s") and not many.endswith(("ss", "us", "is")) else many


def plural(one: str) -> str:
    if singular(one) != one:
        return one
    for many, single in _IRREGULAR_ONE.items():
        if single == one and one != "record":
            return many
    if one.endswith("y") and len(one) > 2 and one[-2] not in "aeiou":
        return f"{one[:-1]}ies"
    return f"{one}es" if one.endswith(("s", "x", "ch", "sh")) else f"{one}s"


def edits(word: str) -> set[str]:
    """Return the word with each letter left out in turn: two words one typing mistake apart share one of these."""
    return {word, *(word[:at] + word[at + 1 :] for at in range(len(word)))}


def is_one_slip_away(word: str, other: str) -> bool:
    """Whether one letter is missing, doubled, wrong or swapped with its neighbour; the first letter must be right."""
    if word == other or not word or not other or word[0] != other[0]:
        return False
    if len(word) == len(other):
        wrong = [at for at in range(len(word)) if word[at] != other[at]]
        if len(wrong) == 1:
            return True
        return (
            len(wrong) == 2
            and wrong[1] == wrong[0] + 1
            and word[wrong[0]] == other[wrong[1]]
            and (word[wrong[1]] == other[wrong[0]])
        )
    short, long = sorted((word, other), key=len)
    return len(long) == len(short) + 1 and any(long[:at] + long[at + 1 :] == short for at in range(len(long)))
