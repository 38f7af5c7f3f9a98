"""Which field a value belongs to whose field was not said, learned from the records themselves."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from doorward.agents.house import conditions, smalltalk
from doorward.agents.house.conditions import Clause, Unclear
from doorward.agents.house.entities import stem
from doorward.agents.house.fields import Table, singular
from doorward.agents.house.plan import Settled, Step, items
from doorward.agents.house.telling import Got
from doorward.agents.house.wording.mending import corrected, is_right

SAMPLE = 200
"""How many records are looked at to learn what the words of a request mean as values."""
_ASKED = 4
"""Values that are looked for by themselves when the first records do not have them."""
_ALIKE = ("eq", "ne", "in", "contains", "starts", "ends", "is")
"""Comparisons that a value of a record can be found for; one with a number needs the field of the number."""
_SEARCHES = ("about", "containing", "mentioning", "contains")
_PLACED = ("in", "from", "by", "at")


class Nowhere(Exception):
    """No record has a value that was plainly named as one; the message is the sentence for the asker."""


def is_whole(sample: Got) -> bool:
    """Whether a look at the first records has seen all of them."""
    value = sample.value if isinstance(sample.value, dict) else {}
    return len(items(sample)) < SAMPLE and not value.get("cursor") and "found" not in value


def searched(table: Table, unclear: Sequence[Unclear], rows: Sequence[dict[str, Any]]) -> list[Step]:
    """The calls that look for values among all records, where those that were seen do not have them."""
    steps: list[Step] = []
    for one in unclear:
        for value in _values(one):
            words = str(value).lower().strip()
            if words and not any(_same(given, words) for row in rows for given in row.values()):
                steps.append(_holding(table, words, "{}"))
                steps += [_holding(table, words, "%{}%")] if not one.weak else []
    return steps[: 2 * _ASKED]


def _holding(table: Table, words: str, form: str) -> Step:
    texts = [name for name in table.texts() if table.fields[name] != "boolean"]
    like = {"$ilike": form.format(conditions.liked(words))}
    where = {"$or": [{name: like} for name in texts]}
    return Step("data/list", {"collection": table.name, "filter": where, "limit": 20}, lookup=True)


def resolved(table: Table, unclear: Sequence[Unclear], rows: Sequence[dict[str, Any]]) -> list[Clause]:
    """Values as conditions; `Settled` says which word is none, and `Nowhere` which value no record has."""
    found: list[Clause] = []
    nowhere = ""
    for one in unclear:
        clause = _clause(table, one, rows)
        if clause is not None:
            found.append(msgspec.structs.replace(clause, later=one.later, at=one.at))
        elif one.weak:
            continue
        elif one.op in ("contains", "starts", "ends", "eq") and one.hint in _SEARCHES:
            texts = [{name: {"$ilike": f"%{one.value}%"}} for name in table.texts() if table.fields[name] != "boolean"]
            found.append(Clause({"$or": texts}))
        else:
            shown, said = table.texts()[:8], _said(one)
            if one.op != "eq" or one.hint not in _PLACED or not one.named:
                raise Settled(smalltalk.no_such_value(said, table.noun[1], shown))
            nowhere = nowhere or smalltalk.nowhere(f"{one.hint} {said}", said, table.noun[1], shown)
    if nowhere:
        raise Nowhere(nowhere)
    return found


def _values(one: Unclear) -> list[Any]:
    return list(one.value) if isinstance(one.value, tuple) else [one.value]


def _said(one: Unclear) -> str:
    return " or ".join(str(value) for value in _values(one))


def _clause(table: Table, one: Unclear, rows: Sequence[dict[str, Any]]) -> Clause | None:
    """The condition that one or several values make. Several belong to the field that has the first of them."""
    made = [_value(table, msgspec.structs.replace(one, value=value), rows) for value in _values(one)]
    if len(made) == 1:
        return made[0]
    known = [each.where for each in made if each is not None]
    names = {name for where in known for name in where}
    if not known or len(names) != 1 or next(iter(names)).startswith("$"):
        return None
    name = next(iter(names))
    exact = [each.where[name] if each is not None else value for each, value in zip(made, _values(one), strict=True)]
    plain = [next(iter(each.values())) if isinstance(each, dict) else each for each in exact]
    return Clause({name: {"$nin" if one.op == "ne" else "$in": plain}}, one.also)


def _value(table: Table, one: Unclear, rows: Sequence[dict[str, Any]]) -> Clause | None:
    """The field that has a value, by what records hold."""
    words = str(one.value).lower().strip()
    if not words or one.op not in _ALIKE:
        return None
    words = _meant(words, table, rows)
    own = {stem(word) for noun in table.noun for word in noun.split()}
    said = table.find(one.hint) if one.hint and not own & {stem(word) for word in one.hint.lower().split()} else ""
    named = [said] if said and table.names(said, one.hint.split()) else list(table.fields)
    candidates = [name for name in named if name != "version" and any(_same(row.get(name), words) for row in rows)]
    if candidates:
        best = _likeliest(table, candidates, one.hint)
        exact = next(row[best] for row in rows if _same(row.get(best), words))
        if one.op == "ne":
            return Clause({best: {"$ne": exact}}, one.also)
        return Clause({best: exact}, one.also)
    held = (
        []
        if one.weak or one.hint == "by"
        else [
            name
            for name in table.texts()
            if name in named
            and any(isinstance(row.get(name), str) and _within(words, row[name].lower()) for row in rows)
        ]
    )
    if not held:
        return None
    likes = [{name: {"$ilike": f"%{words}%"}} for name in held[:4]]
    either = likes[0] if len(likes) == 1 else {"$or": likes}
    return Clause({"$not": either} if one.op == "ne" else either, one.also)


def _meant(words: str, table: Table, rows: Sequence[dict[str, Any]]) -> str:
    """A value as records have it, where it was mistyped."""
    if is_right(words):
        return words
    known = {str(row[name]).lower() for name in table.texts() for row in rows if isinstance(row.get(name), str)}
    return words if words in known else corrected(words, frozenset(one for one in known if one.isalpha()))


def _same(value: Any, words: str) -> bool:
    if isinstance(value, str):
        lower = value.lower()
        alike = stem(lower) == stem(words) and abs(len(lower) - len(words)) <= 2
        return lower == words or alike or singular(lower) == singular(words)
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
