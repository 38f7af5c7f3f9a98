"""Which records of a collection are meant: every word of a request that says something about them counts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import msgspec

from doorward.agents.house import conditions, fields, knowledge, smalltalk
from doorward.agents.house.conditions import Clause, Unclear
from doorward.agents.house.entities import Compare, Comparison, stem
from doorward.agents.house.fields import Table
from doorward.agents.house.plan import Around, Unknown, items
from doorward.agents.house.shaping import Shape
from doorward.agents.house.tables import Meant
from doorward.agents.house.telling import Got
from doorward.clock import iso

_AGO = knowledge.form("records: ago")


def narrowed(around: Around, meant: Meant, wanted: Shape) -> tuple[list[Clause], list[Unclear]]:
    said, table = around.slots.said, meant.table
    clauses: list[Clause] = []
    unclear: list[Unclear] = []
    names = [" ".join(said.words[place].lower for place in sorted(meant.places)), *table.noun]
    used = set(meant.places) | wanted.places
    told: list[Comparison] = []
    for entity in said.all("compare"):
        if isinstance(entity.value, Comparison) and entity.value.unit != "seconds":
            told.append(entity.value)
            used |= said.inside(entity)
    number = next((name for one in told if (name := _names_number(table, one))), "")
    for one in told:
        if _names_number(table, one):
            continue
        made = conditions.compared(table, one, names, number or _number(said, table))
        if isinstance(made, Clause) and _AGO.search(said.text):
            made = msgspec.structs.replace(made, where=_turned(table, made.where))
        if isinstance(made, Clause):
            clauses.append(made)
        elif made is not None and made.value is not None:
            known = _known(table, made)
            if known is not None:
                clauses.append(Clause(known, made.also))
            else:
                weak = isinstance(made.value, str) and made.op == "eq" and bool(table.find([made.value]))
                unclear.append(msgspec.structs.replace(made, weak=weak))
    span, age = around.slots.span(), around.slots.age()
    if span is not None:
        timed = conditions.timed(table, span, said)
        if timed:
            clauses.append(Clause(timed))
    elif age is not None and table.time:
        at = around.now - age.amount
        field = "updatedAt" if age.about == "changed" and "updatedAt" in table.fields else table.time
        clauses.append(Clause({field: {"$lt" if age.op in ("gt", "gte") else "$gte": iso(at)}}))
    for entity in said.all("size"):
        field = table.amount()
        size = entity.value
        if field and isinstance(size, Compare) and not re.search(r"byte|[kmg]b\b", entity.words, re.IGNORECASE):
            clauses.append(Clause({field: {f"${size.op}": size.amount}}))
    for value in knowledge.things().values:
        places = (
            said.places(knowledge.phrases(value.words)) if not value.collection and value.field in table.fields else []
        )
        if places:
            clauses.append(Clause({value.field: value.condition}))
            used |= {place for start, end in places for place in range(start, end)}
    clauses += _boolean(said, table, used)
    for word in _left(said, table, used):
        known = _known(table, word)
        if known is not None:
            clauses.append(Clause(known))
        else:
            unclear.append(word)
    unclear += [Unclear(str(one.value)) for one in said.all("quoted", "email") if not said.inside(one) & used]
    return clauses, unclear


def _turned(table: Table, where: dict[str, Any]) -> dict[str, Any]:
    """More than a month ago is before that, and not behind it."""
    other = {"$gt": "$lt", "$gte": "$lte", "$lt": "$gt", "$lte": "$gte"}
    return {
        name: {other.get(op, op): edge for op, edge in value.items()}
        if table.is_time(name) and isinstance(value, dict)
        else value
        for name, value in where.items()
    }


def _names_number(table: Table, one: Comparison) -> str:
    """The field of numbers that a comparison only names, as in `fewer than 5 in stock`."""
    return table.find([one.value], ("number", "integer")) if one.op == "eq" and isinstance(one.value, str) else ""


def _number(said: Any, table: Table) -> str:
    """The field of numbers that stands in the request."""
    names = [table.find([one.lower], ("number", "integer")) for one in said.words if one.stem not in knowledge.stop()]
    return next((one for one in names if one and one not in ("version", "id")), "")


def _known(table: Table, one: Unclear) -> dict[str, Any] | None:
    """A value that needs no look at the records: a word of the house, or a field that is true or false."""
    if one.op not in ("eq", "ne") or not isinstance(one.value, str):
        return None
    found = conditions.known_value(table, one.value) if one.op == "eq" else None
    if found is not None:
        return found
    for name in table.of("boolean"):
        if stem(one.value.lower()) == stem(fields.parts(name)[-1]):
            return {name: one.op == "eq"}
        if stem(one.value.lower()) in (f"in{stem(name)}", f"un{stem(name)}"):
            return {name: one.op == "ne"}
    return None


def _boolean(said: Any, table: Table, used: set[int]) -> list[Clause]:
    """Words that are the name of a field which is true or false: `inactive`, `not active`, `done`."""
    found: list[Clause] = []
    for name in table.of("boolean"):
        telling = stem(fields.parts(name)[-1])
        for place, word in enumerate(said.words):
            bare = word.stem
            negative = bare in (f"in{telling}", f"un{telling}", f"non{telling}")
            if (bare != telling and not negative) or place in used:
                continue
            before = said.words[place - 1].lower if place else ""
            earlier = said.words[place - 2].lower if place > 1 else ""
            denied = {
                "not",
                "no",
                "aren't",
                "isn't",
                "never",
                "n't",
                "aren’t",
                "isn’t",
                "arent",
                "isnt",
                "weren't",
                "longer",
            } & {before, earlier}
            found.append(Clause({name: not (negative or denied)}))
            used.add(place)
    return found


def _left(said: Any, table: Table, used: set[int]) -> list[Unclear]:
    """Words that nothing explains yet, which may be values. Those that mean something else as well are weak."""
    known, asking, own = (
        knowledge.known_stems(),
        verbs(),
        {stem(one) for name in table.fields for one in fields.parts(name)},
    )
    found: list[Unclear] = []
    for place in said.content():
        word = said.words[place]
        if (
            place in used
            or word.shape != "word"
            or word.lower in asking
            or "n't" in word.lower
            or word.stem in knowledge.noise() | own
        ):
            continue
        weak = word.stem in known or bool(table.find([word.lower]))
        found.append(Unclear(word.lower.removesuffix("'s").removesuffix("’s"), weak=weak))
    return found


@cache
def verbs() -> frozenset[str]:
    """Words that say what is wanted of records, just as they are spelt: `opened` is none of their values, `open` is."""
    acts = knowledge.synonyms().acts
    asked = [
        "list",
        "count",
        "find",
        "describe",
        "sum",
        "average",
        "most",
        "least",
        "newest",
        "oldest",
        "explain",
        "check",
    ]
    found = {word for name in asked for word in re.split(r"[| ]", acts[name])}
    things = knowledge.synonyms().things
    found |= {
        word for name in ("record", "collection", "everything", "change") for word in re.split(r"[| ]", things[name])
    }
    return frozenset(found | knowledge.words("records: no values"))


def resolved(table: Table, unclear: Sequence[Unclear], sample: Got) -> list[Clause]:
    """Which fields values belong to, learned from records; `Unknown` says which word is none."""
    rows = [one for one in items(sample) if isinstance(one, dict)]
    found: list[Clause] = []
    for one in unclear:
        clause = _value(table, one, rows)
        if clause is not None:
            found.append(clause)
        elif one.weak:
            continue
        elif one.op in ("contains", "starts", "ends", "eq") and one.hint in (
            "about",
            "containing",
            "mentioning",
            "contains",
        ):
            texts = [{name: {"$ilike": f"%{one.value}%"}} for name in table.texts() if table.fields[name] != "boolean"]
            found.append(Clause({"$or": texts}))
        else:
            shown = table.texts()[:8]
            raise Unknown(smalltalk.no_such_value(str(one.value), table.noun[1], shown))
    return found


def _value(table: Table, one: Unclear, rows: Sequence[dict[str, Any]]) -> Clause | None:
    """The field that has a value, by what records hold."""
    value = one.value
    words = str(value).lower().strip()
    if not words:
        return None
    candidates = [name for name in table.fields if any(_same(row.get(name), words) for row in rows)]
    if candidates:
        best = _likeliest(table, candidates, one.hint)
        exact = next(row[best] for row in rows if _same(row.get(best), words))
        if one.op == "ne":
            return Clause({best: {"$ne": exact}}, one.also)
        return Clause({best: exact}, one.also)
    held = (
        []
        if one.weak
        else [
            name
            for name in table.texts()
            if any(isinstance(row.get(name), str) and _within(words, row[name].lower()) for row in rows)
        ]
    )
    if held:
        likes = [{name: {"$ilike": f"%{words}%"}} for name in held[:4]]
        return Clause(likes[0] if len(likes) == 1 else {"$or": likes}, one.also)
    return None


def _same(value: Any, words: str) -> bool:
    if isinstance(value, str):
        return value.lower() == words or stem(value.lower()) == stem(words)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value) == words
    if isinstance(value, list):
        return any(_same(one, words) for one in value[:50])
    return False


def _within(words: str, text: str) -> bool:
    return re.search(rf"\b{re.escape(words)}\b", text) is not None or (len(words) > 4 and stem(words) in text)


def _likeliest(table: Table, names: Sequence[str], hint: str) -> str:
    hinted = table.find(hint) if hint else ""
    if hinted in names:
        return hinted
    order = ("status", "state", "id", "name", "priority", "category", "access")
    return next((one for one in order if one in names), names[0])
