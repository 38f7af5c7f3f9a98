"""Questions that go on from an earlier one: `and which of those are open`, `sort them by price`, `what about Anna`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import msgspec

from doorward.agents.house.record_query import RecordQuery
from doorward.agents.house.record_reader import RecordReader, RecordReading
from doorward.agents.house.request_context import RequestContext

_REFERS = re.compile(
    r"\b(those|them|these|they|their|of it|ones|that list|the same|(?:sort|order|group) (?:that|it))\b", re.IGNORECASE
)
_REPLACES = re.compile(r"\s*(and|what about|how about|same|now|only|just|but)\b", re.IGNORECASE)
_LIGHT = frozenset(
    ("only", "now", "same", "instead", "just", "ones", "about", "for", "again", "too", "also", "but", "list")
)
_SHORT = 6
"""Tokens of a request that replaces a part of the one before: `and for Anna Berg?`."""
_MAX_DEPTH = 3
_MEASURING = frozenset(("count", "sum", "avg", "max", "min", "values", "groups", "rank", "compare"))
Read = Callable[[RequestContext], Iterable[RecordReading]]


def refers_back(context: RequestContext) -> bool:
    """Whether a request can only be understood with the one before it."""
    if not context.earlier:
        return False
    short = len(context.request) <= _SHORT and _REPLACES.match(context.request.lower) is not None
    return short or _REFERS.search(context.request.lower) is not None


def read_followup(context: RequestContext, read: Read, depth: int = 0) -> RecordReading | None:
    """Return the reading of a request that narrows, sorts or changes the query before it; None if it is none."""
    if not context.earlier or depth > _MAX_DEPTH:
        return None
    refers = _REFERS.search(context.request.lower) is not None
    if not refers and _REPLACES.match(context.request.lower) is None:
        return None
    before = _read_before(context.with_text(context.earlier[0], context.earlier[1:]), read, depth)
    if before is None or before.question:
        return None
    found = RecordReader(context, before.query.collection).read(1.0, followup=True)
    if found is None:
        return None
    light = {place for place, one in enumerate(context.request.tokens) if one.lower in _LIGHT}
    query = _narrow(before.query, found.query) if refers else _replace(before.query, found.query)
    if query == before.query:
        return None
    return msgspec.structs.replace(found, query=query, explained=found.explained | light, depends=False)


def _read_before(context: RequestContext, read: Read, depth: int) -> RecordReading | None:
    """Return the reading of the earlier request that explains all of it."""
    followup = read_followup(context, read, depth + 1) if refers_back(context) else None
    complete = [
        one for one in (followup, *read(context)) if one is not None and context.request.meaningful <= one.explained
    ]
    if complete:
        return max(complete, key=lambda one: one.score)
    return read_followup(context, read, depth + 1)


def _narrow(before: RecordQuery, now: RecordQuery) -> RecordQuery:
    """Ask more of the records that were asked about."""
    paths = {one.path for one in now.conditions if one.op in ("eq", "in", "days")}
    kept = tuple(one for one in before.conditions if one.path not in paths or one.op not in ("eq", "in", "days"))
    measured = now.measure in _MEASURING
    return msgspec.structs.replace(
        before,
        conditions=(*kept, *(one for one in now.conditions if one not in kept)),
        linked=tuple(dict.fromkeys((*before.linked, *now.linked))),
        measure=now.measure if measured else "list",
        of=now.of or (before.of if not measured and now.order == () else ()),
        group=now.group,
        order=now.order or (() if measured else before.order),
        descending=now.descending if now.order else before.descending,
        limit=now.limit or (0 if now.order or measured else before.limit),
        ranked_by=now.ranked_by,
    )


def _replace(before: RecordQuery, now: RecordQuery) -> RecordQuery:
    """Ask the same with other conditions, or group or sort it otherwise."""
    now = _same_date(before, now)
    named = {end for one in now.conditions for end in (one.path[0], one.path[-1])}
    kept = tuple(one for one in before.conditions if not {one.path[0], one.path[-1]} & named)
    regrouped = bool(now.group or now.order)
    return msgspec.structs.replace(
        before,
        conditions=(*kept, *now.conditions),
        linked=now.linked or before.linked,
        measure="groups" if now.group else now.measure if regrouped else before.measure,
        group=now.group or before.group,
        order=now.order or before.order,
        descending=now.descending if now.order else before.descending,
        of=() if now.group else now.of or before.of,
    )


def _same_date(before: RecordQuery, now: RecordQuery) -> RecordQuery:
    """Let the only period replace the only one before, whose date it is: `and in the next 30 days?`."""
    earlier, later = ([one for one in query.conditions if one.op == "days"] for query in (before, now))
    if len(earlier) != 1 or len(later) != 1:
        return now
    moved = msgspec.structs.replace(later[0], path=earlier[0].path)
    return msgspec.structs.replace(now, conditions=tuple(moved if one is later[0] else one for one in now.conditions))
