"""Results of calls as small models read them: short, with the total, and with the next step."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from doorward.agents import tool_results
from doorward.agents.small_models.mentions import is_plain
from doorward.core.errors import BadParams, CommandFailed, NotFound, UnknownCommand
from doorward.core.model import Outcome
from doorward.store.collection_profiles import CollectionProfile, FieldProfile

CALL_FAULTS = frozenset((BadParams.code, NotFound.code, UnknownCommand.code, CommandFailed.code))
"""Codes of calls that were made in a wrong form."""
MOST_CHARACTERS = 1_500
_BOOKKEEPING = frozenset(("version", "createdAt", "updatedAt", "createdBy", "_body"))
_QUERIES = frozenset(("data/list", "data/count", "data/aggregate", "data/query"))
_MOST_VALUES = 12
_MOST_NAMED = 4
_LITERAL = re.compile(r"(\w+)\"?\)?\s*(?:=|==|<>|!=|LIKE|IN)\s*\(?\s*(?:lower\()?'([^']*)'", re.IGNORECASE)
_MOST_ASKED = 200
_PART = "Do not count or compare a part: use a call that counts, sorts or filters"
_EMPTY = "Empty: nothing matches."
_CHECK_FILTER = "Try once more with fewer conditions."
_IF_NONE = "If no value fits, answer that there is none, or that you do not know."
_RIGHT_FILTER = "All these values exist, so the answer may really be none."


def shorten(text: str, most: int = MOST_CHARACTERS) -> str:
    """Cut a text, and say so without a figure, which a model could take for a result."""
    if len(text) <= most:
        return text
    return f"{text[:most]}\n(Only the beginning is shown. {_PART})"


def describe_result(outcome: Outcome, params: Mapping[str, Any], data: Sequence[CollectionProfile], asked: str) -> str:
    """Describe a call that was done: its output, whether it is empty, and the next step for what was asked."""
    state = f"{outcome.command}: done."
    if outcome.command in _QUERIES and is_empty(outcome.result):
        hint = " ".join(explain_empty(outcome.command, params, data))
        return f"{state} {_EMPTY} {hint or _CHECK_FILTER} {_IF_NONE}"
    return f"{state}\n{tool_results.mark_as_data(shorten(_describe_value(outcome)))}\n{describe_next(asked)}"


def describe_next(asked: str) -> str:
    """Say the next step. A small model forgets the request over a result."""
    request = " ".join(asked.split())[:_MOST_ASKED]
    return f'The request was: {request}\nIf this result is enough, write {{"answer": "…"}} now. Else make another call.'


def describe_fault(outcome: Outcome, params: Mapping[str, Any], data: Sequence[CollectionProfile], example: str) -> str:
    """Describe a call that was refused or failed, with the right names and an example of the right form."""
    form = f"\nRight form: {example}" if example else ""
    return f"{tool_results.describe_outcome(outcome)}{_describe_names(outcome.command, params, data)}{form}"


def _describe_names(command: str, params: Mapping[str, Any], data: Sequence[CollectionProfile]) -> str:
    """The fields of the collections that a failed SELECT names, or all collections if it names none."""
    if command != "data/query":
        return ""
    own = [one for one in data if one.kind != "system"]
    text = str(params.get("sql", "")).lower()
    named = [one for one in own if re.search(rf"\b{re.escape(one.name.rpartition('.')[2].lower())}\b", text)]
    lines = [
        f"{one.name}: {', '.join(field.name for field in one.fields if field.name not in _BOOKKEEPING)}"
        for one in (named or own)[:_MOST_NAMED]
    ]
    return f"\nThe fields are:\n{tool_results.mark_as_data(chr(10).join(lines))}" if lines else ""


def is_empty(result: Any) -> bool:
    """Whether a query found nothing: no rows, a count of 0, or one row of nothing but 0 and null."""
    if not isinstance(result, Mapping):
        return False
    if "items" not in result:
        return result.get("count") == 0
    items = result["items"]
    return not items or (len(items) == 1 and not any(value for value in items[0].values()))


def _describe_value(outcome: Outcome) -> str:
    result = outcome.result
    if not isinstance(result, Mapping) or not isinstance(result.get("items"), list):
        return outcome.text
    items = result["items"]
    lines = [f"{len(items)} items" + (", and there are more" if result.get("more") or result.get("cursor") else "")]
    lines += [_describe_item(item) for item in items]
    return "\n".join(lines)


def _describe_item(item: Any) -> str:
    if not isinstance(item, Mapping):
        return item if isinstance(item, str) else json.dumps(item, ensure_ascii=False, default=str)
    shown = {key: value for key, value in item.items() if key not in _BOOKKEEPING and value is not None}
    return "; ".join(f"{key}: {_describe_cell(value)}" for key, value in shown.items())


def _describe_cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{round(value, 4):g}" if abs(value) < 1e6 else f"{value:.2f}"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def explain_empty(command: str, params: Mapping[str, Any], data: Sequence[CollectionProfile]) -> Iterator[str]:
    """Say which values the fields of a filter really have: most empty results come from a wrong filter."""
    conditions = list(_conditions(command, params))
    known = 0
    for name, wanted in conditions:
        fields = [field for field in _fields(command, params, data) if field.name == name]
        if any(wanted in field.values for field in fields if isinstance(wanted, str | int | float)):
            known += 1
            continue
        for field in fields[:1]:
            shown = ", ".join(f"'{value}'" for value in _nearest(field, wanted))
            if shown:
                yield f"Values of {name}: {shown}."
    if known and known == len(conditions):
        yield _RIGHT_FILTER


def _conditions(command: str, params: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    if command == "data/query":
        yield from _LITERAL.findall(str(params.get("sql", ""))[:5_000])
    elif isinstance(params.get("filter"), Mapping):
        yield from _filter_fields(params["filter"], 0)


def _filter_fields(given: Mapping[str, Any], depth: int) -> Iterator[tuple[str, Any]]:
    for key, value in given.items():
        if not key.startswith("$"):
            yield key, value.get("$eq") if isinstance(value, Mapping) else value
        elif isinstance(value, list) and depth < 4:
            for one in value:
                if isinstance(one, Mapping):
                    yield from _filter_fields(one, depth + 1)


def _fields(command: str, params: Mapping[str, Any], data: Sequence[CollectionProfile]) -> Iterator[FieldProfile]:
    text = str(params.get("sql", "")).lower()
    for profile in data:
        table = profile.name.rpartition(".")[2].lower()
        if profile.name == params.get("collection") or (command == "data/query" and table in text):
            yield from profile.fields


def _nearest(field: FieldProfile, wanted: Any) -> list[Any]:
    """The values of a field, those that share letters with the wanted one first."""
    plain = [value for value in field.values if is_plain(value) and "'" not in str(value)]
    if isinstance(wanted, str) and field.dates:
        plain.sort(key=lambda value: -_common_parts(str(value), wanted))
    elif isinstance(wanted, str) and wanted:
        words = set(wanted.lower().split())
        plain.sort(key=lambda value: -len(words & set(str(value).lower().split())))
    return plain[:_MOST_VALUES]


def _common_parts(value: str, wanted: str) -> int:
    """How many of year, month and day two dates share."""
    return sum(one == other for one, other in zip(value[:10].split("-"), wanted[:10].split("-"), strict=False))
