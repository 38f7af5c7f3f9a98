"""How much work it is to hold a value against a schema that somebody else wrote.

A schema of two kilobytes can make a validator look at one value a million times: each part applies the one before it
twice. Nothing interrupts a validator, so that is worked out before the schema is used at all. What counts is how often
one value is looked at, at each depth of nesting: where that does not grow, the work is in proportion to the value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

import msgspec

MOST = 2_000
"""How often one value may be looked at."""
DEEPEST = 64
"""Levels of nesting that are looked at; deeper values are not read from anybody."""
_MOST_STEPS = 100_000
_CAP = 10**8
_SAME_VALUE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies")
_ANY_MEMBER = ("patternProperties", "additionalProperties", "unevaluatedProperties", "propertyNames")
_ANY_ITEM = ("items", "additionalItems", "unevaluatedItems", "contains")
_BY_NAME = ("patternProperties", "dependentSchemas", "dependencies")
_ASKS_AGAIN = frozenset(("unevaluatedProperties", "unevaluatedItems"))
"""They go by what the parts beside them looked at, so that those are gone through once more."""
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_ANCHORS = ("$anchor", "$dynamicAnchor")
_TELLING = frozenset((*_SAME_VALUE, *_ANY_MEMBER, *_ANY_ITEM, *_REFERENCES, "properties", "prefixItems"))
_encode = msgspec.json.Encoder().encode


class TooMuch(ValueError):
    """A clause that says why."""


def deepest(schema: Mapping[str, Any]) -> int | None:
    """How many levels deep a value may be nested so that it can be held against this schema; None: as deep as it is.

    TooMuch, when even values that are not nested at all would take too long, or nobody can tell.
    """
    text = _encode(schema)
    refers = any(f'"{word}"'.encode() in text for word in _REFERENCES)
    asks_again = any(f'"{word}"'.encode() in text for word in _ASKS_AGAIN)
    if not asks_again and not refers:
        return None  # it is gone through once, so that the work is in proportion to its own length
    try:
        if not asks_again and text.count(b'"$id"') == ("$id" in schema) and _written_out(schema, schema, {}) <= MOST:
            return None  # nor is it when every reference is replaced by what it refers to
        work = _Work(schema)
        for depth in range(DEEPEST + 1):
            visits = work.visits(schema, depth)
            if visits > MOST and depth < 2:
                raise TooMuch(f"takes too long: one value would be looked at more than {MOST} times")
            if visits > MOST:
                return depth - 1
            if not visits:
                break
    except RecursionError as error:
        raise TooMuch("takes too long: its parts refer to one another in too long a chain") from error
    return None


def _written_out(root: Any, node: Any, known: dict[int, int]) -> int:
    """How many parts a schema has once references are written out; far too many where that has no end."""
    if not isinstance(node, dict | list):
        return 0
    found = known.get(id(node))
    if found is not None:
        return found
    known[id(node)] = _CAP
    parts = node.values() if isinstance(node, dict) else node
    count = 1 + sum(_written_out(root, one, known) for one in parts if isinstance(one, dict | list))
    for word in _REFERENCES:
        if isinstance(node, dict) and isinstance(reference := node.get(word), str):
            if reference != "#" and not reference.startswith("#/"):
                return _CAP
            count += sum(_written_out(root, one, known) for one in _pointed(root, unquote(reference[1:])))
    known[id(node)] = min(count, _CAP)
    return known[id(node)]


def nesting(value: Any) -> int:
    """How many levels of lists and objects a value has below itself."""
    depth, level = -1, [value]
    while level:
        depth += 1
        level = [
            one
            for outer in level
            if isinstance(outer, dict | list)
            for one in (outer.values() if isinstance(outer, dict) else outer)
        ]
    return depth


class _Applied(msgspec.Struct):
    """What a schema means for one value: how many parts look at it, and which look at what is inside, how often."""

    count: int
    members: dict[object, Counter[int]] = {}
    """By the name of a member."""
    any_member: Counter[int] = msgspec.field(default_factory=Counter)
    places: dict[object, Counter[int]] = {}
    """By the place in a list."""
    any_item: Counter[int] = msgspec.field(default_factory=Counter)


_PLAIN = _Applied(1)
"""A part that looks at a value and at nothing beside or inside it."""


class _Work:
    """Nodes are told apart by their identity; the schema holds them for as long as this lives."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._steps = 0
        self._nodes: dict[int, Any] = {}
        self._applied: dict[int, _Applied | None] = {}
        self._visits: dict[tuple[int, int], int] = {}
        self._anchors: dict[str, list[Any]] | None = None

    def visits(self, node: Any, depth: int) -> int:
        """How often a value so many levels below the one that this node is applied to is looked at, at most."""
        key = (id(node), depth)
        known = self._visits.get(key)
        if known is None:
            applied = self._of(node)
            known = applied.count if depth == 0 else min(self._inside(applied, depth - 1), _CAP)
            self._visits[key] = known
        return known

    def _inside(self, applied: _Applied, depth: int) -> int:
        def total(parts: Counter[int]) -> int:
            self._step(len(parts))
            return sum(times * self.visits(self._nodes[one], depth) for one, times in parts.items())

        member = max(map(total, applied.members.values()), default=0) + total(applied.any_member)
        item = max(map(total, applied.places.values()), default=0) + total(applied.any_item)
        return max(member, item)

    def _of(self, node: Any) -> _Applied:
        if not isinstance(node, dict):
            return _PLAIN
        if id(node) in self._applied:
            found = self._applied[id(node)]
            if found is None:
                raise TooMuch("takes for ever: a part of it is made of itself")
            return found
        self._step(1)
        words = _TELLING & node.keys()
        if not words:
            return _PLAIN
        self._applied[id(node)] = None
        made = self._applied_by(node, words)
        self._applied[id(node)] = made
        return made

    def _applied_by(self, node: dict[str, Any], words: frozenset[str]) -> _Applied:
        made = _Applied(1)
        times = 2 if _ASKS_AGAIN & words else 1
        for word in words:
            given = node[word]
            if word in _REFERENCES:
                for part in self._meant(given) if isinstance(given, str) else ():
                    self._add(made, self._of(part), times)
            elif word in _SAME_VALUE:
                for part in _parts(word, given):
                    self._add(made, self._of(part), times)
            elif word == "properties":
                for name, part in given.items() if isinstance(given, dict) else ():
                    self._note(made.members.setdefault(name, Counter()), part)
            elif word == "prefixItems":
                for place, part in enumerate(given if isinstance(given, list) else ()):
                    self._note(made.places.setdefault(place, Counter()), part)
            else:
                inside = made.any_member if word in _ANY_MEMBER else made.any_item
                for part in _parts(word, given):
                    self._note(inside, part)
        return made

    def _add(self, made: _Applied, part: _Applied, times: int) -> None:
        made.count = min(made.count + times * part.count, _CAP)
        for mine, others in ((made.members, part.members), (made.places, part.places)):
            for key, parts in others.items():
                self._join(mine.setdefault(key, Counter()), parts, times)
        self._join(made.any_member, part.any_member, times)
        self._join(made.any_item, part.any_item, times)

    def _join(self, mine: Counter[int], parts: Counter[int], times: int) -> None:
        self._step(len(parts) + 1)
        for one, count in parts.items():
            mine[one] = min(mine[one] + times * count, _CAP)

    def _note(self, mine: Counter[int], part: Any) -> None:
        self._step(1)
        self._nodes[id(part)] = part
        mine[id(part)] += 1

    def _step(self, many: int) -> None:
        self._steps += many
        if self._steps > _MOST_STEPS:
            raise TooMuch("is too large and too entangled to work out how long it takes")

    def _meant(self, reference: str) -> Iterator[Any]:
        """What a reference refers to. One to another document is not followed by anybody."""
        address, _, fragment = reference.partition("#")
        inner = self._inner()
        if address or "" in inner:
            if "$id" in self._root or "" in inner:
                raise TooMuch(
                    f"refers to a part of itself by an address ({reference[:60]!r}), which cannot be followed"
                )
        elif not fragment:
            yield self._root
        elif fragment.startswith("/"):
            yield from _pointed(self._root, unquote(fragment))
        else:
            yield from inner.get(unquote(fragment), ())

    def _inner(self) -> dict[str, list[Any]]:
        """Parts that have names: by their anchor and, under the empty name, those that have an address of their own."""
        if self._anchors is None:
            anchors: dict[str, list[Any]] = {}
            self._anchors = anchors
            waiting: list[Any] = [self._root]
            while waiting:
                node = waiting.pop()
                self._step(1)
                if isinstance(node, list):
                    waiting += node
                if not isinstance(node, dict):
                    continue
                for word in _ANCHORS:
                    if isinstance(name := node.get(word), str) and name:
                        anchors.setdefault(name, []).append(node)
                if isinstance(node.get("$id"), str) and node is not self._root:
                    anchors.setdefault("", []).append(node)
                waiting += node.values()
        return self._anchors


def _parts(word: str, given: Any) -> Iterator[Any]:
    if isinstance(given, list):
        yield from given
    elif word not in _BY_NAME:
        yield given
    elif isinstance(given, dict):
        yield from given.values()


def _pointed(root: Any, pointer: str) -> Iterator[Any]:
    """What a JSON pointer points to, if there is anything."""
    found = root
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict) and name in found:
            found = found[name]
        elif isinstance(found, list) and name.isascii() and name.isdigit() and int(name) < len(found):
            found = found[int(name)]
        else:
            return
    yield found
