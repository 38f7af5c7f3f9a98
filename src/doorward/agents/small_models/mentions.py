"""Values of records that a request names, such as a person or a city, in the spelling of the records."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import msgspec

from doorward.store.collection_profiles import CollectionProfile, FieldProfile

_WORD = re.compile(r"\w+(?:['\u2019-]\w+)*")
_LONGEST_REQUEST = 600
_LEAST_LETTERS = 3
_SIMILAR = 0.84
_MOST_SHARED = 4
"""A word that more labels share, such as `The`, names none of them."""
_MOST_VALUES = 4
_MOST_MENTIONS = 8
_PLAIN = re.compile(r"[\w \t.,'&()/+@:#!?\u2019-]{1,60}")
"""Values that are shown. Anything that looks like markup or a call is left out."""


_Finder = Callable[[str, FieldProfile, bool], Iterator[tuple[str, list[str]]]]


class Mention(msgspec.Struct, frozen=True):
    """Values of one field that a part of the request can mean; several if it is not clear which."""

    said: str
    collection: str
    field: str
    values: tuple[str, ...]


def is_plain(value: object) -> bool:
    """Whether a value can be shown in instructions as it is."""
    return not isinstance(value, str) or _PLAIN.fullmatch(value) is not None


def request_words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text[:_LONGEST_REQUEST])]


def find_mentions(request: str, data: Sequence[CollectionProfile]) -> list[Mention]:
    """Find the values that a request names: whole, misspelt, or by one word of a label."""
    text = " ".join(request_words(request))
    found = [one for kind in (_find_whole, _find_similar, _find_parts) for one in _find_each(kind, text, data)]
    kept: list[Mention] = []
    for mention in found:
        covered = any(mention.said in one.said and mention.said != one.said for one in kept)
        known = any(one.said == mention.said and one.collection == mention.collection for one in kept)
        if not covered and not known:
            kept.append(mention)
    return kept[:_MOST_MENTIONS]


def _find_each(kind: _Finder, text: str, data: Sequence[CollectionProfile]) -> Iterator[Mention]:
    for profile in data:
        for field in profile.fields:
            is_label = field.name == profile.label and profile.kind != "system"
            if field.kind == "text" and not field.dates and field.name not in (profile.key, "createdBy"):
                for said, values in kind(text, field, is_label and not field.links):
                    if plain := tuple(value for value in values if is_plain(value)):
                        yield Mention(said, profile.name, field.name, plain[:_MOST_VALUES])


def _find_whole(text: str, field: FieldProfile, is_label: bool) -> Iterator[tuple[str, list[str]]]:
    padded = f" {text} "
    for value in field.values:
        spoken = " ".join(request_words(value))
        if len(spoken) >= _LEAST_LETTERS and f" {spoken} " in padded:
            yield spoken, [value]


def _find_similar(text: str, field: FieldProfile, is_label: bool) -> Iterator[tuple[str, list[str]]]:
    """Find labels of several words that the request spells a little differently."""
    words = text.split()
    for value in field.values if is_label else ():
        spoken = " ".join(request_words(value))
        size = spoken.count(" ") + 1
        if size < 2 or f" {spoken} " in f" {text} ":
            continue
        for start in range(len(words) - size + 1):
            said = " ".join(words[start : start + size])
            if said[:1] == spoken[:1] or said[-1:] == spoken[-1:]:
                matcher = difflib.SequenceMatcher(None, said, spoken, autojunk=False)
                if matcher.real_quick_ratio() > _SIMILAR and matcher.ratio() > _SIMILAR:
                    yield said, [value]


def _find_parts(text: str, field: FieldProfile, is_label: bool) -> Iterator[tuple[str, list[str]]]:
    """Find labels by one of their words, such as a first name."""
    if not is_label:
        return
    labels = [(value, set(request_words(value))) for value in field.values]
    shared = Counter(word for _, words in labels for word in words)
    for said in dict.fromkeys(text.split()):
        if len(said) >= _LEAST_LETTERS and 0 < shared[said] <= _MOST_SHARED:
            yield said, [value for value, words in labels if said in words]
