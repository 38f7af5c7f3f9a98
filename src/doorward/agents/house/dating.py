"""Fields of people's own collections that hold dates. Their type says only that they are texts, so records tell."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from doorward.agents.house import knowledge
from doorward.agents.house.entities import Span, stem
from doorward.agents.house.fields import Table, parts
from doorward.agents.house.said import Said
from doorward.agents.house.slots import within
from doorward.core.clock import to_iso

_NAMES = knowledge.words("dating: names")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d\S*")
_SPEAKS = knowledge.form("dating: speaks of time")
_MADE = knowledge.form("dating: made")
_CHANGED = knowledge.form("dating: changed")
_AHEAD = knowledge.words("dating: ahead")
_MONTH = re.compile(r"^(?!.*\d{4})(?!.*\b(?:last|this|past)\b).*[a-z]{3}", re.IGNORECASE | re.DOTALL)
"""A stretch that names neither a year nor which one of several is meant."""
_OWN = ("createdAt", "updatedAt")
_DAY = 86_400
_HALF_A_YEAR = 183 * _DAY


def perhaps(table: Table) -> list[str]:
    """The fields of texts that are called as dates are."""
    if table.kind == "system":
        return []
    texts = table.of("text", "string", "any")
    return [one for one in texts if one not in ("id", "createdBy") and _sounds_like_a_date(one)]


def _sounds_like_a_date(field: str) -> bool:
    words = parts(field)
    return any(one in _NAMES for one in (*words, "".join(words))) or (words[-1].endswith("ed") and len(words[-1]) > 4)


def matters(said: Said, table: Table) -> bool:
    """Whether a request has to do with time, so that it matters which field says when."""
    return (
        said.entity("span", "age", "date") is not None
        or said.has("newest", "oldest")
        or _SPEAKS.search(said.text) is not None
        or any(word.lower in parts(field) for field in perhaps(table) for word in said.words)
    )


def dated(table: Table, rows: Sequence[Any], said: Said) -> Table:
    """The collection with those fields as dates whose values are dates, as far as records were looked at."""
    kinds = {field: _kind([row.get(field) for row in rows if isinstance(row, dict)]) for field in perhaps(table)}
    found = {field: kind for field, kind in kinds.items() if kind}
    if not found:
        return table
    known = msgspec.structs.replace(table, fields={**table.fields, **found})
    return msgspec.structs.replace(known, when=meant(known, said).field)


def _kind(given: Sequence[Any]) -> str:
    there = [one for one in given if one not in (None, "")]
    if not there or not all(isinstance(one, str) for one in there):
        return ""
    if all(_DATE.fullmatch(one) for one in there):
        return "date"
    return "date-time" if all(_DATE.fullmatch(one) or _MOMENT.fullmatch(one) for one in there) else ""


def own_dates(table: Table) -> list[str]:
    return [] if table.kind == "system" else [one for one in table.of("date", "date-time") if one not in _OWN]


class Dated(msgspec.Struct, frozen=True):
    field: str
    sure: bool = True
    """Whether there is no other field that could as well be meant; if not, the answer says which it went by."""


def meant(table: Table, said: Said, about: str = "") -> Dated:
    """The field that says when, as a request means it."""
    own = own_dates(table)
    named = next((one for one in own if _is_named(table, one, said)), "")
    if named:
        return Dated(named)
    if own and _CHANGED.search(said.text) and "updatedAt" in table.fields:
        return Dated("updatedAt")
    if own and _MADE.search(said.text) and "createdAt" in table.fields:
        return Dated("createdAt")
    if len(own) == 1:
        return Dated(own[0])
    if about == "changed" and "updatedAt" in table.fields:
        return Dated("updatedAt", not own)
    if about == "created" and "createdAt" in table.fields:
        return Dated("createdAt", not own)
    return Dated("createdAt" if "createdAt" in table.fields and table.kind != "system" else table.time, not own)


def ahead(field: str, span: Span, said: Said, now: float) -> Span:
    """A stretch of time for a date that lies ahead: `due in December` is the nearest one, where no year was said."""
    words = parts(field)
    entity = next((one for one in said.all("span") if one.value == span), None)
    past = (span.until if span.until is not None else now) <= now - _HALF_A_YEAR
    if entity is None or not past or not _AHEAD & {*words, "".join(words)} or not _MONTH.search(entity.words):
        return span
    year = re.search(r"\b\d{4}\b", span.says)
    says = span.says.replace(year[0], str(int(year[0]) + 1)) if year else span.says
    return Span(_year_later(span.since), _year_later(span.until), says, span.about)


def _year_later(seconds: float | None) -> float | None:
    if seconds is None:
        return None
    moment = datetime.fromtimestamp(seconds, UTC)
    last = moment.month == 2 and moment.day == 29
    return moment.replace(year=moment.year + 1, day=28 if last else moment.day).timestamp()


def _is_named(table: Table, field: str, said: Said) -> bool:
    """Whether a request speaks of a date by its name; the name of the collection itself does not count as that."""
    things = {stem(one) for one in table.noun} | set(table.noun)
    telling = [one for one in parts(field) if one not in ("at", "on", "date", "day", "time")] or list(parts(field))
    heard = {word.lower for word in said.words} | {word.stem for word in said.words if word.stem not in things}
    return all(one in heard or (stem(one) in heard and stem(one) not in things) for one in telling)


def bounds(table: Table, field: str, span: Span) -> dict[str, Any]:
    """A stretch of time as a condition on a field. Dates that are texts are compared as texts."""
    kind = table.fields.get(field)
    if kind not in ("date", "date-time") or table.kind == "system":
        return within(span)
    found: dict[str, Any] = {}
    if span.since is not None:
        found["$gte"] = _text(span.since, day=kind == "date")
    if span.until is not None:
        found["$lt"] = _text(span.until, day=False)
    return found


def _text(seconds: float, *, day: bool) -> str:
    """A time as text: a day where it begins one, so that dates and times compare with it alike."""
    if day or seconds % _DAY == 0:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")
    return to_iso(seconds)


def edge(table: Table, field: str, seconds: float) -> str:
    """One moment as a bound on a field."""
    kind = table.fields.get(field)
    return _text(seconds, day=kind == "date") if kind in ("date", "date-time") else to_iso(seconds)
