"""What is wanted of records: a list, a number, groups, a figure over them; in which order, and how many."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from doorward.agents.house import knowledge, queries
from doorward.agents.house.entities import Comparison, Group, Limit, Measure, Order, stem
from doorward.agents.house.fields import Table, parts
from doorward.agents.house.plan import Around, NotOffered, Step
from doorward.agents.house.tables import Meant

_FUNCTIONS = {"sum": "sum", "average": "avg"}
_EACH = knowledge.form("shaping: each")
_WHICH = knowledge.form("shaping: which")
_DIFFERENT = knowledge.form("shaping: different")


_SPLIT = knowledge.forms("shaping: split by")
_OVERALL = re.compile(r"\b(?:overall|altogether|in total|in all|all told)\b", re.IGNORECASE)


class Shape(msgspec.Struct, kw_only=True):
    """Filled while the request is read."""

    count: bool = False
    group: str = ""
    period: str = ""
    """The period by which a time is grouped, such as month."""
    measure: str = ""
    field: str = ""
    """What is measured, or what is ordered by."""
    order: str = ""
    limit: int = 0
    fields: list[str] = []
    places: set[int] = set()
    """Words that are explained by it."""
    taken: set[int] = set()
    """Where comparisons begin that were read as something else."""


def shape(around: Around, meant: Meant) -> Shape:
    said, table = around.slots.said, meant.table
    wanted = Shape(
        count=bool(re.search(r"\b(?:how many|counts?|number of|tally|how often)\b", said.text, re.IGNORECASE)),
        places=set(),
        taken=set(),
    )
    nouns = "|".join(re.escape(one) for one in table.noun)
    if re.search(rf"\bamount of (?:\w+ )?(?:{nouns})\b", said.text, re.IGNORECASE) and not said.entity("measure"):
        wanted.count = True
    _grouped(around, table, wanted, meant)
    _measured(around, table, wanted, meant)
    _ordered(around, table, wanted)
    wanted.fields = [] if wanted.count or wanted.group or wanted.measure else _fields(around, table, meant)
    if wanted.group:
        wanted.count = not wanted.measure
    return wanted


def _grouped(around: Around, table: Table, wanted: Shape, meant: Meant) -> None:
    said = around.slots.said
    entity = said.entity("group")
    words = entity.value.field if entity is not None and isinstance(entity.value, Group) else ""
    if not words:
        found = _EACH.search(said.text)
        words = found["field"] if found is not None else ""
    if not words:
        split = next((one for form in _SPLIT if (one := form.search(said.text)) is not None), None)
        words = split["field"] if split is not None and table.find(split["field"]) else ""
    if not words:
        found = _DIFFERENT.search(said.text)
        rest = said.text[found.end() :].split() if found is not None else []
        words = rest[0] if rest else ""
    if not words:
        return
    period = next((one for one in queries.PERIODS if stem(one) in {stem(word) for word in words.lower().split()}), "")
    field = table.find(words)
    if not field and period and table.time:
        wanted.period, field = period, table.time
    elif not field:
        own = [word for word in words.split() if table.find([word]) and stem(word.lower()) not in _own(table)]
        field = table.find([own[0]]) if own else ""
    if not field:
        return
    if table.fields.get(field) in ("number", "integer") and not re.search(
        r"\b(?:per|each|every)\b", said.text, re.IGNORECASE
    ):
        up = re.search(r"\b(?:lowest|smallest|cheapest|ascending|least|fewest)\b", said.text, re.IGNORECASE)
        wanted.order = field if up else f"-{field}"
        if entity is not None:
            wanted.places |= said.inside(entity)
        return
    wanted.group = field
    if entity is not None:
        wanted.places |= said.inside(entity)


def _own(table: Table) -> set[str]:
    return {stem(one) for one in table.noun}


def _measured(around: Around, table: Table, wanted: Shape, meant: Meant) -> None:
    said = around.slots.said
    for entity in said.all("measure"):
        value = entity.value
        if not isinstance(value, Measure) or value.fn == "count":
            continue
        words = [one for one in value.field.lower().split() if stem(one) not in _own(table) | {stem(table.name)}]
        field = table.find(words, ("number", "integer")) if words else ""
        time = table.find(words, ("time", "date", "date-time")) if words and value.fn in ("min", "max") else ""
        field = field or time or _number_said(around, table) or table.amount()
        if not field:
            continue
        wanted.measure, wanted.field = value.fn, field
        wanted.places |= said.inside(entity)
    compared = any(isinstance(one.value, Comparison) and one.value.op != "eq" for one in said.all("compare"))
    if not wanted.measure and not compared:
        for concept, fn in _FUNCTIONS.items():
            if said.has(concept) and not (concept == "sum" and wanted.count):
                field = _number_said(around, table)
                if field or concept == "average":
                    wanted.measure, wanted.field = fn, field or table.amount()
    if not wanted.measure and re.search(r"\bhow much\b", said.text, re.IGNORECASE):
        field = _number_said(around, table) or table.amount()
        if field:
            wanted.measure, wanted.field = "sum", field
    if (
        wanted.count
        and not compared
        and not wanted.group
        and _OVERALL.search(said.text)
        and _number_said(around, table)
    ):
        wanted.measure, wanted.field = "sum", _number_said(around, table)
    if not wanted.field:
        wanted.measure = ""
    if wanted.measure:
        wanted.count = False
    # Of the most and the least the record itself is wanted, where somebody asks which one it is.
    if wanted.measure in ("min", "max") and not wanted.group and _record_wanted(said.text, table, wanted.field):
        wanted.order = f"-{wanted.field}" if wanted.measure == "max" else wanted.field
        wanted.limit, wanted.measure = 1, ""


def _record_wanted(text: str, table: Table, field: str) -> bool:
    named = stem(parts(field)[0])
    if any(stem(word) == named for word in re.findall(r"\w+", text.lower())):
        return (
            re.match(r"(?:which|who|whose|show|list|give|find|get)\b", text, re.IGNORECASE) is not None
            and re.match(
                r"(?:show|give|get|find)(?: me)? (?:the )?(?:highest|lowest|maximum|minimum|max|min)\b",
                text,
                re.IGNORECASE,
            )
            is None
        )
    return True


def _number_said(around: Around, table: Table) -> str:
    """The number field that the request names."""
    said = around.slots.said
    for word in said.words:
        field = table.find([word.lower], ("number", "integer")) if word.stem not in knowledge.stop() else ""
        if field and field not in ("version", "id"):
            return field
    return ""


def _ordered(around: Around, table: Table, wanted: Shape) -> None:
    said = around.slots.said
    limit = next((one.value for one in said.all("limit") if isinstance(one.value, Limit)), None)
    order = next((one.value for one in said.all("order") if isinstance(one.value, Order)), None)
    if limit is not None:
        wanted.limit = limit.n
    number = said.entity("number")
    if limit is None and number is not None and isinstance(number.value, int) and not said.entity("compare"):
        behind = re.match(r"\s+(?:\w+\s+){0,2}?(\w+)", said.text[number.end :])
        if behind is not None and stem(behind[1].lower()) in _own(table) and 0 < number.value <= 1_000:
            wanted.limit = number.value
    if order is not None:
        _by_order(around, table, wanted, order)
    early = knowledge.form("shaping: the first made").search(said.text)
    late = knowledge.form("shaping: the last made").search(said.text)
    if (early or late) and table.time and not wanted.count:
        field = (
            "updatedAt"
            if late and re.search(r"chang|updat", late[0], re.IGNORECASE) and "updatedAt" in table.fields
            else table.time
        )
        wanted.order = field if early else f"-{field}"
        wanted.limit = wanted.limit or _one_or_many(said.text, table)
        return
    if wanted.order or wanted.measure:
        if wanted.group and wanted.measure and not wanted.order and limit is not None:
            wanted.order = "-value"
        return
    if limit is not None and (limit.by or limit.end):
        field = _limit_field(around, table, limit)
        if field:
            down = limit.descending if limit.by else limit.end in ("last", "top")
            if field == table.time and not limit.by:
                down = limit.end != "first"
            wanted.order = f"-{field}" if down else field
            wanted.field = wanted.field or ("" if table.is_time(field) else field)
            return
    if wanted.group:
        return
    if said.has("newest") and table.time and not wanted.count and around.slots.span() is None:
        wanted.order = f"-{table.time}"
        wanted.limit = wanted.limit or _one_or_many(said.text, table)
    elif (
        said.has("oldest")
        and table.time
        and not wanted.count
        and re.search(r"\b(?:oldest|earliest)\b", said.text, re.I)
    ):
        wanted.order = table.time
        wanted.limit = wanted.limit or _one_or_many(said.text, table)
    elif said.has("most", "least") and not wanted.count:
        field = _number_said(around, table) or table.amount()
        if field:
            wanted.order = f"-{field}" if said.has("most") and not said.has("least") else field
            wanted.limit = wanted.limit or _one_or_many(said.text, table)
            wanted.field = field


def _by_order(around: Around, table: Table, wanted: Shape, order: Order) -> None:
    if order.field == "count":
        group = wanted.group or _group_of_most(around, table)
        if group:
            wanted.group, wanted.order = group, "-count" if order.descending else "count"
            wanted.limit = wanted.limit or 1
        return
    field = table.find(order.field) or ("" if order.field else table.time)
    if not field and re.search(r"size|large|big|high|low|expensive|cheap", order.field):
        field = table.amount()
    if not field and re.search(r"new|old|recent|date|time|creat|age", order.field):
        field = table.time
    if field:
        wanted.order = f"-{field}" if order.descending else field


def _group_of_most(around: Around, table: Table) -> str:
    """`which customer has the most orders`: the field of the orders by which they are counted."""
    for word in around.slots.said.words:
        field = table.find([word.lower]) if word.stem not in _own(table) and word.stem not in knowledge.stop() else ""
        if field and table.fields.get(field) not in ("number", "integer"):
            return field
    return ""


def _limit_field(around: Around, table: Table, limit: Limit) -> str:
    said = _number_said(around, table)
    if limit.by in ("size", "amount", "value", "price", "cost", "large", "big"):
        return table.find(limit.by, ("number", "integer")) or said or table.amount()
    if limit.by in ("time", "modified", "created", "date", "age", "new", "old"):
        return table.time
    if limit.by:
        return table.find(limit.by) or table.amount()
    if limit.end == "top":
        return said or table.amount()
    return table.time


def _one_or_many(text: str, table: Table) -> int:
    """One where the singular was said, otherwise a handful."""
    one, many = table.noun
    words = {word.lower() for word in re.findall(r"[\w-]+", text)}
    return 1 if one.lower() in words and many.lower() not in words else 10


def _fields(around: Around, table: Table, meant: Meant) -> list[str]:
    """The fields that are asked for by name: `names and emails of the customers`."""
    said = around.slots.said
    covered = {place for one in said.reading.found for place in said.inside(one)} | set(meant.places)
    found: list[str] = []
    for place, word in enumerate(said.words):
        if place in covered or word.stem in knowledge.stop():
            continue
        for name in table.fields:
            if {stem(one) for one in parts(name)} == {word.stem} and name not in found:
                found.append(name)
    return found


def call(around: Around, table: Table, wanted: Shape, where: dict[str, Any]) -> Step:
    """The one call that gives it."""
    base: dict[str, Any] = {"collection": table.name}
    if where:
        base["filter"] = where
    if wanted.group and wanted.period:
        return _by_period(around, table, wanted, where)
    if (wanted.group or wanted.measure) and "data/aggregate" in around.tools:
        params = dict(base)
        if wanted.group:
            params["groupBy"] = [wanted.group]
        name = f"{wanted.measure}_{wanted.field}" if wanted.measure else "count"
        if wanted.measure:
            params["metrics"] = {name: {wanted.measure: wanted.field}, "count": {"count": "*"}}
        if wanted.order:
            down = "-" if wanted.order.startswith("-") else ""
            params["orderBy"] = f"{down}{name}" if wanted.order.lstrip("-") in ("value", "count") else wanted.order
        if wanted.limit and wanted.group:
            params["limit"] = wanted.limit
        return Step("data/aggregate", params)
    small = table.kind == "system" and table.name in ("rooms", "users", "recipes", "servers") and not where
    if wanted.count and not (small and "data/list" in around.tools) and "data/count" in around.tools:
        return Step("data/count", base)
    if "data/list" in around.tools:
        if wanted.order:
            base["orderBy"] = wanted.order
        base["limit"] = wanted.limit or (200 if small else 50)
        return Step("data/list", base)
    if "data/count" in around.tools and wanted.count:
        return Step("data/count", base)
    raise NotOffered("data/list")


def _by_period(around: Around, table: Table, wanted: Shape, where: dict[str, Any]) -> Step:
    if "data/query" not in around.tools or where.keys() - {wanted.group}:
        raise NotOffered("data/query")
    span = around.slots.span() if where else None
    bounds = None
    if span is not None:
        bounds = (span.since or 0.0, span.until if span.until is not None else around.now + 86_400)
    query = queries.by_period(table, wanted.group, wanted.period, (wanted.measure, wanted.field), bounds)
    wanted.group = wanted.period
    return Step("data/query", query)
