"""Which records of a collection are meant: every word of a request that says something about them counts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import Any

import msgspec

from doorward.agents.house import conditions, dating, fields, knowledge, smalltalk
from doorward.agents.house.conditions import Clause, Unclear
from doorward.agents.house.entities import Compare, Comparison, stem
from doorward.agents.house.fields import Table
from doorward.agents.house.plan import Around, Unknown
from doorward.agents.house.tables import Meant
from doorward.agents.house.wanted import Shape

_LASTED = knowledge.form("narrowing: lasted")
_AGO = knowledge.form("records: ago")
_EXCEPT = knowledge.form("narrowing: except")
_EXCEPTING = knowledge.words("narrowing: excepting")
_DENIES = knowledge.words("accounting: denies")
_LIGHT = knowledge.words("narrowing: light")
"""Words that are a value where some record has it, and else only say how something is put."""
_VALUES = knowledge.words("narrowing: values")
"""Words that mostly say nothing, and are a value right before a field."""
_FIELD_BEFORE = re.compile(r"(?P<field>[a-z]\w*)(?: of| is| at| =|:|=)?\s*[$€£]?\s*$", re.IGNORECASE)
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


def narrowed(around: Around, meant: Meant, wanted: Shape) -> tuple[list[Clause], list[Unclear]]:
    said, table = around.slots.said, meant.table
    clauses: list[Clause] = []
    unclear: list[Unclear] = []
    names = [" ".join(said.words[place].lower for place in sorted(meant.places)), *table.noun]
    used = set(meant.places) | wanted.places
    told: list[tuple[Comparison, int]] = []
    for entity in said.all("compare"):
        if isinstance(entity.value, Comparison) and entity.value.unit != "seconds":
            told.append((entity.value, entity.start))
            used |= said.inside(entity)
    number = next((name for one, _ in told if (name := _names_number(table, one))), "")
    for one, at in told:
        if _names_number(table, one):
            unclear += [Unclear(word, later=said.is_later(at), at=at) for word in _strange(table, one, names)]
            continue
        later = said.is_later(at)
        if isinstance(one.value, tuple) and any(isinstance(each, str) and _is_field(table, each) for each in one.value):
            raise Unknown(knowledge.smalltalk().either)
        if not one.also and isinstance(one.value, str) and one.field and not _names_field(table, one.field):
            raise Unknown(knowledge.smalltalk().either)
        strays = _strays(table, one, names)
        unclear += [Unclear(word, also=one.also, later=later, at=at) for word in strays]
        if strays:
            # What stands before a comparison is joined with what was said before that.
            one, at = msgspec.structs.replace(one, also=True), at + 1
        made = _turned_round(table, one) or conditions.compared(table, one, names, number or _number(said, table))
        made = msgspec.structs.replace(made, later=later, at=at) if made is not None else None
        if _EXCEPT.search(said.text[:at]):
            made = _denied(made)
        if isinstance(made, Clause) and _AGO.search(said.text):
            made = msgspec.structs.replace(made, where=_turned(table, made.where))
        if isinstance(made, Clause):
            clauses.append(made)
        elif made is not None and _is_date(made) and dating.own_dates(table):
            field = dating.meant(table, said).field
            clauses.append(Clause(conditions.condition(table, field, made.op, made.value), made.also, later, at))
        elif made is not None and made.value is not None:
            known = _known(table, made)
            if known is not None:
                clauses.append(Clause(known, made.also, later, at))
            else:
                weak = isinstance(made.value, str) and made.op == "eq" and bool(table.find([made.value]))
                weak = weak and not _strange(table, one, names)
                unclear.append(msgspec.structs.replace(made, weak=weak))
    span, age = around.slots.span(), around.slots.age()
    if span is not None:
        timed, wanted.dated, span = conditions.timed(table, span, said, around.now)
        wanted.span_says = span.says
        if timed:
            wanted.timed = next(iter(timed))
            wanted.made = wanted.timed == "createdAt" and span.about == "created"
            clauses.append(Clause(timed))
    elif age is not None and _LASTED.search(said.text):
        field = next((one for one in table.numbers() if one.endswith("Ms")), "")
        if not field:
            raise Unknown(smalltalk.unused(age.says, table.noun[1]))
        clauses.append(Clause({field: {f"${age.op}": round(age.amount * 1_000)}}))
    elif age is not None and table.time:
        moment = around.now - age.amount
        meant_by = dating.meant(table, said, age.about)
        field = "updatedAt" if age.about == "changed" and "updatedAt" in table.fields else table.time
        if dating.own_dates(table):
            field, wanted.dated = meant_by.field, "" if meant_by.sure else meant_by.field
        edge = dating.edge(table, field, moment)
        clauses.append(Clause({field: {"$lt" if age.op in ("gt", "gte") else "$gte": edge}}))
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
    clauses += _numbers(said, table, wanted)
    clauses += _boolean(said, table, used)
    unclear += [Unclear(one, "eq", "by") for one in wanted.unknown]
    unclear += _before_fields(said, table, used)
    for word in _left(said, table, used, meant.places):
        if _EXCEPT.search(said.text[: word.at]):
            word = msgspec.structs.replace(word, op="ne", weak=False)
        known = _known(table, word)
        if known is not None:
            clauses.append(Clause(known, later=word.later, at=word.at))
        else:
            unclear.append(word)
    unclear += [Unclear(str(one.value)) for one in said.all("quoted", "email") if not said.inside(one) & used]
    return clauses, unclear


def _turned_round(table: Table, one: Comparison) -> Unclear | None:
    """`with full access` is the value before its field, though the words could be read the other way."""
    if one.op != "eq" or not isinstance(one.value, str) or not one.field:
        return None
    if _names_field(table, one.field):
        return None
    if conditions.known_value(table, one.value) is not None:
        return None
    field = table.find([one.value], ("text", "string"))
    return Unclear(one.field, "eq", field, one.also) if field and table.names(field, [one.value]) else None


def _names_field(table: Table, words: str) -> bool:
    """Whether words are just the name of a field, and not a value that is like it, as `urgent` is like a priority."""
    field = table.find(words)
    return bool(field) and table.names(field, words.split())


def _is_field(table: Table, word: str) -> bool:
    field = table.find([word])
    return bool(field) and table.names(field, [word])


def _strays(table: Table, one: Comparison, names: Iterable[str]) -> list[str]:
    """Words that stand where a field does and name none: `Paris` in `from Berlin or Paris over 100`."""
    own = {stem(word) for name in names for word in name.split()}
    words = [word for word in one.field.split() if stem(word) not in own | knowledge.stop() | knowledge.noise()]
    numeric = one.op in ("gt", "gte", "lt", "lte", "between") and not isinstance(one.value, str)
    known = any(stem(word) in knowledge.known_stems() or word in verbs() or table.find([word]) for word in words)
    return words if numeric and one.introduced and words and not known and not table.find(words) else []


def _strange(table: Table, one: Comparison, names: Iterable[str]) -> list[str]:
    """Words that stand where a field does and that nothing here knows: `odd` in `with an odd quantity`."""
    own = {stem(word) for name in names for word in name.split()} | knowledge.stop() | knowledge.noise()
    words = [word for word in one.field.lower().split() if stem(word) not in own and word not in own]
    return [word for word in words if word not in verbs() | _LIGHT and not table.find([word])]


def _is_date(one: Unclear) -> bool:
    """Whether only days are compared with, and not said of what."""
    values = one.value if isinstance(one.value, tuple) else (one.value,)
    compares = one.op in ("lt", "lte", "gt", "gte", "between")
    return compares and all(isinstance(each, str) and _DAY.fullmatch(each) for each in values)


def _before_fields(said: Any, table: Table, used: set[int]) -> list[Unclear]:
    """A value before the name of its field: `full access`, `high priority`. Behind `with` it can be nothing else."""
    found: list[Unclear] = []
    for place in range(1, len(said.words)):
        word, before = said.words[place], said.words[place - 1]
        field = table.find([word.lower], ("text", "string"))
        if not field or not table.names(field, [word.lower]) or used & {place - 1, place} or before.shape != "word":
            continue
        if conditions.known_value(table, word.lower) is not None and not introduced(said, place):
            continue
        says_nothing = before.stem in knowledge.stop() and before.lower not in _VALUES
        if says_nothing or before.lower in verbs() or _is_own(table, before.stem):
            continue
        later = said.is_later(before.start)
        op = "ne" if _is_denied(said, place - 1) else "eq"
        means_else = before.stem in knowledge.known_stems() or before.stem in knowledge.noise()
        sure = introduced(said, place)
        weak = not sure and means_else
        found.append(Unclear(before.lower, op, field, weak=weak, later=later, at=before.start))
        used |= {place - 1, place} if sure else {place - 1}
    return found


def introduced(said: Any, place: int) -> bool:
    """Whether a field and the value before it are said to be what a record has: `with full access`."""
    return place > 1 and said.words[place - 2].lower in ("with", "having", "has", "have", "of", "whose")


def _is_own(table: Table, word: str) -> bool:
    return word in {stem(one) for one in (*table.noun, *(each for name in table.fields for each in fields.parts(name)))}


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
    found = conditions.known_value(table, one.value)
    if found is not None and one.op == "ne":
        ((field, given),) = found.items()
        return {field: not given} if isinstance(given, bool) else {"$not": found}
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
            found.append(Clause({name: not (negative or denied)}, at=word.start))
            used.add(place)
    return found


def _numbers(said: Any, table: Table, wanted: Shape) -> list[Clause]:
    """A number behind the name of its field, and others behind `or`: `a quantity of 2 or 5`."""
    found: list[Clause] = []
    for entity in said.all("number"):
        before = _FIELD_BEFORE.search(said.text[: entity.start])
        field = table.find([before["field"]], ("number", "integer")) if before is not None else ""
        again = found and re.search(r"\d\s*(?:,|or|and)\s+$", said.text[: entity.start])
        if field and table.names(field, [before["field"]] if before is not None else []):
            found.append(Clause({field: entity.value}, at=entity.start))
        elif again:
            found.append(msgspec.structs.replace(found[-1], where={next(iter(found[-1].where)): entity.value}))
        else:
            continue
        wanted.heard.add(entity.start)
    return found


def _denied(made: Clause | Unclear | None) -> Clause | Unclear | None:
    """A condition that is said of what is not wanted."""
    if isinstance(made, Clause):
        return msgspec.structs.replace(made, where={"$not": made.where})
    return msgspec.structs.replace(made, op="ne") if made is not None and made.op == "eq" else made


def _left(said: Any, table: Table, used: set[int], noun: frozenset[int]) -> list[Unclear]:
    """Words that nothing explains yet, which may be values. Those that mean something else as well are weak, but for
    one that stands before the noun: it says which of them are meant."""
    known, asking = knowledge.known_stems(), verbs()
    own = {fields.singular(one) for name in table.fields for one in fields.parts(name)}
    found: list[Unclear] = []
    for place in said.content():
        word = said.words[place]
        if (
            place in used
            or word.shape != "word"
            or word.lower in asking
            or word.lower in _EXCEPTING
            or word.lower in _DENIES
            or "n't" in word.lower
            or word.stem in knowledge.noise()
            or (fields.singular(word.lower) in own and conditions.known_value(table, word.lower) is None)
        ):
            continue
        which = place + 1 in noun and not _is_field(table, word.lower)
        weak = word.lower in _LIGHT or (not which and (word.stem in known or bool(table.find([word.lower]))))
        bare = word.lower.removesuffix("'s").removesuffix("’s")
        op = "ne" if _is_denied(said, place) else "eq"
        hint = "by" if place and said.words[place - 1].lower == "by" else ""
        found.append(Unclear(bare, op, hint, weak=weak, later=said.is_later(word.start), at=word.start))
    return found


def _is_denied(said: Any, place: int) -> bool:
    """Whether a `not` stands shortly before a word, as in `that haven't been paid`."""
    before = [one.lower for one in said.words[max(0, place - 4) : place]]
    return any(one.endswith(("n't", "n’t")) or one in ("not", "never") for one in before)


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
