"""Counts, groups and figures that were reckoned over records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from doorward.agents.house.telling.asked import Asked, Got
from doorward.agents.house.telling.figures import field_words, number, value, zone_named
from doorward.agents.house.telling.knowledge import tellers
from doorward.agents.house.telling.nouns import goes_on, items_of, nouns, there_are, when_and_how

_MOST = 30


def count(asked: Asked, got: Got) -> str:
    found = got.value.get("count") if isinstance(got.value, dict) else got.value
    if not isinstance(found, int) or isinstance(found, bool):
        return tellers().nothing
    return f"{there_are(asked, got, found)}."


def groups(asked: Asked, got: Got) -> str:
    """`By access: owner 3, read 2 and edit 1; 6 in all.` or, without groups, the figures themselves."""
    items = [one for one in items_of(got.value) or [] if isinstance(one, dict)]
    given = got.params.get("groupBy") or got.params.get("group_by") or []
    many = given if isinstance(given, list | tuple) else [given]
    fields = [one for one in many if isinstance(one, str)]
    metrics = got.params.get("metrics")
    measured: Mapping[str, Any] = metrics if isinstance(metrics, dict) and metrics else {"count": {"count": "*"}}
    if not items:
        return f"{there_are(asked, got, 0)}."
    if not fields:
        return _figures(asked, got, items[0], measured)
    names = [name for name in items[0] if name not in fields] or list(measured)
    return _grouped(asked, got, items, fields, names, measured)


def _grouped(
    asked: Asked,
    got: Got,
    items: Sequence[Mapping[str, Any]],
    fields: Sequence[str],
    names: Sequence[str],
    measured: Mapping[str, Any],
) -> str:
    zone = zone_named(asked.zone)
    shown = items if got.params.get("orderBy") or got.params.get("order_by") else _most_first(items, names[0])
    parts = []
    for one in shown[:_MOST]:
        group = " / ".join(value(field, one.get(field), zone) for field in fields)
        figures = ", ".join(_one_figure(asked, got, name, one.get(name), measured, len(names) > 1) for name in names)
        parts.append(f"{group} {figures}" if len(names) == 1 else f"{group} ({figures})")
    left = len(items) - len(parts)
    whole = f", and {number(left)} more groups" if left > 0 else ""
    by = " and ".join(field_words(field) for field in fields)
    what = f"{_what(asked, got, names[0], measured)} by {by}{when_and_how(asked)}"
    if goes_on(got.value) and not asked.limit:
        return f"{what}: {', '.join(parts)}{whole}; there are more groups than these."
    sums = "" if asked.limit else _in_all(items, names, measured)
    return f"{what}: {', '.join(parts)}{whole}{sums}."


def as_told(got: Got, items: Sequence[Any]) -> Sequence[Any]:
    """What a result holds, in the order in which it is told."""
    groups = got.params.get("groupBy")
    if got.command != "data/aggregate" or not isinstance(groups, list) or got.params.get("orderBy"):
        return items
    rows = [one for one in items if isinstance(one, dict)]
    names = [name for name in rows[0] if name not in groups] if rows else []
    return _most_first(rows, names[0]) if names else items


def _most_first(items: Sequence[Mapping[str, Any]], name: str) -> list[Mapping[str, Any]]:
    figures = [one.get(name) for one in items]
    if not all(isinstance(one, int | float) for one in figures):
        return list(items)
    return sorted(items, key=lambda one: -float(one[name]))


def _one_figure(asked: Asked, got: Got, name: str, given: Any, measured: Mapping[str, Any], named: bool) -> str:
    fn, field = _function(name, measured)
    plain = isinstance(given, int | float) and not isinstance(given, bool)
    shown = number(given) if plain and fn in ("", "count") else value(field or name, given, zone_named(asked.zone))
    if not named:
        return shown
    if fn == "count" and isinstance(given, int):
        return f"{shown} {nouns(asked, got)[0 if given == 1 else 1]}"
    return f"{_named(fn, field) if fn else field_words(name)} {shown}"


def _what(asked: Asked, got: Got, name: str, measured: Mapping[str, Any]) -> str:
    """What was reckoned: the things themselves where they were counted, or the figure of a field."""
    fn, field = _function(name, measured)
    _, many = nouns(asked, got)
    if fn in ("count", ""):
        return f"{many[:1].upper()}{many[1:]}"
    return f"The {_named(fn, field)} of {many}"


def _function(name: str, measured: Mapping[str, Any]) -> tuple[str, str]:
    made = measured.get(name)
    if isinstance(made, dict) and len(made) == 1:
        ((fn, field),) = made.items()
        return str(fn), str(field)
    return "", name


def _in_all(items: Sequence[Mapping[str, Any]], names: Sequence[str], measured: Mapping[str, Any]) -> str:
    """The whole, where adding up makes sense: for counts and sums of one figure."""
    figures = [one.get(names[0]) for one in items]
    if len(names) > 1 or len(items) < 2 or _function(names[0], measured)[0] not in ("count", "sum"):
        return ""
    plain = [one for one in figures if isinstance(one, int | float) and not isinstance(one, bool)]
    return f": {number(sum(plain))} in all" if len(plain) == len(figures) else ""


def _figures(asked: Asked, got: Got, one: Mapping[str, Any], measured: Mapping[str, Any]) -> str:
    """`The average total is 41.50 over 12 orders.`"""
    _, many = nouns(asked, got)
    counted = next((one.get(name) for name in measured if _function(name, measured)[0] == "count"), None)
    behind = when_and_how(asked)
    parts = []
    for name in measured:
        fn, field = _function(name, measured)
        if fn == "count":
            continue
        given = one.get(name)
        if given is None:
            parts.append(f"there is no {field_words(field)} to reckon with")
        else:
            of = "" if isinstance(counted, int) else f" of the {many}"
            parts.append(f"the {_named(fn, field)}{of} is {_rounded(given, fn, field, asked)}")
    if not parts:
        return f"{there_are(asked, got, counted if isinstance(counted, int) else 0)}."
    text = ", ".join(parts)
    over = f" over {number(counted)} {nouns(asked, got)[0 if counted == 1 else 1]}" if isinstance(counted, int) else ""
    return f"{text[:1].upper()}{text[1:]}{over}{behind}."


def _named(fn: str, field: str) -> str:
    """`average price`; and a total of the field total is just a total."""
    words = field_words(field)
    function = tellers().functions.get(fn, fn)
    return words if words == function else f"{function} {words}"


def _rounded(given: Any, fn: str, field: str, asked: Asked) -> str:
    if isinstance(given, float) and fn == "avg":
        return f"{given:,.2f}"
    return value(field, given, zone_named(asked.zone))
