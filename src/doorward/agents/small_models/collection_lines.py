"""The collections that matter for a request, each as one line with its fields, types and sample values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from doorward.agents.small_models.mentions import Mention, find_mentions, is_plain, request_words
from doorward.store.collection_profiles import CollectionProfile, FieldProfile, singular, squeeze

_FEW = 4
"""Collections that are all shown, whatever the request is about."""
_MOST = 6
_MOST_CHOICES = 6
"""Distinct values that are all listed."""
_LEAST_LETTERS = 4
_MOST_NAMED = 6
_NAME_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+")
_LONGEST_SAMPLE = 40
_MOST_FIELDS = 30
_BOOKKEEPING = frozenset(("version", "createdAt", "updatedAt", "createdBy", "revision", "n", "prev", "hash", "digest"))
_KINDS = {"text": "text", "number": "number", "boolean": "true/false", "time": "time", "json": "object", "any": "value"}


def choose_collections(
    request: str, data: Sequence[CollectionProfile], mentions: Sequence[Mention]
) -> list[CollectionProfile]:
    """Choose the collections of a request by its words and the values it names, and those linked to them."""
    own = [one for one in data if one.kind != "system"]
    ranks = rank_collections(request, data, mentions)
    if len(own) <= _FEW:
        chosen = list(own)  # always in this order, so that a model can reuse what it read of the last prompt
    else:
        chosen = sorted((one for one in own if ranks[one.name]), key=lambda one: -ranks[one.name])[:_FEW]
        linked = {field.links for one in chosen for field in one.fields} | {
            one.name for one in own for field in one.fields if field.links in {each.name for each in chosen}
        }
        chosen += [one for one in own if one.name in linked and one not in chosen][: _MOST - len(chosen)]
        chosen = chosen or own[:_FEW]
    system = [one for one in data if one.kind == "system" and (ranks[one.name] >= 3)]
    return [*chosen, *sorted(system, key=lambda one: -ranks[one.name])[: _MOST - len(chosen)]]


def rank_collections(request: str, data: Sequence[CollectionProfile], mentions: Sequence[Mention]) -> dict[str, int]:
    """How well each collection fits a request; 0 if nothing of it is named."""
    words = {squeeze(form) for word in request_words(request) for form in (word, singular(word))}
    named = {one.collection for one in mentions}
    return {one.name: _rank(one, words) + 3 * (one.name in named) for one in data}


def is_about_data(request: str, data: Sequence[CollectionProfile]) -> bool:
    """Whether a request names a collection, a field or a value of one."""
    mentions = find_mentions(request, data)
    return bool(mentions) or any(rank_collections(request, data, ()).values())


def _rank(profile: CollectionProfile, words: set[str]) -> int:
    own = {squeeze(profile.name.rpartition(".")[2]), squeeze(singular(profile.name))}
    fields = {squeeze(name) for name in fields_of(profile)}
    parts = {part for name in fields_of(profile) for part in _name_words(name)}
    return 3 * bool(own & words) + bool(fields & words) + bool(parts & words)


def describe_fields(request: str, collections: Sequence[CollectionProfile]) -> list[str]:
    """Say which fields the words of a request name, such as `loans.due_on` for `due`."""
    words = {form for word in request_words(request) for form in (word, singular(word))}
    found = [
        f"{profile.name}.{name}" for profile in collections for name in fields_of(profile) if _name_words(name) & words
    ]
    return [f"fields: {', '.join(found[:_MOST_NAMED])}"] if found else []


def _name_words(name: str) -> set[str]:
    """The longer words of a field's name, whether it is written in snake or camel case."""
    return {word.lower() for word in _NAME_WORD.findall(name) if len(word) >= _LEAST_LETTERS} | {squeeze(name)}


def fields_of(profile: CollectionProfile) -> list[str]:
    return [field.name for field in profile.fields if field.name not in _BOOKKEEPING and field.name != profile.key]


def describe_collection(profile: CollectionProfile, samples: int = 2) -> str:
    """Describe a collection in one line."""
    fields = [field for field in profile.fields if field.name not in _BOOKKEEPING][:_MOST_FIELDS]
    count = f"{profile.count} or more" if profile.more else str(profile.count)
    return f"{profile.name} ({count} records): {'; '.join(_describe_field(one, samples) for one in fields)}"


def _describe_field(field: FieldProfile, samples: int) -> str:
    if field.links:
        return f"{field.name} = {field.links}.{field.links_by}"
    kind = "date" if field.dates else _KINDS.get(field.kind, field.kind)
    empty = " or null" if field.missing else ""
    if field.dates or (field.kind == "number" and field.least is not None):
        extent = f" {field.least} to {str(field.most)[:10] if field.dates else field.most}" if samples else ""
        return f"{field.name} {kind}{empty}{extent}"
    if field.kind == "boolean":
        return f"{field.name} {kind}{empty}"
    if field.complete and 1 < len(field.values) <= _MOST_CHOICES and samples:
        return f"{field.name} {kind}{empty} one of{_quote_all(field.values)}"
    return f"{field.name} {kind}{empty}{_quote_all(field.values[:samples])}"


def _quote_all(values: Iterable[object]) -> str:
    shown = [f"'{one}'" for one in values if is_plain(one) and len(str(one)) <= _LONGEST_SAMPLE and "'" not in str(one)]
    return f" {', '.join(shown)}" if shown else ""


def describe_mentions(mentions: Sequence[Mention], collections: Sequence[CollectionProfile]) -> list[str]:
    """Say which values the request can mean, and how the collections that refer to them are joined."""
    lines = []
    for one in mentions:
        values = " or ".join(f"'{value}'" for value in one.values if "'" not in value)
        unclear = f" ('{one.said}' is unclear: ask which one is meant)" if len(one.values) > 1 else ""
        if values:
            lines.append(f"{one.collection}.{one.field} = {values}{unclear}")
    return [*lines, *dict.fromkeys(join for one in mentions for join in _describe_joins(one, collections))]


def _describe_joins(mention: Mention, collections: Sequence[CollectionProfile]) -> Iterator[str]:
    for profile in collections:
        for field in profile.fields:
            if field.links == mention.collection and field.links_by != mention.field:
                target = f"{field.links}.{field.links_by}"
                yield f"{profile.name} JOIN {field.links} ON {target} = {profile.name}.{field.name}"
