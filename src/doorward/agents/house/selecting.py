"""Records that are chosen by conditions, and what is told of them: a list, a number, groups, a figure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from doorward.agents.house import (
    accounting,
    conditions,
    dating,
    fields,
    figuring,
    happening,
    knowledge,
    resolving,
    saying,
    smalltalk,
)
from doorward.agents.house.counting import counted
from doorward.agents.house.fetching import call
from doorward.agents.house.fields import Table
from doorward.agents.house.narrowing import narrowed
from doorward.agents.house.plan import Around, Step, Steps, Telling, Unknown, items
from doorward.agents.house.shaping import shape
from doorward.agents.house.tables import Meant
from doorward.agents.house.telling import Asked, Got
from doorward.agents.house.telling.figures import field_words
from doorward.agents.house.wanted import Shape

_VAGUE = knowledge.words("records: vague")
_YEARS = knowledge.words("selecting: years")
_EACH = knowledge.words("accounting: each")
_A_YEAR = re.compile(r"\b(?:19|20)\d\d\b")


def selected(around: Around, asked: Asked, meant: Meant, known: Sequence[Table] = ()) -> Steps:
    """What is wanted of those records of a collection that are meant."""
    table, said = meant.table, around.slots.said
    cannot = figuring.beyond(said.text)
    if cannot:
        raise Unknown(cannot)
    first = min(meant.places, default=0)
    vague = said.words[first - 1].lower if first else ""
    if vague in _VAGUE and said.words[max(0, first - 2)].lower not in ("most", "least"):
        raise Unknown(smalltalk.beyond(f"I cannot tell from where on {table.noun[1]} are {vague}"))
    ahead = around.slots.span()
    if ahead is not None and ahead.since is not None and ahead.since > around.now and not dating.perhaps(table):
        raise Unknown(smalltalk.beyond("I cannot tell what is still to come"))
    years = next((one for one in table.of("number", "integer") if one.lower() in _YEARS), "")
    if years and any(_A_YEAR.search(one.words) for one in said.all("span")):
        raise Unknown(smalltalk.beyond(f"I cannot tell whether that is about “{years}” or when a record was created"))
    look = Step("data/list", {"collection": table.name, "limit": resolving.SAMPLE}, lookup=True)
    sample: Got | None = None
    if dating.perhaps(table) and dating.matters(said, table) and "data/list" in around.tools:
        (sample,) = yield [look]
        table = dating.dated(table, items(sample), said)
        meant = msgspec.structs.replace(meant, table=table)
    wanted = shape(around, meant)
    _each_value(said, meant, wanted)
    clauses, unclear = narrowed(around, meant, wanted)
    if unclear:
        if sample is None:
            (sample,) = yield [look]
        rows = [one for one in items(sample) if isinstance(one, dict)]
        more = [] if resolving.is_whole(sample) else resolving.searched(table, unclear, rows)
        if more:
            found = yield more
            rows += [one for each in found for one in items(each) if isinstance(one, dict)]
        try:
            clauses += resolving.resolved(table, unclear, rows)
        except resolving.Nowhere as error:
            other = accounting.another(said, meant, known)
            if other:
                raise Unknown(smalltalk.unused(other, table.noun[1])) from error
            return str(error)
    clauses = happening.dated(said, meant, wanted, clauses)
    where = conditions.together(clauses)
    _each_of(said, wanted, where)
    if not conditions.joins(said, clauses, where):
        raise Unknown(knowledge.smalltalk().either)
    passed_over = accounting.unused(said, meant, wanted, clauses, known)
    if passed_over:
        raise Unknown(smalltalk.unused(passed_over, table.noun[1]))
    unheard = _unheard(said, wanted)
    if unheard:
        raise Unknown(smalltalk.no_such_value(unheard, table.noun[1], table.texts()[:8]))
    told = _told(asked, table, wanted, where)
    if table.name == "messages" and table.kind == "system" and not wanted.measure:
        where.setdefault("deletedAt", None)
    step = call(around, table, wanted, where)
    (last,) = yield [step]
    if step.command == "data/query":
        last = _as_groups(last, table, wanted)
    elif step.command == "data/list" and wanted.chosen:
        last = yield from counted(around, step, last)
    return Telling(told, (last,), note=_how_many(last, wanted) if wanted.distinct else "")


def _each_value(said: Any, meant: Meant, wanted: Shape) -> None:
    """Where no collection was named but one of its fields, its values are asked for: `how many cities`."""
    if meant.places or wanted.group or wanted.measure or wanted.order or wanted.limit:
        return
    named = [
        (place, field)
        for place, word in enumerate(said.words)
        if (field := meant.table.find([word.lower], ("text", "string"))) and meant.table.names(field, [word.lower])
    ]
    if named and fields.singular(said.words[named[0][0]].lower) != said.words[named[0][0]].lower:
        wanted.group, wanted.count, wanted.distinct, wanted.fields = named[0][1], True, True, []
        wanted.places.add(named[0][0])


def _each_of(said: Any, wanted: Shape, where: dict[str, Any]) -> None:
    """Several values of a field that are named behind `each` are groups: `how many on each: free, pro`."""
    if not wanted.count or wanted.group or not any(word.lower in _EACH for word in said.words):
        return
    several = [field for field, given in where.items() if isinstance(given, dict) and len(given.get("$in", ())) > 1]
    wanted.group = several[0] if len(several) == 1 else ""


def _how_many(got: Got, wanted: Shape) -> str:
    """How many groups there are, as far as all of them were given."""
    more = isinstance(got.value, dict) and bool(got.value.get("more"))
    many, words = len(items(got)), field_words(wanted.group)
    return (
        ""
        if more or not many
        else f"There {'is' if many == 1 else 'are'} {many:,} different {words}{'' if many == 1 else ' values'}."
    )


def _as_groups(got: Got, table: Table, wanted: Shape) -> Got:
    """The rows of a SELECT as what they are: groups with one figure each."""
    name = f"{wanted.measure}_{wanted.field}" if wanted.measure else "count"
    metrics = {name: {wanted.measure or "count": wanted.field or "*"}}
    groups = [wanted.period, *wanted.also_by]
    params = {"collection": table.name, "groupBy": groups, "metrics": metrics, "orderBy": wanted.period}
    return msgspec.structs.replace(got, command="data/aggregate", params=params)


def _unheard(said: Any, wanted: Shape) -> str:
    """A number that nothing was made of: an answer that passes over it would be one to another question."""
    numbers = [one for one in said.all("number") if one.value != wanted.limit and one.start not in wanted.heard]
    return str(numbers[0].words) if numbers else ""


def _told(asked: Asked, table: Table, wanted: Shape, where: dict[str, Any]) -> Asked:
    went_by = f" (going by “{field_words(wanted.dated)}”)" if wanted.dated else ""
    return msgspec.structs.replace(
        asked,
        act="count" if wanted.count else "list",
        count=wanted.count,
        group=wanted.group,
        measure=wanted.measure,
        fields=wanted.fields or ([wanted.field] if wanted.field else []),
        limit=0 if wanted.chosen or (wanted.count and not wanted.group) else wanted.limit,
        condition_says=saying.said_back(table, where, (wanted.timed,)),
        span_says=f"{wanted.span_says or asked.span_says}{went_by}".strip(),
        about="changed" if wanted.timed == "updatedAt" else "created" if wanted.made else "",
    )
