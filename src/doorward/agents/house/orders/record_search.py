"""Finding the one record that an order names: by its id, its label, or the records that it links."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from typing import Any

import msgspec

from doorward.agents.house import sentences
from doorward.agents.house.orders.calls import need
from doorward.agents.house.orders.phrases import WIDE, unquote
from doorward.agents.house.orders.tables import Table, Tables, is_plural
from doorward.agents.house.plan import Declined, Step, Unknown
from doorward.agents.house.record_calls import QueryBuilder
from doorward.agents.house.record_reader import RecordReader
from doorward.agents.house.results import ToolResult

_MAX_TABLES = 12
_SHOWN = 5
_TOLD = 3
"""Fields that tell records without a label apart."""
_MAX_LABEL = 6
"""Words of a label at most."""
_ID = re.compile(
    r"(?:(?:number|no\.?|id|(?:with|whose)\s+(?:the\s+)?(?:id|number)(?:\s+is)?)\s+)?#?(?P<id>[\w-]*\d[\w-]*)",
    re.IGNORECASE,
)
_PREDICATE = re.compile(
    r"(?P<subject>.+)\s(?:is|was|are|were|has|had|have|went|came|did|does|got|arrived|needs|can)\b", re.DOTALL
)
_ONE_AT_A_TIME = "I did nothing: I change one record at a time. Name it by its id or its name."
_PRONOUNS = frozenset(("it", "that", "this", "them", "that one", "this one", "him", "her", "these", "those"))
_WILD = re.compile(r"[%_\\]")
Found = Generator[list[Step], list[ToolResult], "Record | None"]


class Record(msgspec.Struct, frozen=True):
    table: Table
    id: str | int
    says: str


def find_record(tables: Tables, among: Sequence[Table], said: str, fact: str = "", noun: str = "") -> Found:
    """Return the one record that a text names; None if it names none. Raises Unknown if it fits several.

    `among` are the collections that come into question, `fact` is the statement before the order, and `noun` the
    collection if it stands behind the name.
    """
    if WIDE.search(said):
        raise Declined(_ONE_AT_A_TIME)
    table, own, rest = tables.split_noun(said)
    if fact and table is not None and table in among and tables.is_only_noun(said):
        return (yield from _find_described(tables, table, f"{said} of {fact}", loose=True))
    if fact and is_pronoun(said):
        subject = _PREDICATE.match(fact)
        said = subject["subject"] if subject is not None else fact
        table, own, rest = tables.split_noun(said)
    within = tables.split_noun(noun)[0] if noun else None
    if within is not None and table is not within:
        table, own, rest = within, "", re.sub(r"^the\s+", "", said.strip())
    if is_plural(own):
        raise Declined(_ONE_AT_A_TIME)
    rest = re.sub(r"^(?:called|named|titled)\s+", "", rest, flags=re.IGNORECASE)
    if not rest or (table is not None and table not in among):
        return None
    candidates = [table] if table is not None else [*among][:_MAX_TABLES]
    found = yield from _find_named(tables, candidates, rest)
    for one in tables.named_in(said) if found is None else ():
        if one in among:
            found = found or (yield from _find_described(tables, one, said, loose=False))
    if found is None:
        yield from _suggest(candidates, rest)
    return found


def resolve_value(tables: Tables, table: Table, field: str, text: str) -> Generator[list[Step], list[ToolResult], Any]:
    """Return a value as its field takes it; for a link by a key, that of the record that the text names."""
    linked = next((one for one in tables.all if one.name == table.fields[field].links), None)
    if linked is None or table.fields[field].links_by != linked.key:
        return table.coerce(field, text)
    found = yield from find_record(tables, [linked], text)
    if found is None:
        raise Unknown(f"I did nothing: I found no {linked.one} that is called {sentences.name(text)}.")
    return found.id


def _find_named(tables: Tables, among: Sequence[Table], rest: str) -> Found:
    """Find a record by its id or its whole label."""
    bare = unquote(rest)
    id = _ID.fullmatch(bare)
    spellings = list(dict.fromkeys((bare, bare.title(), bare.lower(), bare.capitalize())))
    steps, looked = [], []
    for table in among:
        ways: list[dict[str, Any]] = [{table.key: table.to_id(id["id"])}] if id else []
        if id and id["id"].isdigit() and len(among) == 1:
            ways.append({table.key: {"$ilike": f"%-{id['id']}"}})
        if table.label:
            ways.append({table.label: {"$in": spellings}})
        if ways:
            where = ways[0] if len(ways) == 1 else {"$or": ways}
            steps.append(Step("data/list", {"collection": table.name, "filter": where, "limit": 3}, lookup=True))
            looked.append(table)
    return (yield from _look(tables, steps, looked))


def _find_described(tables: Tables, table: Table, said: str, *, loose: bool) -> Found:
    """Find a record by what it links, such as `loan of Dune by Anna Berg`; with `loose`, other words may stand by."""
    about = tables.context.with_text(said)
    reading = RecordReader(about, table.name).read(1.0)
    if reading is None or reading.query.linked:
        return None
    query = reading.query
    named = tuple(one for one in query.conditions if one.op == "eq" and isinstance(one.value, str))
    conditions = named if loose else query.conditions
    plain = loose or (query.measure == "list" and not query.order and not query.limit and not query.of)
    whole = loose or about.request.meaningful <= reading.explained
    parts = [one for one in named if one.value.lower() not in said.lower()]
    if not plain or not whole or not named or any(one.op not in ("eq", "days") for one in conditions):
        return None
    if reading.question:
        raise Unknown(f"I did nothing. {reading.question}")
    query = msgspec.structs.replace(query, measure="list", conditions=conditions, of=(), order=(), limit=_SHOWN)
    found = yield from _look(tables, [QueryBuilder(about, query).step(lookup=True)], [table])
    if found is not None and parts and not loose:
        raise Unknown(f"I did nothing. Do you mean {found.says}? Then say the whole name.")
    return found


def _look(tables: Tables, steps: list[Step], looked: list[Table]) -> Found:
    if not steps:
        return None
    for step in steps:
        need(tables.context, step.command)
    results = yield steps
    tables.looked.update(one.many for one in looked)
    found = [(table, one) for table, got in zip(looked, results, strict=True) for one in _records(got)]
    if len(found) > 1:
        named = [_describe(table, one, fully=True) for table, one in found]
        raise Unknown(f"I did nothing. Which do you mean: {sentences.in_a_row(named, 'or')}?")
    if not found:
        return None
    table, one = found[0]
    return Record(table, one[table.key], _describe(table, one))


def _records(got: ToolResult) -> list[dict[str, Any]]:
    return [one for one in got.items if isinstance(one, dict)]


def _describe(table: Table, one: dict[str, Any], *, fully: bool = False) -> str:
    label = one.get(table.label) if table.label else None
    known = f"the {table.one} {sentences.name(str(one.get(table.key)))}"
    if not label and fully:
        told = [key for key, field in table.fields.items() if field.kind != "boolean"]
        held = [sentences.value(key, one[key]) for key in told if one.get(key) not in (None, "")]
        return f"{known} ({', '.join(held[:_TOLD])})"
    return f"{known} ({sentences.name(str(label))})" if label else known


def _suggest(among: Sequence[Table], rest: str) -> Generator[list[Step], list[ToolResult], None]:
    """Name the records whose label holds a text. None of them is taken: a part of a name may be another's, too."""
    bare = unquote(rest)
    looked = [one for one in among if one.label]
    if len(bare) < 2 or len(bare.split()) > _MAX_LABEL or not looked:
        return
    pattern = {"$ilike": f"%{_WILD.sub('', bare)}%"}
    results = yield [
        Step("data/list", {"collection": one.name, "filter": {one.label: pattern}, "limit": 5}, lookup=True)
        for one in looked
    ]
    near = [_describe(table, one) for table, got in zip(looked, results, strict=True) for one in _records(got)]
    if len(near) == 1:
        raise Unknown(f"I did nothing. Do you mean {near[0]}? Then say the whole name.")
    if near:
        raise Unknown(f"I did nothing. Which do you mean: {sentences.in_a_row(near[:5], 'or')}?")


def is_pronoun(said: str) -> bool:
    return said.strip().lower() in _PRONOUNS
