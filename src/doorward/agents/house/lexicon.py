"""The words of a house: its collections, fields and values, and the spelling of requests against them."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import resources
from typing import Any, Literal

import msgspec

from doorward.agents.house.request import Request
from doorward.agents.house.word_claims import file_words
from doorward.agents.house.words import (
    edits,
    is_one_slip_away,
    name_words,
    same_words,
    stem,
    synonyms,
    word_lists,
)
from doorward.store.collection_profiles import CollectionProfile, FieldProfile

_WEAK = frozenset(
    ("of", "on", "at", "by", "is", "id", "in", "date", "the", "was", "has", "no", "ref", "key", "to", "a")
)
"""Words of field names that people leave out."""
_GENERIC = frozenset(("number", "type", "count", "name", "code", "address"))
"""Words that do not name a field alone when it has other words."""
_GENERIC_ENDS = ("number", "address", "type", "count", "mark", "date")
_BEFORE_VERB = frozenset(("please", "pls", "you", "to", "and", "just", "now", "can", "could", "then", ","))
"""Words behind which `show` is no noun."""
_STATES = frozenset(("on", "in", "at", "off", "out"))
"""Words that a state such as `on_leave` begins with, and that must be said: `leave` alone is a verb."""
_WORDS = re.compile(r"\w+(?:[-'’.]\w+)*")
_PERSON = re.compile(r"[^\W\d_a-z]\w+(?: [^\W\d_a-z][\w.'-]+)+")
_PART = 0.6
"""The weight of a part of a name."""
_SHORTEST_SLIP = 4
_MAX_LEXICONS = 8


class Meaning(msgspec.Struct, frozen=True):
    """One thing that a phrase can stand for."""

    kind: Literal["collection", "field", "value"]
    collection: str
    field: str = ""
    value: Any = None
    weight: float = 1.0
    """1 for its own words, less for a synonym or for a part of a name."""


class Match(msgspec.Struct, frozen=True):
    """A phrase of a request and one of its meanings."""

    first: int
    behind: int
    meaning: Meaning

    @property
    def places(self) -> frozenset[int]:
        return frozenset(range(self.first, self.behind))


class Lexicon:
    def __init__(self, data: tuple[CollectionProfile, ...]) -> None:
        self.collections = {one.name: one for one in data}
        self._phrases: dict[str, list[tuple[tuple[str, ...], Meaning]]] = {}
        self._nouns: dict[str, set[str]] = {}
        self._words: set[str] = set()
        for one in self.collections.values():
            self._add_collection(one)
            for field in one.fields:
                self._add_field(one, field)
        self._slips: dict[str, list[str]] = {}
        for word in self._words:
            for edit in edits(word):
                self._slips.setdefault(edit, []).append(word)

    def matches(self, request: Request) -> list[Match]:
        """Return every phrase of the request that names a collection, a field or a value."""
        found: list[Match] = []
        stems = request.stems
        for at, one in enumerate(stems):
            for phrase, meaning in self._phrases.get(one, ()):
                behind = at + len(phrase)
                if stems[at:behind] == phrase and not self._says_too_little(request, at, behind, meaning):
                    found.append(Match(at, behind, meaning))
            if request.tokens[at].kind == "quoted":
                found += (Match(at, at + 1, meaning) for meaning in self._values_called(request.tokens[at].text))
        return found

    def correct(self, request: Request, names: frozenset[str] = frozenset()) -> Request:
        """Return the request with slips of the keyboard corrected, where only one known word can be meant.

        `names` of files, commands and people are known words, too.
        """
        replacements: dict[int, str] = {}
        for place, token in enumerate(request.tokens):
            word = token.lower
            if (
                token.kind != "word"
                or len(word) < _SHORTEST_SLIP
                or not word.isalpha()
                or word in names
                or self._knows(word, token.stem)
            ):
                continue
            near = {
                other
                for edit in edits(word)
                for other in (*self._slips.get(edit, ()), *_grammar_slips().get(edit, ()))
                if is_one_slip_away(word, other)
            }
            own = near & self._words
            if not own and len(word) > _SHORTEST_SLIP:
                own = near | {one for one in names if len(one) > _SHORTEST_SLIP and is_one_slip_away(word, one)}
            if len({stem(one) for one in own}) == 1:
                replacements[place] = min(own)
        return request.corrected(replacements)

    def _knows(self, word: str, word_stem: str) -> bool:
        return word in self._words or word in _vocabulary() or word in common_words() or word_stem in _known_stems()

    def _values_called(self, text: str) -> Iterator[Meaning]:
        wanted = tuple(stem(word) for word in _WORDS.findall(text.lower()))
        for phrase, meaning in self._phrases.get(wanted[0], ()) if wanted else ():
            if phrase == wanted and meaning.kind == "value":
                yield meaning

    def _add(self, words: Iterable[str], meaning: Meaning) -> None:
        phrase = tuple(stem(word) for word in words)
        if phrase and (phrase, meaning) not in (known := self._phrases.setdefault(phrase[0], [])):
            known.append((phrase, meaning))

    def _learn(self, words: Iterable[str]) -> None:
        self._words.update(word for word in words if len(word) >= _SHORTEST_SLIP and word.isalpha())

    def _add_collection(self, one: CollectionProfile) -> None:
        words = name_words(one.name.rpartition(".")[2])
        self._learn(words)
        self._add(words, Meaning("collection", one.name))
        same = same_words(stem(words[-1])) if words else ()
        self._nouns[one.name] = {*words, *(word for word in _group_words() if stem(word) in same)}
        for other in same_words(stem(words[-1])) if words else ():
            self._add((*words[:-1], other), Meaning("collection", one.name, weight=0.8))
            if len(words) > 1:
                self._add((other,), Meaning("collection", one.name, weight=0.7))

    def _add_field(self, one: CollectionProfile, field: FieldProfile) -> None:
        words = name_words(field.name)
        self._learn(words)
        repeats = len(field.values) < 0.6 * (one.count - field.missing)
        ends = () if field.complete and repeats and field.kind == "text" else _GENERIC_ENDS
        for phrase, weight in _field_phrases(words, ends):
            self._add(phrase, Meaning("field", one.name, field.name, weight=weight))
            if field.links in self.collections and len(phrase) == 1 and weight > 0.8:
                self._add(phrase, Meaning("collection", field.links, weight=0.7 * weight))
        if field.kind == "boolean" or field.dates:
            return
        for value in field.values:
            if isinstance(value, str):
                self._add_value(one, field, value)

    def _add_value(self, one: CollectionProfile, field: FieldProfile, value: str) -> None:
        words = [word.lower() for word in _WORDS.findall(value)]
        if not words:
            return
        self._learn(words)
        self._add(words, Meaning("value", one.name, field.name, value))
        if len(words) == 1 and "_" not in value and "-" in value:
            self._add(value.lower().split("-"), Meaning("value", one.name, field.name, value, 0.9))
        if len(words) > 1 and (_PERSON.fullmatch(value) or field.name == one.label):
            for word in words:
                if len(word) > 2 and word not in common_words() and stem(word) not in _known_stems():
                    self._add((word,), Meaning("value", one.name, field.name, value, _PART))

    def profile(self, collection: str) -> CollectionProfile:
        return self.collections[collection]

    def field(self, collection: str, name: str) -> FieldProfile | None:
        profile = self.collections.get(collection)
        return next((one for one in profile.fields if one.name == name), None) if profile is not None else None

    def _says_too_little(self, request: Request, at: int, behind: int, meaning: Meaning) -> bool:
        """Whether a word says too little: a stop word or verb taken for a name, `number` behind an unknown word."""
        token = request.tokens[at]
        before = request.tokens[at - 1] if at else None
        if behind > at + 1:
            return False
        is_part = meaning.kind == "value" and meaning.weight < _PART + 0.01
        if is_part and len(token.lower) < _SHORTEST_SLIP and not (at and token.text[:1].isupper()):
            return True
        if token.lower.endswith("ing") and meaning.kind != "field":
            known = self._nouns[meaning.collection] if meaning.kind == "collection" else str(meaning.value).lower()
            return token.lower not in known and f"{token.lower}s" not in known
        if meaning.kind == "field":
            words = name_words(meaning.field)
            linking = self.field(meaning.collection, meaning.field)
            if token.lower.endswith("ing") and linking and linking.links and token.lower not in words:
                return True
            if len(words) > 1 and words[0] in _STATES and token.lower not in _STATES:
                return words[0] not in (one.lower for one in request.tokens[max(0, at - 2) : at])
        if token.lower in _GENERIC and meaning.kind == "field" and before is not None:
            return before.kind == "word" and not before.is_stop
        if token.lower == "show" and meaning.kind == "collection" and before is not None:
            return before.lower in _BEFORE_VERB
        return token.is_stop and not (token.text[:1].isupper() and at > 0 and meaning.kind == "value")

    @property
    def people(self) -> frozenset[str]:
        """The collections whose records are known by names of people."""
        return _collections_of_people(tuple(self.collections.values()))


def _field_phrases(words: tuple[str, ...], ends: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], float]]:
    """The phrases that people use for a field, and how surely each means it."""
    strong = tuple(word for word in words if word not in _WEAK)
    yield strong or words, 1.0
    if not strong:
        return
    heads = [word for word in strong if word not in _GENERIC] or list(strong)
    for head in dict.fromkeys(heads):
        if (head,) != words:
            yield (head,), 0.85
        if head.endswith(("er", "or")) and len(head) > _SHORTEST_SLIP and head[:-2] not in _vocabulary():
            yield (head[:-2],), 0.75  # As in `who directs it`.
        for other in same_words(stem(head)) - {stem(head)}:
            yield (other,), 0.75
            if len(heads) == 1:
                for word in ends:
                    yield (other, word), 0.75
    if len(heads) == 1:
        for word in ends:
            yield (heads[0], word), 0.8


def _collections_of_people(collections: tuple[CollectionProfile, ...]) -> frozenset[str]:
    """Find them by their noun, or by fields that only people have."""
    nouns = {stem(word) for word in word_lists().people.split()}
    fields = {stem(word) for word in word_lists().people_fields.split()}
    found = set()
    for one in collections:
        words = {stem(word) for word in name_words(one.name.rpartition(".")[2])}
        held = {stem(word) for field in one.fields for word in name_words(field.name)}
        if words & nouns or held & fields:
            found.add(one.name)
    return frozenset(found)


@cache
def common_words() -> frozenset[str]:
    """Frequent English words, which are never taken for slips of the keyboard."""
    text = resources.files(__package__).joinpath("data", "common_words.txt").read_text()
    return frozenset(word for line in text.splitlines() if not line.startswith("#") for word in line.split())


@cache
def _group_words() -> frozenset[str]:
    return frozenset(word for group in word_lists().groups for word in group.split())


@cache
def _vocabulary() -> frozenset[str]:
    """The words that the grammar knows, to which slips are corrected."""
    lists = word_lists()
    words = {*lists.stop.split(), *lists.numbers, *lists.irregular, *lists.abbreviations.values()}
    words |= _group_words() | file_words() | set(lists.grammar.split())
    return frozenset(word for word in words if len(word) >= _SHORTEST_SLIP and word.isalpha())


@cache
def _grammar_slips() -> dict[str, list[str]]:
    """By each word with a letter left out, the words of the grammar that it can come from."""
    found: dict[str, list[str]] = {}
    for word in _vocabulary():
        for edit in edits(word):
            found.setdefault(edit, []).append(word)
    return found


@cache
def _known_stems() -> frozenset[str]:
    return frozenset(synonyms()) | frozenset(stem(word) for word in (*_vocabulary(), *common_words()))


_lexicons: OrderedDict[tuple[int, ...], tuple[tuple[CollectionProfile, ...], Lexicon]] = OrderedDict()


def lexicon_of(profiles: tuple[CollectionProfile, ...]) -> Lexicon:
    """Return the lexicon of people's own collections; the last few are kept, because they seldom change.

    Doorward's own collections change with every call. Topics know them.
    """
    data = tuple(one for one in profiles if one.kind != "system")
    key = tuple(map(id, data))  # the profiles are kept below, so that their ids stay theirs
    known = _lexicons.get(key)
    if known is None:
        known = _lexicons[key] = (data, Lexicon(data))
        while len(_lexicons) > _MAX_LEXICONS:
            _lexicons.popitem(last=False)
    return known[1]
