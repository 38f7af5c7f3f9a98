"""Plans about records: which collection, which of its records, and what of them is wanted.

The house's own collections are known. Others are looked up first, since every house has its own, and what a word means
as a value is learned from a look at the records.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from doorward.agents.house import accounting, fields, knowledge, queries, smalltalk, tables, taught
from doorward.agents.house.entities import Measure, stem
from doorward.agents.house.fields import Table
from doorward.agents.house.narrowing import verbs
from doorward.agents.house.plan import Around, NotOffered, Plan, Step, Steps, Telling, Unknown, items
from doorward.agents.house.respelling import respelled
from doorward.agents.house.selecting import selected
from doorward.agents.house.tables import Meant
from doorward.agents.house.telling import Asked

_SCHEMA = knowledge.form("records: schema")
_OPTIONS = knowledge.form("records: options")
_AN_ID = knowledge.form("records: an id")
_MOST_SURE = 3.4
"""Never as sure as of a request that is said in just the words that are known."""
_WEAK = knowledge.form("records: weak")
_ASKS = knowledge.form("records: asks")
_CHANGED = knowledge.form("records: changed")


def plan(around: Around, *, sure: bool) -> Plan | None:
    """The plan for a request about records; None when it does not look like one.

    When nothing else explains the request it is enough that it might be about somebody's collection.
    """
    said = around.slots.said
    own = tables.meant(said, fields.system())
    if not around.offered("data/list", "data/count", "data/aggregate", "data/describe"):
        return _otherwise(around, own)
    asked = Asked(act="list", thing="records", count=counts(around), why=said.has("explain"), question=said.whole)
    span = around.slots.span()
    if span is not None:
        asked = msgspec.structs.replace(asked, span_says=span.says)
    foreign = tables.nouns(said)
    generic = said.has("record", "collection")
    formed = said.entity("group", "measure", "order", "compare", "span", "limit", "age") is not None
    asks = (
        not _WEAK.match(said.text)
        and said.has("list", "count", "find", "most", "least", "newest", "oldest", "average", "sum")
    ) or len(said.words) <= 2
    asks = (
        asks
        or _ASKS.match(said.text) is not None
        or (bool(foreign) and said.words[0].lower == foreign[0] and foreign[0].endswith("s"))
    )
    if sure and not _might_be(said, foreign):
        return None
    if (
        own is None
        and not generic
        and not sure
        and not (foreign and (formed or asks))
        and not said.entity("group", "measure")
    ):
        return None
    score = own.score + (0.3 if foreign else 0.0) if own is not None else 1.0 if foreign else 0.0
    figures = any(isinstance(one.value, Measure) and one.value.fn != "count" for one in said.all("measure"))
    score += (1.0 if generic else 0.0) + (0.6 if figures or said.entity("group") is not None else 0.0)
    score = min(score, _MOST_SURE)
    return Plan("records", asked, _steps(around, asked, own), score, "records")


def _otherwise(around: Around, own: Meant | None) -> Plan | None:
    """The command that lists a collection of the house, where collections themselves are not offered."""
    known = knowledge.things().collections.get(own.table.name) if own is not None else None
    if (
        own is None
        or known is None
        or known.instead not in around.tools
        or around.slots.said.entity("group", "compare")
    ):
        return None
    asked = Asked(act="list", thing=own.table.name, count=counts(around), noun=known.noun)
    return taught.made(known.instead, {}, around.tools[known.instead], own.score, own.table.name, asked)


def _might_be(said: Any, foreign: Sequence[str]) -> bool:
    """Whether words that nothing explains look like records: several of something, an id, the name of a field."""
    if _AN_ID.search(said.text) is not None:
        return True
    if _WEAK.match(said.text) or len(said.words) > 16:
        return False
    several = any(one.endswith("s") and len(one) > 3 and not one.endswith(("ss", "us", "is")) for one in foreign)
    named = {word for words in knowledge.synonyms().fields for word in (words.lower(),)}
    return several or _AN_ID.search(said.text) is not None or any(one.lower in named for one in said.words)


def counts(around: Around) -> bool:
    return bool(
        re.search(r"\b(?:how many|count|number of|tally|how much|how often)\b", around.slots.said.text, re.IGNORECASE)
    )


def _steps(around: Around, asked: Asked, own: Meant | None) -> Steps:
    said = around.slots.said
    meant, known = own, fields.system()
    foreign = tables.nouns(said)
    named = tables.named(said)
    if own is None or foreign or named:
        if "data/describe" in around.tools:
            (got,) = yield [Step("data/describe", lookup=True)]
            known = fields.described(items(got)) or known
            around = respelled(around, known)
            said = around.slots.said
            meant = _better(tables.meant(said, known), own)
            if meant is None:
                meant = tables.by_field(said, known)
            if meant is None and named:
                raise Unknown(smalltalk.no_such_collection(named, [one.name for one in known]))
        elif own is None:
            raise NotOffered("data/describe")
    found = _AN_ID.search(said.text)
    if meant is None and found is not None and "data/query" in around.tools:
        return (yield from _by_id(asked, found["id"], known))
    if meant is None:
        if said.has("record") and (_CHANGED.search(said.text) or around.slots.span() is not None):
            return (yield from _changed(around, asked, known))
        raise Unknown(smalltalk.not_understood())
    return (yield from about(around, asked, meant, known))


def _by_id(asked: Asked, id: str, known: Sequence[Table]) -> Steps:
    """The record of an id, in whichever collection it is."""
    own = [one for one in known if one.kind == "managed"][:50]
    if not own:
        raise Unknown(smalltalk.not_understood())
    (got,) = yield [Step("data/query", queries.having_id(own, id), lookup=True)]
    found = [one for one in items(got) if isinstance(one, dict)]
    if len(found) != 1:
        raise Unknown(smalltalk.no_such_value(id, "records", [one.name for one in own]))
    table = next(one for one in own if one.name == found[0].get("collection"))
    last = yield [Step("data/read", {"collection": table.name, "id": id})]
    return Telling(
        msgspec.structs.replace(asked, act="read", thing=table.name, noun=table.noun, count=False), tuple(last)
    )


def _better(found: Meant | None, own: Meant | None) -> Meant | None:
    if found is None or own is None:
        return found or own
    return found if found.score >= own.score else own


def about(around: Around, asked: Asked, meant: Meant, known: Sequence[Table] = ()) -> Steps:
    """What is wanted of the records of one collection."""
    table, said = meant.table, around.slots.said
    asked = msgspec.structs.replace(asked, thing=table.name, noun=table.noun)
    figures = said.entity("group") or (said.entity("measure") and "like" not in said.text)
    if _SCHEMA.search(said.text) and not figures and not _values_of(said, table):
        got = yield [Step("data/describe", {"collection": table.name})]
        return Telling(msgspec.structs.replace(asked, act="describe", count=False), tuple(got))
    values = _values_of(said, table)
    if values and "data/aggregate" in around.tools:
        got = yield [Step("data/aggregate", {"collection": table.name, "groupBy": [values]})]
        return Telling(msgspec.structs.replace(asked, act="count", count=True, group=values), tuple(got))
    one = _one(around, meant)
    if one and "data/read" in around.tools:
        got = yield [Step("data/read", {"collection": table.name, "id": one})]
        return Telling(
            msgspec.structs.replace(asked, act="read", count=False, fields=_wanted_fields(said, table)), tuple(got)
        )
    return (yield from selected(around, asked, meant, known))


def _values_of(said: Any, table: Table) -> str:
    """The field whose possible values are asked for."""
    if not _OPTIONS.search(said.text):
        return ""
    names = [
        table.find([one.lower]) for one in said.words if one.stem not in knowledge.stop() and one.lower not in verbs()
    ]
    return next((one for one in names if one and one not in ("id", "version")), "")


def _one(around: Around, meant: Meant) -> str | int | None:
    """The id of the one record that is named: `order o-1007`."""
    said = around.slots.said
    words = sorted(meant.places)
    if not words or said.entity("group", "measure", "limit") or accounting.denies(said):
        return None
    token = said.words[words[-1]]
    behind = said.text[token.end :]
    found = re.match(
        r"\s*(?:number|no\.?|with (?:the )?id|id|#|called|named)?\s*[#\"'“`]?(?P<id>[\w-]*\d[\w-]*)[\"'”`]?",
        behind,
        re.IGNORECASE,
    )
    if found is None or (
        found["id"].isdigit() and not re.match(r"\s*(?:number|no|#|with|id)?\s*#?\d+[?.! ]*$", behind, re.IGNORECASE)
    ):
        return None
    value = found["id"]
    if re.fullmatch(r"\d{1,2}", value) and meant.table.kind == "system":
        return None
    return int(value) if value.isdigit() and meant.table.fields.get(meant.table.key) in ("number", "integer") else value


def _wanted_fields(said: Any, table: Table) -> list[str]:
    own = {stem(one) for one in table.noun}
    words = {one.stem for one in said.words if one.stem not in own} | {one.lower for one in said.words}
    return [
        name
        for name in table.fields
        if {stem(one) for one in fields.parts(name)} - own <= words
        and name != "id"
        and ({stem(one) for one in fields.parts(name)} - own or name.lower() in words)
    ]


def _changed(around: Around, asked: Asked, known: Sequence[Table]) -> Steps:
    """What changed in every collection of people's own."""
    span = around.slots.span()
    own = [one for one in known if one.kind == "managed" and "updatedAt" in one.fields]
    field = "createdAt" if span is not None and span.about == "created" else "updatedAt"
    if not own:
        return smalltalk.no_records("been created" if field == "createdAt" else "changed", span)
    command = "data/query" if "data/query" in around.tools else ""
    if not command or span is None:
        raise Unknown(smalltalk.not_understood())
    until = span.until if span.until is not None else around.now + 86_400
    query = queries.changed(own[:50], field, span.since or 0.0, until, counted=asked.count)
    got = yield [Step(command, query)]
    if asked.count:
        params = {"groupBy": ["collection"], "metrics": {"count": {"count": "*"}}, "orderBy": "-count"}
        got = [msgspec.structs.replace(got[0], command="data/aggregate", params=params)]
        asked = msgspec.structs.replace(asked, condition_says="created" if field == "createdAt" else "changed")
    shown = msgspec.structs.replace(
        asked,
        thing="records",
        noun=("record", "records"),
        group="collection" if asked.count else "",
        about="created" if field == "createdAt" else "changed",
        fields=[] if asked.count else ["collection", "id", field],
    )
    return Telling(shown, tuple(got))
