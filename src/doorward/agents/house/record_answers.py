"""Answers about records, from the results alone."""

from __future__ import annotations

from typing import Any

from doorward.agents.house.record_query import RecordQuery, describe_conditions, nouns
from doorward.agents.house.request_context import RequestContext
from doorward.agents.house.results import ToolResult
from doorward.agents.house.sentences import (
    bullets,
    counted,
    describe_record,
    field_words,
    in_a_row,
    name,
    number,
    value,
)
from doorward.store.values import render_time

_META = ("version", "createdAt", "updatedAt", "createdBy", "updatedBy", "access_read", "access_edit", "access_full")
_MEASURES = {"sum": "total", "avg": "average", "max": "highest", "min": "lowest"}
_MAX_IN_A_ROW = 6
_CALLED_OFF = frozenset(("cancelled", "canceled", "postponed", "rejected", "void"))


def answer(context: RequestContext, query: RecordQuery, result: ToolResult) -> str:
    """Return the answer to a query from its result."""
    if query.measure == "count" or (query.measure == "exists" and result.command == "data/query"):
        return _count(query, int(_first(result, "count") or 0))
    if query.measure == "rank":
        return _rank(query, result)
    if query.measure == "values":
        return _values(query, result)
    if query.group:
        return _groups(context, query, result)
    if query.measure in _MEASURES:
        return _measure(query, result)
    return _records(context, query, result)


def _first(result: ToolResult, key: str) -> Any:
    if isinstance(result.value, dict) and key in result.value:
        return result.value[key]
    items = result.items
    return items[0].get(key) if items and isinstance(items[0], dict) else None


def _count(query: RecordQuery, count: int) -> str:
    one, many = nouns(query.collection)
    how = describe_conditions(query)
    if query.measure == "exists":
        return (
            f"Yes, there {'is' if count == 1 else 'are'} {counted(count, one, many)}{how}."
            if count
            else f"No, there are no {many}{how}."
        )
    if not count:
        return f"There are no {many}{how}."
    return f"There {'is' if count == 1 else 'are'} {counted(count, one, many)}{how}."


def _rank(query: RecordQuery, result: ToolResult) -> str:
    inner = [one for one in query.linked if (one.collection, one.link) == query.ranked_by]
    how = (
        describe_conditions(RecordQuery(collection=query.ranked_by[0], conditions=inner[0].conditions)) if inner else ""
    )
    things = f"{nouns(query.ranked_by[0])[1]}{how}"
    rows = [row for row in result.items if isinstance(row, dict)]
    if not rows:
        return f"There are no {nouns(query.collection)[1]}."
    limit = query.limit or 1
    last = rows[min(limit, len(rows)) - 1].get("count")
    shown = [row for at, row in enumerate(rows) if at < limit or row.get("count") == last]
    names = [f"{name(str(row.get('name')))} ({number(row.get('count') or 0)})" for row in shown]
    if query.of:
        who = in_a_row([name(str(row.get("name"))) for row in shown])
        return (
            f"The highest total {field_words(query.of[0])} of {things} is that of {who}: {number(shown[0]['count'])}."
        )
    if limit > 1:
        return f"The {nouns(query.collection)[1]} with the most {things}:\n{bullets(names)}"
    word, verb = "most" if query.descending else "fewest", "has" if len(shown) == 1 else "have"
    who = in_a_row([name(str(row.get("name"))) for row in shown])
    return f"{who} {verb} the {word} {things}: {number(shown[0].get('count') or 0)}."


def _values(query: RecordQuery, result: ToolResult) -> str:
    field = query.of[-1]
    found = [row.get("name", row.get(field)) for row in result.items if isinstance(row, dict)]
    found = [one for one in found if one is not None]
    many = nouns(query.collection)[1]
    how = describe_conditions(query)
    if not found:
        return f"The {many}{how} have no {field_words(field)}."
    texts = [value(field, one) for one in found]
    head = f"The {many}{how} have {counted(len(found), 'value', 'values')} of {field_words(field)}"
    return (
        f"{head}: {in_a_row(texts)}." if len(texts) <= _MAX_IN_A_ROW else f"{head}:\n{bullets(texts, 50, result.total)}"
    )


def _groups(context: RequestContext, query: RecordQuery, result: ToolResult) -> str:
    many = nouns(query.collection)[1]
    field = query.group[-1]
    key = query.measure if query.measure in _MEASURES else "count"
    rows = [row for row in result.items if isinstance(row, dict)]
    how = describe_conditions(query)
    if not rows:
        return f"There are no {many}{how}."
    nothing = 0 if key in ("sum", "count") else None
    named = [(row.get("name", row.get(field)), nothing if row.get(key) is None else row[key]) for row in rows]
    if query.measure == "compare":
        return _compare(query, named)
    named.sort(key=lambda pair: -pair[1] if isinstance(pair[1], int | float) else 0)
    lines = [f"{value(field, one) if one is not None else '(none)'}: {value(key, amount)}" for one, amount in named]
    what = f"{_MEASURES[key]} {field_words(query.of[-1])} of the {many}" if key in _MEASURES else many
    head = f"{what[0].upper()}{what[1:]}{'' if key in _MEASURES else how} by {' '.join(map(field_words, query.group))}"
    return f"{head}:\n{bullets(lines, 60, result.total)}"


def _compare(query: RecordQuery, found: list[tuple[Any, Any]]) -> str:
    many, field = nouns(query.collection)[1], query.group[-1]
    counts = {one: amount for one, amount in found if isinstance(amount, int)}
    wanted = next(one.value for one in query.conditions if one.op == "in" and one.path[0] == query.group[0])
    first, second = sorted(wanted, key=lambda one: -counts.get(one, 0))[:2]
    more, less = counts.get(first, 0), counts.get(second, 0)
    if more == less:
        return f"As many {value(field, first)} as {value(field, second)} {many}: {number(more)} each."
    return f"More {value(field, first)}: {number(more)} {many}, beside {number(less)} {value(field, second)}."


def _measure(query: RecordQuery, result: ToolResult) -> str:
    many = nouns(query.collection)[1]
    amount, count = _first(result, query.measure), _first(result, "count")
    how = describe_conditions(query)
    if amount is None:
        return f"There are no {many}{how} with {field_words(query.of[-1])}."
    what = f"The {_MEASURES[query.measure]} {field_words(query.of[-1])} of the {many}{how} is {number(amount)}"
    return f"{what} (from {counted(int(count), 'record', 'records')})." if isinstance(count, int) else f"{what}."


def _records(context: RequestContext, query: RecordQuery, result: ToolResult) -> str:
    profile = context.lexicon.profile(query.collection)
    one, many = nouns(query.collection)
    rows = [_with_kinds(context, query, row) for row in result.items if isinstance(row, dict)]
    how = describe_conditions(query)
    if not rows:
        return f"{'No, there' if query.measure == 'exists' else 'There'} are no {many}{how}."
    shown = _shown_fields(query)
    texts = [_record(row, profile.label or "", profile.key, shown) for row in rows]
    if len(rows) == 1 and query.limit in (0, 1):
        return _single(query, rows[0], profile.label, profile.key, shown, how)
    order = f", by {field_words(query.order[-1])}" if query.order else ""
    total = result.total if result.total is not None else len(rows)
    amount = counted(total, one, many) if not result.has_more else f"more than {counted(len(rows), one, many)}"
    lead = "Yes, there" if query.measure == "exists" else "There"
    if query.limit and len(rows) >= query.limit:
        head = f"The first {number(len(rows))} {many}{how}{order}"
    else:
        head = f"{lead} are {amount}{how}{order}"
    return f"{head}:\n{bullets(texts, 50, total)}"


def _with_kinds(context: RequestContext, query: RecordQuery, row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with its flags and times as data/list gives them; data/query gives numbers."""
    kinds = {one.name: one.kind for one in context.lexicon.profile(query.collection).fields}
    found = dict(row)
    for field, given in row.items():
        if kinds.get(field) == "boolean" and given in (0, 1):
            found[field] = bool(given)
        elif kinds.get(field) == "time" and isinstance(given, int | float):
            found[field] = render_time(given)
    return found


def _shown_fields(query: RecordQuery) -> list[str]:
    paths = [path for path in (query.of, query.order) if path]
    return list(dict.fromkeys(path[0] if len(path) == 1 else " ".join(path) for path in paths))


def _record(row: dict[str, Any], label: str, key: str, shown: list[str]) -> str:
    if not label or row.get(label) in (None, ""):
        return describe_record(row, (key, *shown), _META)
    extra = [f"{field_words(one)} {value(one, row.get(one))}" for one in shown if one != label]
    return f"{name(str(row[label]))}{': ' if extra else ''}{', '.join(extra)}"


def _single(query: RecordQuery, row: dict[str, Any], label: str, key: str, shown: list[str], how: str) -> str:
    one = nouns(query.collection)[0]
    who = name(str(row.get(label) or row.get(key) or one))
    asked = [part for part in shown if part in row]
    if query.of and asked:
        field = asked[0]
        rest = [f"{field_words(part)} {value(part, row[part])}" for part in asked[1:]]
        rest += _called_off(row)
        also = f" ({', '.join(rest)})" if rest else ""
        return f"{field_words(field)} of {who}: {value(field, row.get(field))}{also}."
    lead = "Yes: " if query.measure == "exists" else ""
    if query.order and asked:
        shown = [f"{field_words(asked[0])} {value(asked[0], row[asked[0]])}", *_called_off(row)]
        return f"{lead}{who} ({', '.join(shown)})."
    details = describe_record(row, (), (*_META, label))
    if label and query.conditions and not any(each.path[0] in (label, key) for each in query.conditions):
        return f"{lead}There is 1 {one}{how}: {who}."
    return f"{lead}{who}: {details}."


def _called_off(row: dict[str, Any]) -> list[str]:
    """Return the status of a record that does not take place, which people would want to know."""
    states = [(one, row[one]) for one in ("status", "state") if str(row.get(one)).lower() in _CALLED_OFF]
    return [f"{one} {value(one, given)}" for one, given in states]
