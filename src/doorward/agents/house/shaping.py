"""What is wanted of records: a list, a number, groups, a figure over them; in which order, and how many."""

from __future__ import annotations

import re

from doorward.agents.house import figuring, knowledge, smalltalk
from doorward.agents.house.entities import Comparison, Limit, Measure, Order, stem
from doorward.agents.house.fields import Table, parts
from doorward.agents.house.grouping import grouped, own_stems
from doorward.agents.house.plan import Around, Unknown
from doorward.agents.house.tables import Meant
from doorward.agents.house.wanted import Shape

_FUNCTIONS = {"sum": "sum", "average": "avg"}
_WHICH = knowledge.form("shaping: which")


_AT_LEAST = re.compile(r"\bat (?:the )?(?:very )?(?:least|most)\b", re.IGNORECASE)
_OVERALL = re.compile(r"\b(?:overall|altogether|in total|in all|all told)\b", re.IGNORECASE)


def shape(around: Around, meant: Meant) -> Shape:
    said, table = around.slots.said, meant.table
    wanted = Shape(
        count=bool(re.search(r"\b(?:how many|counts?|number of|tally|how often)\b", said.text, re.IGNORECASE)),
        places=set(),
        taken=set(),
        also_by=[],
        unknown=[],
        heard=set(),
    )
    nouns = "|".join(re.escape(one) for one in table.noun)
    if re.search(rf"\bamount of (?:\w+ )?(?:{nouns})\b", said.text, re.IGNORECASE) and not said.entity("measure"):
        wanted.count = True
    grouped(around, table, wanted, meant)
    _measured(around, table, wanted, meant)
    _ranked(around, table, wanted)
    _ordered(around, table, wanted)
    wanted.fields = [] if wanted.count or wanted.group or wanted.measure else _fields(around, table, meant)
    if wanted.group:
        wanted.count = not wanted.measure
    _plain_enough(around, table, wanted, meant)
    return wanted


def _plain_enough(around: Around, table: Table, wanted: Shape, meant: Meant) -> None:
    """Groups of a figure that was named without saying which: `price by city` could be a sum or an average."""
    said = around.slots.said
    field = _number_said(around, table)
    counts = re.search(r"\b(?:how many|counts?|number of|tally|how often)\b", said.text, re.IGNORECASE)
    places = {at for at, word in enumerate(said.words) if field and table.find([word.lower], ("number", "integer"))}
    if not wanted.group or wanted.measure or meant.places or counts:
        return
    if said.has("sum", "average") and not wanted.order:
        raise Unknown(smalltalk.beyond("I do not know of which field the figure is to be"))
    if not places - wanted.places:
        return
    if wanted.group != field and field not in wanted.also_by and not wanted.order:
        raise Unknown(
            smalltalk.beyond(f"I cannot tell which figure of {field} is wanted, such as its total or its average")
        )


def _measured(around: Around, table: Table, wanted: Shape, meant: Meant) -> None:
    said = around.slots.said
    for entity in said.all("measure"):
        value = entity.value
        if not isinstance(value, Measure) or value.fn == "count":
            continue
        words = [one for one in value.field.lower().split() if stem(one) not in own_stems(table) | {stem(table.name)}]
        if value.fn == "sum" and value.field and not words and not _number_said(around, table):
            wanted.count = True
            continue
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


def _ranked(around: Around, table: Table, wanted: Shape) -> None:
    """Which group has the highest average or total: `which city has the highest average price`, `top 3 by total`."""
    said = around.slots.said
    found = figuring.ranked(said.text)
    if found is None:
        return
    field = table.find([found.field], ("number", "integer"))
    group = wanted.group or _group_of_most(around, table)
    if not field or not group or found.fn not in ("avg", "sum"):
        raise Unknown(smalltalk.not_understood())
    limit = next((one.value for one in said.all("limit") if isinstance(one.value, Limit)), None)
    wanted.group, wanted.measure, wanted.field, wanted.count = group, found.fn, field, False
    wanted.order = "-value" if found.highest else "value"
    wanted.limit = limit.n if limit is not None else 1


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
        if behind is not None and stem(behind[1].lower()) in own_stems(table) and 0 < number.value <= 1_000:
            wanted.limit = number.value
    if order is not None and wanted.measure and not wanted.group and order.field != "count":
        field = table.find(order.field)
        if field and table.fields.get(field) not in ("number", "integer"):
            wanted.group, order = field, None
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
        _one_or_many(said.text, table, wanted)
        return
    if wanted.group and not wanted.measure and limit is not None and limit.by and order is None and limit.n == 1:
        # The cheapest of each group is a figure of each group.
        field = _limit_field(around, table, limit)
        if field:
            wanted.measure, wanted.field = "max" if limit.descending else "min", field
            wanted.count, wanted.limit = False, 0
        return
    if wanted.order or wanted.measure:
        if wanted.group and wanted.measure and not wanted.order and limit is not None:
            wanted.order = "-value"
        return
    if limit is not None and limit.by == "count":
        wanted.group = wanted.group or _group_of_most(around, table) or table.label
        wanted.order, wanted.count = "-count" if limit.descending else "count", True
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
        _one_or_many(said.text, table, wanted)
    elif (
        said.has("oldest")
        and table.time
        and not wanted.count
        and re.search(r"\b(?:oldest|earliest)\b", said.text, re.I)
    ):
        wanted.order = table.time
        _one_or_many(said.text, table, wanted)
    elif said.has("most", "least") and not wanted.count and not _AT_LEAST.search(said.text):
        field = _number_said(around, table) or table.amount()
        if field:
            wanted.order = f"-{field}" if said.has("most") and not said.has("least") else field
            _one_or_many(said.text, table, wanted)
            wanted.field = field


def _by_order(around: Around, table: Table, wanted: Shape, order: Order) -> None:
    if order.field == "count":
        group = wanted.group or _group_of_most(around, table)
        of = table.find(order.of, ("number", "integer")) if order.of else ""
        if group and of and stem(order.of.split()[0]) not in own_stems(table):
            wanted.measure, wanted.field, wanted.count = "sum", of, False
            wanted.group, wanted.order = group, "-value" if order.descending else "value"
            wanted.limit = wanted.limit or 1
        elif group:
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
        field = (
            table.find([word.lower]) if word.stem not in own_stems(table) and word.stem not in knowledge.stop() else ""
        )
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


def _one_or_many(text: str, table: Table, wanted: Shape) -> None:
    """One where the singular was said, otherwise a handful."""
    if wanted.limit:
        return
    one, many = table.noun
    words = {word.lower() for word in re.findall(r"[\w-]+", text)}
    wanted.limit = 1 if one.lower() in words and many.lower() not in words else 10
    wanted.chosen = wanted.limit > 1


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
