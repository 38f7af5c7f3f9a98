"""Records in words: how many, and the telling fields of the first of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import tzinfo
from typing import Any

from doorward.agents.house.telling.asked import Asked, Got
from doorward.agents.house.telling.figures import field_words, number, value, zone_named
from doorward.agents.house.telling.knowledge import tellers
from doorward.agents.house.telling.nouns import goes_on, in_all, items_of, nouns, there_are, when_and_how

_MOST = 10
_COLUMNS = 5
_LONG = 200


def records(asked: Asked, got: Got) -> str:
    """The records of a list, or the rows of a query."""
    items = items_of(got.value) or []
    whole = in_all(got.value, items)
    if not items:
        return f"{there_are(asked, got, whole or 0)}."
    single = _single(asked, got, items)
    if single:
        return single
    head = _head(asked, got, items, whole)
    if asked.count and not asked.fields:
        return f"{head}."
    zone = zone_named(asked.zone)
    columns = _columns(asked, got, items)
    lines = [f"- {line(one, columns, zone)}" for one in items[:_MOST]]
    left = whole - len(lines) if whole is not None else 0
    if left > 0:
        lines.append(f"… and {number(left)} more")
    return "\n".join([f"{head}:", *lines])


def _single(asked: Asked, got: Got, items: Sequence[Any]) -> str:
    """One row with one value is a figure, and one record is told as such."""
    if len(items) != 1 or goes_on(got.value):
        return ""
    one = items[0]
    if isinstance(one, dict) and len(one) == 1 and got.command == "data/query":
        ((field, given),) = one.items()
        return f"The {field_words(field)} is {value(field, given, zone_named(asked.zone))}."
    return ""


def _head(asked: Asked, got: Got, items: Sequence[Any], whole: int | None) -> str:
    _, many = nouns(asked, got)
    if (
        asked.limit
        and len(items) <= asked.limit
        and (whole is None or whole >= asked.limit)
        and len(items) == asked.limit
    ):
        return f"Here {'is' if len(items) == 1 else 'are'} {_these(asked, got, len(items))}"
    if whole is None:
        shown = min(len(items), _MOST)
        return (
            f"There are more than {number(len(items))} {many}{when_and_how(asked)}; here are the first {number(shown)}"
        )
    return there_are(asked, got, whole)


def _these(asked: Asked, got: Got, count: int) -> str:
    one, many = nouns(asked, got)
    what = f"the {one}" if count == 1 else f"{number(count)} {many}"
    return f"{what}{when_and_how(asked)}"


def _columns(asked: Asked, got: Got, items: Sequence[Any]) -> list[str]:
    """The fields to tell: those that were asked for, those that are known to tell most, or else the likeliest."""
    rows = [one for one in items if isinstance(one, dict)]
    there = list(dict.fromkeys(field for one in rows[:_MOST] for field in one))
    label = [field for field in tellers().labels if field in there][:1]
    if asked.fields:
        return list(dict.fromkeys([*label, *(field for field in asked.fields if field in there)]))
    known = tellers().columns.get(str(got.params.get("collection") or ""))
    if known is not None:
        return [field for field in known if field in there]
    given = got.params.get("fields")
    if isinstance(given, list) and given:
        return [field for field in given if field in there]
    ordered = str(got.params.get("orderBy") or "").lstrip("-")
    plain = [field for field in there if field not in tellers().left_out and _tells(field, rows)]
    filtered = [field for field in _filtered(got.params.get("filter")) if field in there]
    wanted = dict.fromkeys([*label, *(one for one in (ordered,) if one in there), *filtered, *plain])
    return list(wanted)[:_COLUMNS]


def _filtered(conditions: Any) -> list[str]:
    """The fields that a filter is about."""
    if isinstance(conditions, dict):
        return [
            field
            for key, inside in conditions.items()
            for field in (_filtered(inside) if key.startswith("$") else [key])
        ]
    if isinstance(conditions, list):
        return [field for one in conditions for field in _filtered(one)]
    return []


def _tells(field: str, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a field has short, plain values."""
    given = [one.get(field) for one in rows[:_MOST]]
    if all(one is None or one == "" for one in given):
        return False
    return not any(isinstance(one, dict | list) or (isinstance(one, str) and len(one) > _LONG) for one in given)


def line(one: Any, columns: Sequence[str], zone: tzinfo) -> str:
    """One record on one line: what names it, and then its other fields."""
    if not isinstance(one, dict):
        return value("", one, zone)
    shown = [field for field in columns if field in one] or list(one)[:_COLUMNS]
    if not shown:
        return "(an empty record)"
    first, rest = shown[0], shown[1:]
    head = value(first, one[first], zone)
    if first not in tellers().labels:
        head = f"{field_words(first)} {head}"
    parts = [f"{field_words(field)} {value(field, one[field], zone)}" for field in rest if one[field] not in (None, "")]
    return f"{head}: {', '.join(parts)}" if parts else head


def record(asked: Asked, got: Got) -> str:
    """One record with all of its fields."""
    if not isinstance(got.value, dict) or not got.value:
        return tellers().nothing
    zone = zone_named(asked.zone)
    if asked.fields and all(field in got.value for field in asked.fields) and len(asked.fields) <= 3:
        one = f"the {nouns(asked, got)[0]} {value('id', got.params.get('id'), zone)}"
        return " ".join(
            f"The {field_words(field)} of {one} is {value(field, got.value[field], zone)}." for field in asked.fields
        )
    lines = [f"- {field_words(field)}: {value(field, given, zone)}" for field, given in list(got.value.items())[:40]]
    more = [f"… and {number(len(got.value) - 40)} more fields"] if len(got.value) > 40 else []
    collection = got.params.get("collection")
    what = f"The {nouns(asked, got)[0]}" if collection or asked.noun[0] else "It"
    known = got.params.get("id")
    named = f" {value('id', known, zone)}" if known is not None and what != "It" else ""
    return "\n".join([f"{what}{named}:" if what != "It" else "It gave:", *lines, *more])
