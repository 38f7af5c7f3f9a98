"""Which intent a request has: every one is weighed by how much of the request it explains."""

from __future__ import annotations

from functools import cache

import msgspec

from doorward.agents.house import knowledge
from doorward.agents.house.entities import stem
from doorward.agents.house.knowledge import Intent, Phrase
from doorward.agents.house.said import by_first
from doorward.agents.house.slots import Slots

_ACT, _WORD, _ENTITY, _PATTERN = 0.5, 1.5, 1.2, 4.0
_UNEXPLAINED = 0.9
"""What a word costs that an intent has nothing to do with."""
_LEAST = 1.0
_MOST_UNEXPLAINED = 2


class Match(msgspec.Struct, frozen=True):
    intent: Intent
    score: float
    caught: dict[str, str] = {}
    unexplained: tuple[str, ...] = ()
    """Words that say something about which the intent knows nothing."""
    explained: frozenset[int] = frozenset()
    """The places of the words that it knows."""


class _Group(msgspec.Struct, frozen=True):
    """Alternatives of which one must be there."""

    phrases: dict[str, list[Phrase]]
    """By their first word."""
    entities: tuple[str, ...]
    exact: frozenset[str]
    """Words that must be spelt just so, written with `=` before them."""
    weight: float


def matches(slots: Slots, changes: bool = False) -> list[Match]:
    """The intents that a request may have, the likeliest first."""
    kept: list[Match] | None = slots.memo.get(changes)
    if kept is None:
        kept = slots.memo[changes] = _matches(slots, changes)
    return kept


def _matches(slots: Slots, changes: bool) -> list[Match]:
    found = [one for intent in knowledge.intents() if intent.changes is changes and (one := _match(intent, slots))]
    return sorted(found, key=lambda one: -one.score)


def _match(intent: Intent, slots: Slots) -> Match | None:
    caught = _caught(intent, slots)
    if caught is not None:
        return Match(intent, _PATTERN + intent.weight, caught)
    if intent.changes:
        return None
    unless = _groups(intent.unless)
    if any(_there(group, slots) is not None for group in unless):
        return None
    best: tuple[float, set[int]] | None = None
    for when in intent.when:
        scored = _scored(_groups(when), slots)
        if scored is not None and (best is None or scored[0] > best[0]):
            best = scored
    if best is None:
        return None
    score, explained = best
    for group in _groups(intent.also):
        explained |= _there(group, slots) or set()
    if "content" not in slots.memo:
        slots.memo["content"] = slots.said.content()
    left = [place for place in slots.memo["content"] if place not in explained]
    words = tuple(slots.said.words[place].lower for place in left)
    score += intent.weight - _UNEXPLAINED * len(left)
    if score < _LEAST or len(left) > _MOST_UNEXPLAINED:
        return None
    return Match(intent, score, unexplained=words, explained=frozenset(explained))


def _caught(intent: Intent, slots: Slots) -> dict[str, str] | None:
    for pattern in intent.patterns:
        found = knowledge.compiled(pattern).search(slots.said.text)
        if found is not None:
            return {key: value.strip() for key, value in found.groupdict().items() if value and value.strip()}
    return None


def _scored(groups: tuple[_Group, ...], slots: Slots) -> tuple[float, set[int]] | None:
    score = 0.0
    explained: set[int] = set()
    for group in groups:
        there = _there(group, slots)
        if there is None:
            return None
        # A word that was counted already says nothing more.
        score += group.weight if there - explained or group.entities else group.weight / 4
        explained |= there
    return score, explained


def _there(group: _Group, slots: Slots) -> set[int] | None:
    """The places of the words that make a group true; None when it is not."""
    key = id(group)
    if key not in slots.memo:
        slots.memo[key] = _places(group, slots)
    places: set[int] | None = slots.memo[key]
    return places


def _places(group: _Group, slots: Slots) -> set[int] | None:
    places = {place for start, end in slots.said.found_of(group.phrases) for place in range(start, end)}
    if group.exact:
        places |= {place for place, word in enumerate(slots.said.words) if word.lower in group.exact}
    held = [one for one in group.entities if slots.has(one)]
    for one in held:
        places |= slots.explains(one)
    return places if places or held else None


@cache
def _groups(text: str) -> tuple[_Group, ...]:
    return tuple(_group(one) for one in text.split())


@cache
def _group(text: str) -> _Group:
    """Kept for good, so that the same group is looked for only once in a request."""
    known = knowledge.concepts()
    acts = knowledge.synonyms().acts
    phrases: list[Phrase] = []
    entities: list[str] = []
    exact: set[str] = set()
    weight = 0.0
    for one in text.split("|"):
        if one.startswith("="):
            exact.add(one[1:])
            weight = max(weight, _WORD)
        elif one.startswith("#"):
            entities.append(one[1:])
            weight = max(weight, _ENTITY)
        elif one.startswith("@"):
            phrases.extend(known[one[1:]])
            weight = max(weight, _ACT if one[1:] in acts else _WORD)
        else:
            phrases.append(tuple(stem(word) for word in one.split("_")))
            small = knowledge.stop()
            weight = max(weight, _ACT if phrases[-1][-1] in small and len(phrases[-1]) == 1 else _WORD)
    return _Group(by_first(phrases), tuple(entities), frozenset(exact), weight)
