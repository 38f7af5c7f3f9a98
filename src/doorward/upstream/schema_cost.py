"""Estimates the cost of validating a value against an untrusted JSON Schema.

A schema of two kilobytes can make a validator visit one value a million times, when each part applies the previous part
twice. A validator cannot be interrupted, so the cost is computed before the schema is used. It is how often one
value is visited at each nesting depth: if that does not grow, the cost is proportional to the value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

import msgspec

MAX_VISITS = 2_000
"""Limit on visits to one value."""
MAX_DEPTH = 64
"""Nesting levels to examine; Doorward does not accept deeper values."""
_MOST_STEPS = 100_000
_CAP = 10**8
_SAME_VALUE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies")
_ANY_MEMBER = ("patternProperties", "additionalProperties", "unevaluatedProperties", "propertyNames")
_ANY_ITEM = ("items", "additionalItems", "unevaluatedItems", "contains")
_BY_NAME = ("patternProperties", "dependentSchemas", "dependencies")
_REEVALUATING = frozenset(("unevaluatedProperties", "unevaluatedItems"))
"""These depend on what sibling keywords evaluated, so the siblings are evaluated once more."""
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_ANCHORS = ("$anchor", "$dynamicAnchor")
_COUNTED_KEYWORDS = frozenset((*_SAME_VALUE, *_ANY_MEMBER, *_ANY_ITEM, *_REFERENCES, "properties", "prefixItems"))
_encode = msgspec.json.Encoder().encode


class SchemaTooCostly(ValueError):
    """The schema costs too much; the message is a clause that says why."""


def find_depth_limit(schema: Mapping[str, Any]) -> int | None:
    """The deepest nesting of values that this schema can validate in reasonable time; None for no limit.

    Raises TooMuch when even flat values would take too long, or when the cost cannot be computed.
    """
    text = _encode(schema)
    refers = any(f'"{word}"'.encode() in text for word in _REFERENCES)
    asks_again = any(f'"{word}"'.encode() in text for word in _REEVALUATING)
    if not asks_again and not refers:
        return None  # every part is visited once, so the cost is proportional to the schema
    try:
        if (
            not asks_again
            and text.count(b'"$id"') == ("$id" in schema)
            and _count_expanded(schema, schema, {}) <= MAX_VISITS
        ):
            return None  # the same holds when every reference is replaced by its target
        work = _CostEstimate(schema)
        for depth in range(MAX_DEPTH + 1):
            visits = work.count_visits(schema, depth)
            if visits > MAX_VISITS and depth < 2:
                raise SchemaTooCostly(f"takes too long: one value would be visited more than {MAX_VISITS} times")
            if visits > MAX_VISITS:
                return depth - 1
            if not visits:
                break
    except RecursionError as error:
        raise SchemaTooCostly("takes too long: its chain of references is too long") from error
    return None


def _count_expanded(root: Any, node: Any, known: dict[int, int]) -> int:
    """Count the parts of a schema with references expanded; `_CAP` when the expansion does not end."""
    if not isinstance(node, dict | list):
        return 0
    found = known.get(id(node))
    if found is not None:
        return found
    known[id(node)] = _CAP
    parts = node.values() if isinstance(node, dict) else node
    count = 1 + sum(_count_expanded(root, one, known) for one in parts if isinstance(one, dict | list))
    for word in _REFERENCES:
        if isinstance(node, dict) and isinstance(reference := node.get(word), str):
            if reference != "#" and not reference.startswith("#/"):
                return _CAP
            count += sum(_count_expanded(root, one, known) for one in _resolve_pointer(root, unquote(reference[1:])))
    known[id(node)] = min(count, _CAP)
    return known[id(node)]


def measure_nesting(value: Any) -> int:
    """Count the levels of lists and objects inside a value."""
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


class _AppliedSchema(msgspec.Struct):
    """The effect of a schema on one value: how many parts visit it, and which parts visit its content how often."""

    count: int
    members: dict[object, Counter[int]] = {}
    """By member name."""
    any_member: Counter[int] = msgspec.field(default_factory=Counter)
    places: dict[object, Counter[int]] = {}
    """By list index."""
    any_item: Counter[int] = msgspec.field(default_factory=Counter)


_PLAIN = _AppliedSchema(1)
"""A part that visits only the value itself."""


class _CostEstimate:
    """Computes visit counts. Nodes are identified by `id`; the schema keeps them alive."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._steps = 0
        self._nodes: dict[int, Any] = {}
        self._applied: dict[int, _AppliedSchema | None] = {}
        self._visits: dict[tuple[int, int], int] = {}
        self._anchors: dict[str, list[Any]] | None = None

    def count_visits(self, node: Any, depth: int) -> int:
        """The maximum number of visits to a value `depth` levels below the one this node applies to."""
        key = (id(node), depth)
        known = self._visits.get(key)
        if known is None:
            applied = self._apply(node)
            known = applied.count if depth == 0 else min(self._count_inside(applied, depth - 1), _CAP)
            self._visits[key] = known
        return known

    def _count_inside(self, applied: _AppliedSchema, depth: int) -> int:
        def total(parts: Counter[int]) -> int:
            self._count_steps(len(parts))
            return sum(times * self.count_visits(self._nodes[one], depth) for one, times in parts.items())

        member = max(map(total, applied.members.values()), default=0) + total(applied.any_member)
        item = max(map(total, applied.places.values()), default=0) + total(applied.any_item)
        return max(member, item)

    def _apply(self, node: Any) -> _AppliedSchema:
        if not isinstance(node, dict):
            return _PLAIN
        if id(node) in self._applied:
            found = self._applied[id(node)]
            if found is None:
                raise SchemaTooCostly("takes forever: a part of it contains itself")
            return found
        self._count_steps(1)
        words = _COUNTED_KEYWORDS & node.keys()
        if not words:
            return _PLAIN
        self._applied[id(node)] = None
        made = self._apply_keywords(node, words)
        self._applied[id(node)] = made
        return made

    def _apply_keywords(self, node: dict[str, Any], words: frozenset[str]) -> _AppliedSchema:
        made = _AppliedSchema(1)
        times = 2 if _REEVALUATING & words else 1
        for word in words:
            given = node[word]
            if word in _REFERENCES:
                for part in self._resolve(given) if isinstance(given, str) else ():
                    self._add(made, self._apply(part), times)
            elif word in _SAME_VALUE:
                for part in _parts(word, given):
                    self._add(made, self._apply(part), times)
            elif word == "properties":
                for name, part in given.items() if isinstance(given, dict) else ():
                    self._count_part(made.members.setdefault(name, Counter()), part)
            elif word == "prefixItems":
                for place, part in enumerate(given if isinstance(given, list) else ()):
                    self._count_part(made.places.setdefault(place, Counter()), part)
            else:
                inside = made.any_member if word in _ANY_MEMBER else made.any_item
                for part in _parts(word, given):
                    self._count_part(inside, part)
        return made

    def _add(self, made: _AppliedSchema, part: _AppliedSchema, times: int) -> None:
        made.count = min(made.count + times * part.count, _CAP)
        for mine, others in ((made.members, part.members), (made.places, part.places)):
            for key, parts in others.items():
                self._join(mine.setdefault(key, Counter()), parts, times)
        self._join(made.any_member, part.any_member, times)
        self._join(made.any_item, part.any_item, times)

    def _join(self, mine: Counter[int], parts: Counter[int], times: int) -> None:
        self._count_steps(len(parts) + 1)
        for one, count in parts.items():
            mine[one] = min(mine[one] + times * count, _CAP)

    def _count_part(self, mine: Counter[int], part: Any) -> None:
        self._count_steps(1)
        self._nodes[id(part)] = part
        mine[id(part)] += 1

    def _count_steps(self, many: int) -> None:
        self._steps += many
        if self._steps > _MOST_STEPS:
            raise SchemaTooCostly("is too large and complex to estimate its cost")

    def _resolve(self, reference: str) -> Iterator[Any]:
        """Resolve a reference. References to other documents are not followed."""
        address, _, fragment = reference.partition("#")
        inner = self._named_parts()
        if address or "" in inner:
            if "$id" in self._root or "" in inner:
                raise SchemaTooCostly(f"refers to a part of itself by URI ({reference[:60]!r}), which is not supported")
        elif not fragment:
            yield self._root
        elif fragment.startswith("/"):
            yield from _resolve_pointer(self._root, unquote(fragment))
        else:
            yield from inner.get(unquote(fragment), ())

    def _named_parts(self) -> dict[str, list[Any]]:
        """Named parts by anchor; parts with an `$id` of their own are under the empty name."""
        if self._anchors is None:
            anchors: dict[str, list[Any]] = {}
            self._anchors = anchors
            waiting: list[Any] = [self._root]
            while waiting:
                node = waiting.pop()
                self._count_steps(1)
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


def _resolve_pointer(root: Any, pointer: str) -> Iterator[Any]:
    """Resolve a JSON pointer; yields nothing when there is no target."""
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
