"""A sentence as it is compared: the words that say something, and what stands in the place of slots."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache

import msgspec

from doorward.agents.house.entities import Compare, Comparison, Entity, Token, stem
from doorward.agents.house.entities.entity import EntityKind
from doorward.agents.house.phrasing.book import words
from doorward.agents.house.said import Said

_ID = re.compile(r"[a-z]{1,12}-\d[\w-]*", re.IGNORECASE)
_COMMAND = re.compile(r"[a-z][a-z_]*/[a-z][a-z_]*")
_LITERAL = ("path", "glob", "kind", "span", "age", "size")
"""What a reading finds that stands for itself, wherever in a sentence it is."""
_UNITS: Mapping[str, EntityKind] = {"seconds": "age", "bytes": "size"}
_NAMING = ("called", "named", "titled")
_PLACES = {".": "workspace", "~": "home"}
_UNCHANGED = re.compile(r"^not changed for ", re.IGNORECASE)
_FOR = re.compile(r"^(?:for|from|on) ", re.IGNORECASE)
_ENDING = re.compile(r"\.[a-z][a-z0-9]{0,9}", re.IGNORECASE)
_MARKS = {":": ":", "->": "->", "=>": "->", "=": "->"}
"""Marks that tell the role of what stands behind them."""
_NEGATIVE = re.compile(r"n't$|^(?:dont|doesnt|didnt|isnt|arent|wasnt|hasnt|havent)$")
_HANGING = re.compile(r"'(?:s|re|ve|d|ll|m)?$")
_NOT = "not"
"""What a `note` is no form of, though they have a stem in common."""
_COUNTED = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve", "twenty", "thirty")


EACH = "each"
"""What stands before the name of what something is told apart by: `in each category`, `per category`."""
_EACH = ("each", "every", "per")
_SHORT = 3
LIGHT = "light"
"""The kind of a small word that tells a change from something else."""


class Item(msgspec.Struct, frozen=True):
    """A word that says something, or a find that fills a slot."""

    kind: str
    """`word`, or what was found: `path`, `span`, `number`, `id` and so on."""
    text: str
    """As it was written."""
    keys: frozenset[str] = frozenset()
    """What it is compared by: its stem, and the rows of words that mean the same."""
    link: str = ""
    """The word right before it that tells its role, such as `to`."""
    start: int = 0
    end: int = 0


@cache
def small() -> frozenset[str]:
    return frozenset(words().small.split())


@cache
def light() -> frozenset[str]:
    return frozenset(words().light.split())


@cache
def kinds() -> frozenset[str]:
    return frozenset(words().kinds.split())


@cache
def folder() -> frozenset[str]:
    return keys_of("folder")


@cache
def lately() -> frozenset[str]:
    return frozenset(words().lately.split())


@cache
def verbs() -> frozenset[str]:
    return frozenset(words().verbs.split())


@cache
def records() -> frozenset[str]:
    return frozenset(words().records.split())


@cache
def folders() -> frozenset[str]:
    return frozenset(words().folders.split())


@cache
def no_records() -> frozenset[str]:
    return frozenset(words().no_records.split())


@cache
def links() -> frozenset[str]:
    return frozenset(words().links.split())


@cache
def sharp() -> frozenset[str]:
    return frozenset(key for one in words().sharp.split() for key in keys_of(one))


@cache
def _rows() -> tuple[dict[str, frozenset[str]], dict[str, list[tuple[tuple[str, ...], str]]]]:
    """The rows in which a single word stands, and the turns of several words by the first of them."""
    single: dict[str, set[str]] = {}
    several: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for number, row in enumerate(words().same):
        for one in row.split("|"):
            parts = tuple(one.split())
            if len(parts) == 1:
                single.setdefault(parts[0], set()).add(f"={number}")
            else:
                several.setdefault(parts[0], []).append((parts, f"={number}"))
    for many in several.values():
        many.sort(key=lambda one: -len(one[0]))
    return {word: frozenset(rows) for word, rows in single.items()}, several


def keys_of(word: str) -> frozenset[str]:
    """What a word is compared by."""
    single, _ = _rows()
    root = stem(word)
    return single.get(word, frozenset()) | {word if root == _NOT else root}


def of_said(one: Said, commands: Mapping[str, object]) -> tuple[Item, ...]:
    """The items of a request."""
    taken: list[Entity] = []
    for entity in one.reading.found:
        unit = _UNITS.get(entity.value.unit) if isinstance(entity.value, Comparison) else None
        if entity.kind in _LITERAL and not (entity.kind == "size" and not any(map(str.isdigit, entity.words))):
            taken.append(entity)
        elif unit is not None:
            taken.append(msgspec.structs.replace(entity, kind=unit))
    return _items(one.reading.tokens, taken, commands)


def of_tokens(tokens: Iterable[Token]) -> tuple[Item, ...]:
    """The items of a piece of an example, in which slots are written as such."""
    return _items(tuple(tokens), (), {})


def _items(tokens: tuple[Token, ...], taken: Iterable[Entity], commands: Mapping[str, object]) -> tuple[Item, ...]:
    at_start = {one.start: one for one in taken}
    found: list[Item] = []
    link, number = "", 0
    while number < len(tokens):
        token = tokens[number]
        entity = at_start.get(token.start)
        if entity is not None:
            while number < len(tokens) and tokens[number].end <= entity.end:
                number += 1
            link = token.lower if token.lower in _NAMING else link
            found.append(_literal(entity, link, commands))
            link = ""
            continue
        several = _several(tokens, number)
        if several is not None:
            many, row = several
            last = tokens[number + many - 1]
            text = " ".join(one.lower for one in tokens[number : number + many])
            found.append(Item("word", text, frozenset((row,)), link, token.start, last.end))
            number, link = number + many, ""
            continue
        number += 1
        kind = _kind(token)
        if kind != "word":
            if kind:
                found.append(_find(kind, token.text, link, token.start, token.end, commands))
            link = _MARKS.get(token.text, "")
            continue
        word = _plain(token)
        if word in links():
            link = word
        if word in _NAMING and _names_a_find(tokens, number, at_start):
            continue
        if word in kinds():
            found.append(Item("kind", f"{word} files", frozenset(), link, token.start, token.end))
            link = ""
            number += number < len(tokens) and tokens[number].lower in ("file", "files")
        elif word in light():
            found.append(Item(LIGHT, word, frozenset(), link, token.start, token.end))
        elif word and word not in small():
            found.append(Item("word", token.text[: len(word)], keys_of(word), link, token.start, token.end))
            goes_on = link == EACH and number < len(tokens) and _plain(tokens[number]) not in small()
            link = word if word in _NAMING else EACH if word in _EACH or goes_on else ""
    return tuple(found)


def _names_a_find(tokens: tuple[Token, ...], number: int, at_start: Mapping[int, Entity]) -> bool:
    """Whether a word such as `called` only leads to what stands behind it."""
    behind = tokens[number] if number < len(tokens) else None
    return behind is not None and (behind.start in at_start or behind.shape not in ("word", "mark"))


def _literal(entity: Entity, link: str, commands: Mapping[str, object]) -> Item:
    """What a reading found, as it is put into a slot. The workspace and the home folder are no paths but words."""
    place = _PLACES.get(entity.value) if entity.kind == "path" and isinstance(entity.value, str) else None
    if place is not None:
        return Item("word", place, keys_of(place), link, entity.start, entity.end)
    text = entity.value if entity.kind == "path" and isinstance(entity.value, str) else entity.words
    if entity.kind == "span":
        text = _FOR.sub("", text)
    if entity.kind == "age" and isinstance(entity.value, Compare) and _UNCHANGED.match(entity.value.says):
        text = _UNCHANGED.sub("older than ", entity.value.says)
    return _find(entity.kind, text, link, entity.start, entity.end, commands)


def _several(tokens: tuple[Token, ...], at: int) -> tuple[int, str] | None:
    """A turn of several words that begins here, with how many they are."""
    if tokens[at].shape != "word" or (tokens[at].text.isupper() and len(tokens[at].text) > _SHORT):
        return None  # what is written large is meant just so
    for parts, row in _rows()[1].get(_plain(tokens[at]), ()):
        there = tokens[at : at + len(parts)]
        if len(there) == len(parts) and all(_plain(one) == part for one, part in zip(there, parts, strict=True)):
            return len(parts), row
    return None


def _kind(token: Token) -> str:
    if token.shape == "word":
        return "id" if _ID.fullmatch(token.text) else "number" if token.lower in _COUNTED else "word"
    return "" if token.shape == "mark" else token.shape


def _plain(token: Token) -> str:
    """A word without what hangs on to it; one that only denies is `not`."""
    word = token.lower.replace("’", "'")
    if _NEGATIVE.search(word):
        return _NOT
    return _HANGING.sub("", word)


def _find(kind: str, text: str, link: str, start: int, end: int, commands: Mapping[str, object]) -> Item:
    if kind == "path" and _ENDING.fullmatch(text):
        return Item("kind", f"{text.lower()} files", frozenset(), link, start, end)
    if kind == "path" and (text in commands or (_COMMAND.fullmatch(text) and _is_area(text, commands))):
        kind = "command"
    return Item(kind, text, frozenset(), link, start, end)


def _is_area(text: str, commands: Mapping[str, object]) -> bool:
    area = text.partition("/")[0]
    return any(one.partition("/")[0] == area for one in commands) and area in ("data", "file", "room", "user", "vfs")
