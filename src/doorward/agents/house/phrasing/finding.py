"""Which example a request is nearest to, if it is near enough and clear of what means something else.

Every word of the request that says something must be explained: by the example, by another example of the same thing,
or by a slot that it fills. Every word of the example that carries its meaning must be in the request. So nothing that
was said is overlooked, and nothing is added to it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache

import msgspec

from doorward.agents.house.entities import stem
from doorward.agents.house.entities.scanning import scanned
from doorward.agents.house.phrasing.book import Frame, frames
from doorward.agents.house.phrasing.filling import Filled, Slot, filled
from doorward.agents.house.phrasing.items import LIGHT, Item, folder, lately, of_said, of_tokens, records, sharp, verbs
from doorward.agents.house.said import Said

_SLOT = re.compile(r"\{(?:(?P<name>\w+):)?(?P<type>[a-z]+)\}")
_ENDING = re.compile(r"(?:ed|ing|s)$")
_ANY = "'x'"
"""Stands for what fills a slot."""
_OPTIONAL = re.compile(r"\[(?P<part>[^\[\]]*\{(?P<slot>[\w:]+)\}[^\[\]]*)\]")
_NEAR, _CLEAR = 0.74, 0.015
_COVERED = 0.75
_POOLED = 0.75
"""What a word counts that another example of the same thing explains."""
_MOST_POOLED = 1.2
"""How much more such words may weigh than those of the example itself: else it is another thing that is spoken of."""
_ANCHORED = 1.7
"""What the words of an example weigh at least, where others are guessed into its slots: `file` alone tells nothing."""
_GUESSED = 0.7
"""What a word counts that fills a slot because nothing else explains it."""
_LINKED = 0.02
"""What speaks for a slot whose word before it is the same."""
_BY = 0.12
"""What speaks against an example that knows nothing of a `by`, which groups or tells a doer, or that has one more."""
_RECORDS = 0.03
"""What speaks for a word that mostly names records."""
_VAGUE = 0.02
"""What speaks against a slot that any word fills, where another takes it for the name of a room or a person."""


class Found(msgspec.Struct, frozen=True):
    """A request in the canonical wording of what it means."""

    means: str
    score: float
    frame: Frame
    says: str
    """The example that it was nearest to."""


class _Phrasing(msgspec.Struct, frozen=True):
    frame: int
    says: str
    words: tuple[Item, ...]
    numbers: frozenset[str]
    """Numbers that belong to the example itself, such as `these two files`."""
    slots: tuple[Slot, ...]
    weight: float
    needs: frozenset[str]
    """Numbers and small words that must be there: where something is changed, and where there are no others."""
    parts: tuple[tuple[frozenset[str], float], ...]
    """What each word is compared by, and what it weighs."""

    def lacks(self, keys: set[str]) -> float:
        """At least so much of it is not in a request that is compared by these keys."""
        return sum(weight for own, weight in self.parts if own.isdisjoint(keys))


class _Book:
    """All examples, and which of them have a word."""

    def __init__(self, known: Sequence[Frame]) -> None:
        self.frames = known
        self.vocabulary: list[frozenset[str]] = []
        """The keys of all words of a frame, whichever example they stand in."""
        self.spelt: list[frozenset[str]] = []
        """The words of a frame just as they are spelt."""
        self.optional: list[frozenset[str]] = []
        """The types of slots that a frame can do without."""
        parsed: list[tuple[int, str, tuple[Item, ...], tuple[Slot, ...]]] = []
        for number, frame in enumerate(known):
            keys: set[str] = {stem(word) for word in frame.also.split()}
            for says in frame.says:
                items, slots = _parsed(says)
                items = tuple(item for item in items if item.kind == "word")
                if not items and not slots:
                    continue
                parsed.append((number, says, items, slots))
                keys |= {key for item in items for key in item.keys}
            self.vocabulary.append(frozenset(keys))
            own = (item.text.lower() for each, _, items, _ in parsed if each == number for item in items)
            self.spelt.append(frozenset((*own, *frame.also.split())))
            self.optional.append(frozenset(one["slot"].rpartition(":")[2] for one in _OPTIONAL.finditer(frame.means)))
        spread = Counter(key for keys in self.vocabulary for key in keys)
        many = len(known) or 1
        self._weights = {key: math.log(1.5 + many / count) for key, count in spread.items()}
        self.rare = math.log(1.5 + many)
        self.phrasings: list[_Phrasing] = []
        self.having: dict[str, list[int]] = {}
        for number, says, items, slots in parsed:
            place = len(self.phrasings)
            parts = tuple((one.keys, self.weight(one)) for one in items)
            small, numbers = _beside(says, known[number].changes)
            weight = sum(each for _, each in parts)
            self.phrasings.append(_Phrasing(number, says, items, numbers, slots, weight, small | numbers, parts))
            for key in {key for item in items for key in item.keys}:
                self.having.setdefault(key, []).append(place)
        self._wordless = frozenset(place for place, one in enumerate(self.phrasings) if not one.words)

    def weight(self, item: Item) -> float:
        return min((self._weights.get(key, self.rare) for key in item.keys), default=self.rare)

    def belongs(self, item: Item, frame: int) -> bool:
        """Whether a word is one of a frame's. Of a change it must be spelt so, and nothing that was done already."""
        if self.frames[frame].changes:
            return item.text.lower() in self.spelt[frame] and _form(item) != "ed"
        return not item.keys.isdisjoint(self.vocabulary[frame])

    def near(self, items: Sequence[Item]) -> list[_Phrasing]:
        """The examples that share a word with a request, or a slot where they have no words."""
        places = {place for item in items for key in item.keys for place in self.having.get(key, ())}
        return [self.phrasings[one] for one in sorted(places | self._wordless)]


@cache
def book() -> _Book:
    return _Book(frames())


def found(
    one: Said, commands: Mapping[str, object], *, follows: bool = False, but: Callable[[Found], bool] | None = None
) -> Found | None:
    """What a request means by the nearest example; None when none is near enough, or two are that mean another.

    Those are left out of it that `but` is true of.
    """
    ranked = [each for each in every(one, commands, follows=follows) if but is None or not but(each)]
    if not ranked or ranked[0].score < _NEAR:
        return None
    best = ranked[0]
    other = next((each for each in ranked[1:] if each.means != best.means), None)
    if other is not None and best.score - other.score < _CLEAR:
        return None
    return best


def every(one: Said, commands: Mapping[str, object], *, follows: bool = False) -> list[Found]:
    """Every meaning that a request may have by the examples, the nearest first."""
    items = of_said(one, commands)
    spelt = {word.lower for word in one.words}
    keys = {key for item in items for key in item.keys}
    known = book()
    best: dict[str, Found] = {}
    for phrasing in known.near(items):
        frame = known.frames[phrasing.frame]
        if frame.follows and not follows:
            continue
        if not phrasing.needs <= spelt or phrasing.lacks(keys | folder()) > (1.0 - _COVERED) * phrasing.weight:
            continue
        made = _matched(phrasing, items, one, known)
        if made is not None and (made.means not in best or best[made.means].score < made.score):
            best[made.means] = made
    return sorted(best.values(), key=lambda each: (-each.score, each.means))


def near_misses(one: Said, commands: Mapping[str, object]) -> list[tuple[str, str]]:
    """The examples that share the most with a request and are not like it all the same, each with the reason."""
    items = of_said(one, commands)
    said = [item for item in items if item.kind == "word"]
    known = book()
    missed: list[tuple[float, str, str]] = []
    for each in known.near(items):
        frame, vocabulary = known.frames[each.frame], known.vocabulary[each.frame]
        missing = [item for item in each.words if not any(_same(item, other, frame) for other in said)]
        left = [i for i in said if not i.keys & vocabulary and not any(_same(w, i, frame) for w in each.words)]
        shared = each.weight - sum(map(known.weight, missing)) - sum(map(known.weight, left))
        lacks = f"it has {', '.join(item.text for item in missing)}; " if missing else ""
        extra = f"left over: {', '.join(item.text for item in left)}; " if left else ""
        slots = f"slots: {', '.join(slot.type for slot in each.slots) or 'none'}"
        missed.append((shared, each.says, f"{lacks}{extra}{slots}"))
    return [(says, why) for _, says, why in sorted(missed, key=lambda item: -item[0])]


def _matched(phrasing: _Phrasing, items: Sequence[Item], one: Said, known: _Book) -> Found | None:
    frame = known.frames[phrasing.frame]
    said = [item for item in items if item.kind == "word"]
    missing = [item for item in phrasing.words if not any(_same(item, each, frame) for each in said)]
    if missing and any(item.kind == "path" and "." not in item.text for item in items):
        missing = [item for item in missing if not item.keys & folder()]  # it was read as a part of its name
    if missing and (frame.changes or any(item.keys & sharp() for item in missing)):
        return None
    covered = 1.0 - sum(known.weight(item) for item in missing) / phrasing.weight if phrasing.weight else 1.0
    if covered < _COVERED:
        return None
    own = pooled = 0.0
    left: list[Item] = []
    for item in said:
        if any(_same(each, item, frame) for each in phrasing.words):
            own += known.weight(item)
        elif known.belongs(item, phrasing.frame):
            pooled += known.weight(item)
        else:
            left.append(item)
    if any(item.keys & sharp() for item in left):
        return None
    if pooled > _MOST_POOLED * own and not phrasing.slots:
        return None
    if left and own < _ANCHORED and not any(item.kind not in ("word", LIGHT) for item in items):
        return None
    explained, weighed = own + _POOLED * pooled, own + pooled
    finds = [item for item in items if item.kind not in ("word", LIGHT) and item.text.lower() not in phrasing.numbers]
    if not any(slot.type == "span" for slot in phrasing.slots):
        finds = [item for item in finds if item.text.lower() not in lately()]
    wanted = Filled(phrasing.slots, known.optional[phrasing.frame], bare=not phrasing.words)
    values = filled(wanted, finds, left, one)
    if values is None or not (said or finds):
        return None
    explained, weighed = explained + len(left) * _GUESSED * known.rare, weighed + len(left) * known.rare
    linked = sum(_LINKED if _stands_so(slot, values, items) else -_LINKED for slot in phrasing.slots if slot.link)
    score = 0.5 * covered + 0.5 * (explained / weighed if weighed else 1.0) + linked
    score -= sum(_BY for item in said if item.link == "by" and item not in left and not _by(item, phrasing.words))
    score -= sum(_BY for item in phrasing.words if item.link == "by" and not _by(item, said))
    score += sum(_kind_of(slot, values) for slot in phrasing.slots)
    score -= sum(_VAGUE for slot in phrasing.slots if slot.type == "word" and not slot.link)
    return Found(_put(frame.means, values), score, frame, phrasing.says)


def _stands_so(slot: Slot, values: Mapping[str, str], items: Sequence[Item]) -> bool:
    """Whether what fills a slot has the same word before it as in the example."""
    return any(item.link == slot.link and values.get(slot.name, "").startswith(item.text) for item in items)


def _kind_of(slot: Slot, values: Mapping[str, str]) -> float:
    """What speaks for taking a word for records, and against taking it for a value of them."""
    if slot.type not in ("noun", "nouns", "field", "value") or values.get(slot.name, "").lower() not in records():
        return 0.0
    return _RECORDS if slot.type in ("noun", "nouns") else -_RECORDS


def _by(item: Item, others: Sequence[Item]) -> bool:
    return any(each.link == "by" and each.keys & item.keys for each in others)


def _same(mine: Item, other: Item, frame: Frame) -> bool:
    """Whether two words mean the same. Where something is changed, a verb counts only in the form of the example."""
    if frame.changes and mine.text.lower() != other.text.lower():
        orders = mine.text.lower() in verbs() and other.text.lower() not in verbs()
        return not orders and bool(_row(mine) & _row(other)) and _form(mine) == _form(other)
    return bool(mine.keys & other.keys)


def _form(item: Item) -> str:
    """How a word ends: `contains` tells what is so, and `renamed` what was done, where `contain` and `rename` order."""
    found = _ENDING.search(item.text.lower())
    return found[0] if found is not None else ""


def _row(item: Item) -> frozenset[str]:
    return frozenset(key for key in item.keys if key.startswith("="))


def _put(means: str, values: Mapping[str, str]) -> str:
    """The canonical wording with what was said in its slots."""

    def part(match: re.Match[str]) -> str:
        return match["part"] if match["slot"].partition(":")[0] in values else ""

    text = _OPTIONAL.sub(part, means)
    text = _SLOT.sub(lambda match: values.get(match["name"] or match["type"], ""), text)
    return " ".join(text.split())


@cache
def _parsed(says: str) -> tuple[tuple[Item, ...], tuple[Slot, ...]]:
    """An example as words and slots."""
    items: list[Item] = []
    slots: list[Slot] = []
    at = 0
    for match in _SLOT.finditer(says):
        piece = says[at : match.start()]
        items += of_tokens(scanned(f"{piece} {_ANY}"))[:-1]
        slots.append(Slot(match["name"] or match["type"], match["type"], _link(piece)))
        at = match.end()
    items += of_tokens(scanned(says[at:]))
    return tuple(items), tuple(slots)


def _beside(says: str, changes: bool) -> tuple[frozenset[str], frozenset[str]]:
    """The small words of an example that a request must have, and its numbers."""
    items = _parsed(says)[0]
    numbers = frozenset(item.text.lower() for item in items if item.kind == "number")
    if not any(item.kind == "word" for item in items):
        return frozenset(token.lower for token in scanned(_SLOT.sub(" ", says)) if token.shape == "word"), numbers
    return frozenset(item.text for item in items if item.kind == LIGHT and changes), numbers


def _link(piece: str) -> str:
    """The word or mark right before a slot."""
    marked = of_tokens(scanned(f"{piece} {_ANY}"))
    return marked[-1].link if marked else ""
