"""When something came to be so: a stretch of time behind `closed` or `were open` is not about when a record was made.

Records say how they are, and not since when, unless they have a date for just that. Where they have none, to go by the
date of their creation would answer another question.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from doorward.agents.house import knowledge, smalltalk
from doorward.agents.house.conditions import Clause, value_of
from doorward.agents.house.entities import Token, stem
from doorward.agents.house.plan import Settled
from doorward.agents.house.said import Said
from doorward.agents.house.tables import Meant
from doorward.agents.house.wanted import Shape

_WERE = knowledge.words("happening: were")
_IRREGULAR = knowledge.words("happening: irregular")
_FAR = 4


def dated(said: Said, meant: Meant, wanted: Shape, clauses: Sequence[Clause]) -> list[Clause]:
    """The conditions, with the stretch of time on the date that it is about; `Settled` where there is no such date."""
    if not wanted.timed or wanted.timed == "updatedAt" or wanted.made or wanted.dated:
        return list(clauses)
    for one in clauses:
        word = _event(said, meant, one)
        if not word:
            continue
        known = value_of(meant.table, word) if meant.table.kind == "system" else None
        field = known.time if known is not None else ""
        if field == wanted.timed or _names_it(wanted.timed, word):
            continue
        if not field:
            value = next(iter(one.where.values()))
            word = value if isinstance(value, str) else word
            raise Settled(smalltalk.no_such_date(word, meant.table.noun[1], changed="updatedAt" in meant.table.fields))
        moved = [_moved(each, wanted, field) for each in clauses]
        wanted.timed = field
        return moved
    wanted.made = wanted.timed == "createdAt" and any(_wanted(one) for one in clauses)
    return list(clauses)


def _event(said: Said, meant: Meant, one: Clause) -> str:
    """The word of a condition that tells what happened to records in a time: it stands between them and the time."""
    span = said.entity("span")
    if span is None or not _wanted(one):
        return ""
    ((field, value),) = one.where.items()
    named = stem(value.lower()) if isinstance(value, str) else stem(field.lower())
    near = [at for at, word in enumerate(said.words) if word.start == one.at or (one.at < word.start < span.start)]
    place = next((at for at in near if _says(said.words[at], named, meant, value)), near[0] if near else -1)
    if place < 0 or place in meant.places:
        return ""
    word = said.words[place].lower
    behind = [each.lower for each in said.words[place + 1 :] if each.start < span.start]
    before = [each.lower for each in said.words[max(0, place - _FAR) : place]]
    asked = any(each in _WERE for each in before)
    told = word.endswith("ed") or word in _IRREGULAR
    if said.words[place].start > span.start:
        return word if asked and told else ""
    follows = any(at < place for at in meant.places)
    return word if (asked or (told and follows)) and len(behind) <= 1 else ""


def _says(word: Token, named: str, meant: Meant, value: str | bool) -> bool:
    known = value_of(meant.table, word.lower)
    return word.stem == named or (known is not None and known.condition == value)


def _wanted(one: Clause) -> bool:
    """Whether a condition says how a record is, by one value that was said as a word."""
    return one.at >= 0 and len(one.where) == 1 and isinstance(next(iter(one.where.values())), str | bool)


def _names_it(field: str, word: str) -> bool:
    return field.lower().startswith(word)


def _moved(one: Clause, wanted: Shape, field: str) -> Clause:
    if one.where.keys() != {wanted.timed}:
        return one
    return msgspec.structs.replace(one, where={field: one.where[wanted.timed]})
