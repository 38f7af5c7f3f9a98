"""Examples of data commands with the collections and fields of this house, which small models imitate."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from doorward.agents.small_models.mentions import is_plain
from doorward.store.collection_profiles import CollectionProfile, FieldProfile

_NAME = re.compile(r"[A-Za-z_]\w*")
_ID, _VALUE = "ID", "…"
"""Placeholders. A model that copies an example must not change a real record."""
_OWN = frozenset(("version", "createdAt", "updatedAt", "createdBy"))


def make_examples(collections: Sequence[CollectionProfile]) -> dict[str, Mapping[str, Any]]:
    """Make an example for each data command that these collections allow."""
    own = [one for one in collections if one.kind != "system" and one.count] or list(collections)
    if not own:
        return {}
    main = max(own, key=lambda one: (sum(bool(field.links) for field in one.fields), one.count))
    made: dict[str, Mapping[str, Any]] = {}
    condition = _make_condition(main)
    made["data/count"] = {"collection": main.name, **({"filter": condition} if condition else {})}
    made["data/list"] = _make_list(next((one for one in own if one.label), main))
    made["data/aggregate"] = _make_aggregate(main)
    made["data/query"] = _make_query(main, {one.name: one for one in own if _database(one) == _database(main)})
    changed = next((one for one in own if one.label), main)
    names = [one.name for one in _fields(changed, lambda one: one.kind == "text" and not one.dates)][:2]
    made["data/create"] = {"collection": changed.name, "data": dict.fromkeys(names, _VALUE)}
    made["data/update"] = {"collection": changed.name, "id": _ID, "data": dict.fromkeys(names[-1:], _VALUE)}
    made["data/delete"] = {"collection": changed.name, "id": _ID}
    return made


def describe_dates(collections: Sequence[CollectionProfile], today: str) -> str:
    """Say how dates are compared, with a field of this house; empty if there are none."""
    by_links = sorted(collections, key=lambda one: -sum(bool(field.links) for field in one.fields))
    names = [field.name for one in by_links for field in _fields(one, lambda field: field.dates)]
    if not names:
        return ""
    return f" Dates are texts, without NOW(): {names[0]} < '{today}'; a day: {names[0]} LIKE '{today}%'."


def _fields(profile: CollectionProfile, is_wanted: Callable[[FieldProfile], bool]) -> list[FieldProfile]:
    return [one for one in profile.fields if one.name not in _OWN and one.name != profile.key and is_wanted(one)]


def _find_value(profile: CollectionProfile, name: str) -> Any:
    field = profile.field(name)
    return next((value for value in field.values if is_plain(value)), "…") if field is not None else "…"


def _make_condition(profile: CollectionProfile) -> dict[str, Any]:
    for field in _fields(profile, lambda one: one.kind == "boolean"):
        return {field.name: True}
    for field in _fields(profile, lambda one: one.kind == "number" and one.least is not None):
        return {field.name: {"$gt": field.least}}
    for field in _fields(profile, lambda one: one.complete and one.kind == "text"):
        return {field.name: field.values[0]}
    return {}


def _make_list(profile: CollectionProfile) -> dict[str, Any]:
    numbers = _fields(profile, lambda one: one.kind == "number")
    order = {"orderBy": f"-{numbers[0].name}"} if numbers else {}
    names = [profile.label or profile.key, *(one.name for one in numbers[:1])]
    return {"collection": profile.name, **order, "limit": 5, "fields": names}


def _make_aggregate(profile: CollectionProfile) -> dict[str, Any]:
    groups = _fields(profile, lambda one: bool(one.links) or (one.kind == "text" and one.complete))
    numbers = _fields(profile, lambda one: one.kind == "number")
    metric = {"total": {"sum": numbers[0].name}} if numbers else {"count": {"count": "*"}}
    by = {"groupBy": [groups[0].name]} if groups else {}
    return {"collection": profile.name, **by, "metrics": metric}


def _database(profile: CollectionProfile) -> str:
    return profile.name.partition(".")[0] if profile.kind == "attached" else ""


def _make_query(profile: CollectionProfile, others: Mapping[str, CollectionProfile]) -> dict[str, str]:
    database = _database(profile)
    return {"sql": _make_sql(profile, others), **({"database": database} if database else {})}


def _make_sql(profile: CollectionProfile, others: Mapping[str, CollectionProfile]) -> str:
    """Make a SELECT that follows a link if there is one, so that the model sees how collections are joined."""
    source = _quote(profile.name)
    for field in _fields(profile, lambda one: one.links in others):
        target = others[field.links]
        label = target.label or target.key
        name, value = _quote(target.name), str(_find_value(target, label)).replace("'", "''")
        joined = f"{source} JOIN {name} ON {name}.{field.links_by} = {source}.{field.name}"
        return " ".join(
            ("SELECT", f"{name}.{label}, count(*) FROM {joined} WHERE {name}.{label} = '{value}' GROUP BY 1")
        )
    label = profile.label or profile.key
    return " ".join(("SELECT", f"{label} FROM {source} ORDER BY {label} LIMIT 5"))


def _quote(name: str) -> str:
    """A collection's name in SQL; a table of an attached database is named without the database."""
    name = name.rpartition(".")[2]
    return name if _NAME.fullmatch(name) else f'"{name}"'
