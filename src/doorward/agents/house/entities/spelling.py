"""Words that are one letter off a known one, read as that one."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache

from doorward.agents.house.entities.knowledge import dates, kinds, units, vocabulary
from doorward.agents.house.entities.stemming import stem

_SHORTEST = 5
_KEPT = 20_000


@lru_cache(maxsize=_KEPT)
def spelled(word: str, known: frozenset[str] = frozenset()) -> str:
    """A word in small letters as it was meant: two letters swapped, one missing, one too many or one wrong.

    Short words are left alone, and so is every word whose stem is known: an ending is no mistake.
    """
    if word in vocabulary().spellings:
        return vocabulary().spellings[word]
    if len(word) < _SHORTEST or not word.isascii() or not word.isalpha():
        return word
    right, right_stems, shorter = _lexicon()
    if word in right or word in known or stem(word) in right_stems:
        return word
    if known and stem(word) in _stems(known):
        return word
    best: tuple[int, str] | None = None
    near = {*shorter.get(word, ()), *(one for cut in _cuts(word) for one in shorter.get(cut, ()))}
    near |= _cuts(word) & right
    if known:
        more = _shorter(known)
        near |= {*more.get(word, ()), *(one for cut in _cuts(word) for one in more.get(cut, ()))} | (
            _cuts(word) & known
        )
    for other in sorted(near):
        rank = _mistake(word, other)
        if rank and (best is None or rank < best[0]):
            best = (rank, other)
    return best[1] if best else word


def _mistake(word: str, other: str) -> int:
    """How likely a mistake made one word of the other: 1 is the likeliest, 0 is none that is corrected."""
    if abs(len(other) - len(word)) > 1:
        return 0
    front = 0
    while front < min(len(word), len(other)) and word[front] == other[front]:
        front += 1
    a, b = word[front:], other[front:]
    if len(a) == len(b) >= 2 and a[:2] == b[1::-1] and a[2:] == b[2:]:
        return 1
    if not front or len(other) < _SHORTEST - 1:
        return 0
    if len(b) == len(a) + 1 and b[1:] == a:
        return 2
    if len(a) == len(b) + 1 and a[1:] == b:
        return 3 if len(other) >= _SHORTEST or a[0] == word[front - 1] else 0
    if len(other) < _SHORTEST:
        return 0
    return 4 if a and len(a) == len(b) and a[1:] == b[1:] else 0


def _cuts(word: str) -> set[str]:
    """The word without each of its letters in turn."""
    return {word[:k] + word[k + 1 :] for k in range(len(word))}


@cache
def _lexicon() -> tuple[frozenset[str], frozenset[str], dict[str, tuple[str, ...]]]:
    """All words that are right, their stems, and from every word without one of its letters to the whole word."""
    words, when, sizes, files = vocabulary(), dates(), units(), kinds()
    phrases: list[str] = []
    for many in (
        words.greetings, words.courtesy, words.afterwards, words.asks_to_know, words.may_i, words.small, words.tens,
        words.scales, words.lots, words.ordinals, words.introducers, words.group, words.order, words.descending,
        words.ascending, words.superlatives, words.measures_words(), words.compare_words(), words.acts, words.known,
        words.field_stops, words.named, words.order_fields, words.whole_orders, words.done_by, words.without,
        when.months, when.weekdays, when.units, when.days, when.periods, when.vague, when.parts, when.clocks,
        when.never_touched, when.since, when.until, when.within, when.last, when.next,
        sizes.sizes, sizes.empty, sizes.about_files, sizes.bigger, sizes.money,
        files.files, files.folder_words, files.home, files.here, *(kind.words for kind in files.kinds),
    ):  # fmt: skip
        phrases.extend(many)
    targets = frozenset(one for phrase in phrases for one in phrase.split() if one.isalpha() and one.isascii())
    right = targets | frozenset(words.apart) | frozenset(words.not_values) | frozenset(words.english.split())
    return right, _stems(right), _shorter(targets)


def _stems(words: Iterable[str]) -> frozenset[str]:
    return frozenset(stem(one) for one in words)


@lru_cache(maxsize=64)
def _shorter(words: frozenset[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for word in words:
        if len(word) >= _SHORTEST:
            for cut in _cuts(word):
                found.setdefault(cut, []).append(word)
    return {cut: tuple(many) for cut, many in found.items()}
