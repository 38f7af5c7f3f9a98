"""Which collection a request is about, and which of its words are left once that is known."""

from __future__ import annotations

import re

import msgspec

from doorward.agents.house import knowledge
from doorward.agents.house.entities import stem
from doorward.agents.house.fields import Table, parts
from doorward.agents.house.said import Said

_EXPLICIT = knowledge.form("tables: explicit")
_GENERIC = knowledge.stems("tables: generic")


_ID_BEHIND = re.compile(r"\s+[a-z]{1,12}-\d", re.IGNORECASE)
_SPELT = frozenset(("called", "calling", "commanded", "posted"))
"""Verbs that are spelt like the name of a collection of the house, but for their ending."""


class Meant(msgspec.Struct, frozen=True):
    table: Table
    places: frozenset[int]
    """The places of the words that name it."""
    score: float


def meant(said: Said, tables: list[Table]) -> Meant | None:
    """The collection that a request names, by its own name or by what people call it."""
    best: Meant | None = None
    found: list[Meant] = []
    for table in tables:
        for name, weight in _names(table):
            for start, end in said.places([name]):
                if any(said.words[place].lower in _SPELT for place in range(start, end)):
                    continue
                score = weight + len(name) - 0.01 * start + (0.6 if _is_object(said, start, end) else 0.0)
                if best is None or score > best.score:
                    best = Meant(table, frozenset(range(start, end)), score)
                found.append(Meant(table, frozenset(range(start, end)), score))
    return _whose(said, best, found) if best is not None else None


def _whose(said: Said, best: Meant, found: list[Meant]) -> Meant:
    """Of `orders of customer c-013` the orders are meant: the customer with the id only says which."""
    last = said.words[max(best.places)]
    if best.table.kind == "system" or not _ID_BEHIND.match(said.text[last.end :]):
        return best
    return next(
        (
            one
            for one in found
            if one.table.name != best.table.name
            and max(one.places) < min(best.places)
            and (field := one.table.find([last.lower]))
            and one.table.names(field, [last.lower])
        ),
        best,
    )


def by_field(said: Said, tables: list[Table]) -> Meant | None:
    """The one collection that has a field of the name that was said, such as `average price`."""
    wanted = [one.stem for one in said.words if one.stem not in knowledge.stop()]
    fits = [
        (
            sum(
                set(map(stem, parts(field))) <= set(wanted)
                for field in table.fields
                if field not in ("id", "version", "name")
            ),
            table,
        )
        for table in tables
        if table.kind != "system"
    ]
    most = max((many for many, _ in fits), default=0)
    fitting = [table for many, table in fits if many == most]
    return Meant(fitting[0], frozenset(), 0.5) if most and len(fitting) == 1 else None


def named(said: Said) -> str:
    """A name that is said to be that of a collection; empty when none is."""
    found = _EXPLICIT.search(said.text)
    if found is None:
        return ""
    name = found["after"] or found["before"] or ""
    return "" if stem(name.lower()) in knowledge.stop() | _GENERIC or name.lower() in _NO_NAME else name


_NO_NAME = knowledge.words("tables: no name")


def nouns(said: Said) -> list[str]:
    """Words that nothing else explains and that may be the name of somebody's collection."""
    known = knowledge.known_stems()
    return [
        said.words[place].lower
        for place in said.content()
        if said.words[place].stem not in known and said.words[place].stem not in knowledge.noise()
    ]


def _names(table: Table) -> list[tuple[knowledge.Phrase, float]]:
    """What a collection is called, and how surely."""
    last = table.name.rpartition(".")[2]
    own = tuple(stem(one) for one in parts(last))
    found = [(own, 2.0), ((stem(last.lower()),), 2.0)]
    if len(own) > 1:
        found.append((own[-1:], 0.6))
    known = knowledge.things().collections.get(table.name)
    if known is not None and table.kind == "system":
        found += [(phrase, 1.0) for phrase in knowledge.phrases(known.words)]
    return found


def _is_object(said: Said, start: int, end: int) -> bool:
    """Whether words stand where the thing asked about stands: behind how many, the verb, or before where."""
    before = {one.lower for one in said.words[max(0, start - 3) : start]}
    return bool(
        before & {"many", "all", "list", "show", "count", "of", "which", "the", "our", "every", "number", "what"}
    )
