"""Links between collections: fields whose values are keys or labels of another collection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from doorward.store.collection_profiles import CollectionProfile, FieldProfile, is_named_label, singular, squeeze

_LEAST_VALUES = 2
_SHARE = 0.9
"""The share of a field's distinct values that must be found in the other collection."""
_PROBES = 5
"""Values that decide which collections are looked at."""
_MOST_TARGETS = 8


class CollectionScan(msgspec.Struct, frozen=True, kw_only=True):
    """The profile of a collection before links are found, with the values that others can refer to."""

    profile: CollectionProfile
    keys: frozenset[Any] = frozenset()
    labels: frozenset[Any] = frozenset()
    """The values of its label; empty unless nearly every record has its own."""

    @property
    def weight(self) -> int:
        """The number of values it holds."""
        return len(self.keys) + len(self.labels) + sum(len(one.values) + 1 for one in self.profile.fields)


class _Target(msgspec.Struct, frozen=True, eq=False):
    collection: str
    field: str
    values: frozenset[Any]
    is_key: bool


def link_collections(scans: Sequence[CollectionScan]) -> tuple[CollectionProfile, ...]:
    """Find the links of every field and return the profiles with them."""
    targets: dict[Any, list[_Target]] = {}
    for scan in scans:
        profile = scan.profile
        for field, values, is_key in ((profile.key, scan.keys, True), (profile.label, scan.labels, False)):
            if len(values) >= _LEAST_VALUES and field:
                target = _Target(profile.name, field, values, is_key)
                for value in values:
                    targets.setdefault(value, []).append(target)
    return tuple(_link(scan.profile, targets) for scan in scans)


def _link(profile: CollectionProfile, targets: dict[Any, list[_Target]]) -> CollectionProfile:
    if profile.kind == "system" or not targets:
        return profile
    fields = []
    label = profile.label
    for field in profile.fields:
        target = _find_target(profile, field, targets)
        if target is not None:
            field = msgspec.structs.replace(field, links=target.collection, links_by=target.field)
            label = "" if field.name == label else label
        fields.append(field)
    return msgspec.structs.replace(profile, fields=tuple(fields), label=label)


def _find_target(profile: CollectionProfile, field: FieldProfile, targets: dict[Any, list[_Target]]) -> _Target | None:
    if field.kind not in ("text", "number", "any") or field.dates or len(field.values) < _LEAST_VALUES:
        return None
    is_label = field.name == profile.label
    if field.name == profile.key:
        return None
    probes = field.values[:_PROBES]
    hits: dict[_Target, int] = {}
    for value in probes:
        for target in targets.get(value, ()):
            hits[target] = hits.get(target, 0) + 1
    found = [
        target
        for target, count in hits.items()
        if count >= len(probes) - (len(probes) > 2) and _can_link(profile, field, target, is_label)
    ]
    found.sort(key=lambda one: -_similarity(field.name, one.collection))
    rated = [
        (_similarity(field.name, one.collection), share, one.is_key, -len(one.values), number)
        for number, one in enumerate(found[:_MOST_TARGETS])
        if (share := _share(field, one)) >= _SHARE
    ]
    return found[max(rated)[-1]] if rated else None


def _can_link(profile: CollectionProfile, field: FieldProfile, target: _Target, is_label: bool) -> bool:
    if target.collection == profile.name and (is_label or target.field == field.name):
        return False
    named = is_named_label(profile.name, field.name) or not is_named_label(target.collection, target.field)
    if is_label and not target.is_key and named:
        return False
    # Small numbers are keys of every table, so a number needs a name that fits as well.
    return field.kind == "text" or _similarity(field.name, target.collection) > 0


def _share(field: FieldProfile, target: _Target) -> float:
    return sum(value in target.values for value in field.values) / len(field.values)


def _similarity(field: str, collection: str) -> int:
    """How well the name of a field fits a collection: `book` and `book_id` fit `books`."""
    name, own = squeeze(field), squeeze(singular(collection))
    if name in (own, f"{own}id", f"{own}name", f"{own}key", f"{own}title") or name == squeeze(collection):
        return 2
    return 1 if len(own) > 2 and own in name else 0
