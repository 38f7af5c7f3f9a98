"""What records are grouped by: fields, and periods of the time that is meant."""

from __future__ import annotations

import re

from doorward.agents.house import dating, knowledge, queries
from doorward.agents.house.entities import Entity, Group, stem
from doorward.agents.house.fields import Table
from doorward.agents.house.plan import Around
from doorward.agents.house.tables import Meant
from doorward.agents.house.wanted import Shape

_EACH = knowledge.form("shaping: each")
_DIFFERENT = knowledge.form("shaping: different")
_SPLIT = knowledge.forms("shaping: split by")
_AND_BY = re.compile(
    r"(?:\s*,\s*(?:and )?|\s+and\s+)(?:by |per |then by )?(?P<field>\w+)(?=[,?.!]|\s|$)", re.IGNORECASE
)
_PERIODS = {"daily": "day", "weekly": "week", "monthly": "month", "yearly": "year", "annual": "year", "hourly": "hour"}
_EVERY = re.compile(rf"\b({'|'.join(_PERIODS)})\b", re.IGNORECASE)


def grouped(around: Around, table: Table, wanted: Shape, meant: Meant) -> None:
    said = around.slots.said
    entity = _grouping(around, table, wanted)
    words = entity.value.field if entity is not None and isinstance(entity.value, Group) else ""
    if not words:
        found = _EACH.search(said.text)
        held = found is not None and any(
            one.start <= found.start() < one.end for one in said.all("compare", "order", "span")
        )
        words = found["field"] if found is not None and not held else ""
    if not words:
        split = next((one for form in _SPLIT if (one := form.search(said.text)) is not None), None)
        words = split["field"] if split is not None and table.find(split["field"]) else ""
    if not words:
        every = _EVERY.search(said.text)
        words = _PERIODS[every[1].lower()] if every is not None else ""
        wanted.places |= {at for at, word in enumerate(said.words) if words and word.lower in _PERIODS}
    if not words:
        found = _DIFFERENT.search(said.text)
        rest = said.text[found.end() :].split() if found is not None else []
        words = rest[0] if rest else ""
        wanted.distinct = bool(words)
    if not words:
        return
    field = _group_field(around, table, wanted, words)
    if not field:
        return
    if (
        table.fields.get(field) in ("number", "integer")
        and not wanted.count
        and not re.search(r"\b(?:per|each|every|group(?:ed|ing)?)\b", said.text, re.IGNORECASE)
    ):
        up = re.search(r"\b(?:lowest|smallest|cheapest|ascending|least|fewest)\b", said.text, re.IGNORECASE)
        wanted.order = field if up else f"-{field}"
        if entity is not None:
            wanted.places |= said.inside(entity)
        return
    wanted.group = field
    if entity is not None:
        wanted.places |= said.inside(entity)
        _further(around, table, wanted, entity.end)


def _grouping(around: Around, table: Table, wanted: Shape) -> Entity | None:
    """The first grouping by a field. Words behind `by` that are none may be a value: `orders by anna`."""
    said = around.slots.said
    found = [one for one in said.all("group") if isinstance(one.value, Group)]
    fields = {
        one.start: _group_field(around, table, Shape(), one.value.field)
        for one in found
        if isinstance(one.value, Group)
    }
    known = [one for one in found if fields[one.start]]
    later = [one for one in known if said.is_later(one.start)]
    for one in found:
        words = one.value.field.lower().split() if isinstance(one.value, Group) else []
        if one not in known and {stem(word) for word in words} <= own_stems(table):
            # Of each of them, as in `the average quantity per order`, says nothing more.
            wanted.places |= said.inside(one)
        elif one not in known:
            wanted.unknown.append(" ".join(words))
        elif later and one not in later:
            wanted.places |= said.inside(one)
    return next(iter(later or known), None)


def _group_field(around: Around, table: Table, wanted: Shape, words: str) -> str:
    """The field that is grouped by; for a period, the time that it is a period of."""
    stems = {stem(word) for word in words.lower().split()}
    period = next((one for one in queries.PERIODS if stem(one) in stems), "")
    exact = [name for word in words.split() if (name := table.find([word])) and table.names(name, [word])]
    field = (
        exact[0] if exact and not period and not table.names(table.find(words), words.split()) else table.find(words)
    )
    if not field and period and table.time:
        meant_by = dating.meant(table, around.slots.said)
        wanted.period, wanted.dated = period, "" if meant_by.sure else meant_by.field
        return meant_by.field if dating.own_dates(table) else table.time
    if not field:
        own = [word for word in words.split() if table.find([word]) and stem(word.lower()) not in own_stems(table)]
        field = table.find([own[0]]) if own else ""
    return field


def _further(around: Around, table: Table, wanted: Shape, end: int) -> None:
    """What else it is grouped by: `by status and city`, `per city for each month`, `by status, city and category`."""
    said = around.slots.said
    words = [
        (one.value.field, said.inside(one))
        for one in said.all("group")
        if isinstance(one.value, Group) and one.start >= end
    ]
    rest = said.text[end:]
    while (found := _AND_BY.match(rest)) is not None and table.find([found["field"]]):
        words.append((found["field"], set()))
        rest = rest[found.end() :]
    for field, places in words:
        period = wanted.period
        name = _group_field(around, table, wanted, field)
        wanted.places |= places
        if name and wanted.period and not period:
            # What is reckoned by periods is grouped by these first.
            wanted.group, name = name, wanted.group
        if name and name != wanted.group and name not in wanted.also_by:
            wanted.also_by.append(name)


def own_stems(table: Table) -> set[str]:
    return {stem(one) for one in table.noun}
