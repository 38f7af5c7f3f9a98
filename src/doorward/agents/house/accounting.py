"""Whether everything that a request says about records went into what is asked for: nothing is passed over in silence.

An answer that leaves out a condition, an order or a second collection is one to another question, told as if it were
the right one. So a word that turns the meaning and was made nothing of is named, and nothing is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from doorward.agents.house import knowledge
from doorward.agents.house.conditions import Clause
from doorward.agents.house.entities import Span, stem
from doorward.agents.house.fields import Table, parts, singular
from doorward.agents.house.knowledge import Intent
from doorward.agents.house.matching import Match
from doorward.agents.house.said import Said
from doorward.agents.house.tables import Meant
from doorward.agents.house.wanted import Shape

_TELLING = ("span", "age", "size", "order", "group", "limit")
_MARKS = {"limit": ("@limit",), "span": ("@span", "@since", "@until", "@lately")}
_PLANNED = {
    "files": "limit order group measure span age size kind glob",
    "read part": "limit number",
    "word count": "kind",
    "failures": "span limit",
    "activity": "span limit",
    "room messages": "span limit",
}
"""What the planners make something of."""
_TURNS = knowledge.words("accounting: turns")
_PERSONS = ("they", "he", "she", "him")
_FIRST = ("first", "1st", "last")
_DENIES = knowledge.words("accounting: denies")
_RANKS = knowledge.words("accounting: ranks")
_LIMITS = knowledge.words("accounting: limits")
_LATELY = ("recently", "lately", "recent", "newly")
_AGAINST = knowledge.words("accounting: against")
_ALL = knowledge.form("accounting: all")
_EACH = knowledge.words("accounting: each")
_LIGHT = knowledge.words("accounting: light")
"""Words that an intent may pass over: they say nothing that could make the answer another."""


def unused(said: Said, meant: Meant, wanted: Shape, clauses: Sequence[Clause], known: Sequence[Table]) -> str:
    """The first word of a request that nothing was made of though it turns the meaning; empty when there is none."""
    return (
        another_time(said)
        or _pronoun(said, meant)
        or _other(said, meant, wanted, clauses, known)
        or _denied(said, clauses)
        or _compares(said)
        or _apart(said, wanted)
        or _ranked(said, wanted)
    )


def another_time(said: Said) -> str:
    """A second stretch of time: only one of them is ever looked at."""
    spans = [one for one in said.all("span") if isinstance(one.value, Span) and one.words.lower() not in _LATELY]
    return next((one.words for one in spans[1:] if _edges(one.value) != _edges(spans[0].value)), "")


def _edges(span: Any) -> tuple[float | None, float | None]:
    return span.since, span.until


def _compares(said: Said) -> str:
    """A word that sets records against each other, or asks whether all of them are so: no one call answers that."""
    whole = _ALL.match(said.text)
    word = next((word.lower for word in said.words if word.lower in _AGAINST), "")
    return word or (whole["all"].lower() if whole is not None else "")


def _pronoun(said: Said, meant: Meant) -> str:
    """Somebody or something that was spoken of before and is not known here: `they`, `that customer`."""
    if said.joined_at:
        return ""
    for place, word in enumerate(said.words):
        behind = said.words[place + 1].lower if place + 1 < len(said.words) else ""
        named = word.lower in ("that", "this") and behind == meant.table.noun[0].lower()
        if named or (word.lower in _PERSONS and not _told(said, meant, place)):
            return f"{word.lower} {behind}" if named else word.lower
    return ""


def _told(said: Said, meant: Meant, place: int) -> bool:
    """Whether it was just said who `they` are: `the customers of Oslo, who are they`."""
    return any(before < place and said.words[before].lower.endswith("s") for before in meant.places)


def passed_over(said: Said, match: Match) -> str:
    """What an intent makes nothing of though the request says it: a `not`, a `most`, a time, any word that it does not
    know; else empty."""
    intent = match.intent
    if not match.explained:
        return ""
    uses = _uses(intent)
    again = another_time(said)
    if again:
        return again
    for one in said.reading.found:
        if one.kind in _TELLING and one.kind not in uses and not said.inside(one) <= match.explained:
            return one.words
    held = {place for one in said.reading.found if one.kind in uses for place in said.inside(one)}
    for place, word in enumerate(said.words):
        turns = word.lower in _TURNS or word.lower in _RANKS or word.lower.endswith("n't")
        if turns and place not in match.explained | held and not _at_least(said, place):
            return word.lower
    return next((word for word in match.unexplained if word not in _LIGHT), "")


def _at_least(said: Said, place: int) -> bool:
    return place > 0 and said.words[place - 1].lower == "at"


def _uses(intent: Intent) -> frozenset[str]:
    """The kinds of finds that an intent makes something of."""
    written = str(intent.ways) + intent.plan
    kinds = {kind for kind, marks in _MARKS.items() if any(mark in written for mark in marks)}
    return frozenset(kinds | set(_PLANNED.get(intent.plan, "").split()))


def _other(said: Said, meant: Meant, wanted: Shape, clauses: Sequence[Clause], known: Sequence[Table]) -> str:
    """Another collection, which is no field of this one either."""
    values = {stem(word) for one in clauses for word in _words(one.where)}
    for place in _others(said, meant, known):
        word = said.words[place]
        if word.stem in values or place in wanted.places or _is_used(meant.table, word.lower, wanted, clauses):
            continue
        return word.lower
    return ""


def another(said: Said, meant: Meant, known: Sequence[Table]) -> str:
    """Another collection that is named, whatever was made of it; empty when none is."""
    return next((said.words[place].lower for place in _others(said, meant, known)), "")


def _others(said: Said, meant: Meant, known: Sequence[Table]) -> list[int]:
    """Where words stand that name another collection of people's own."""
    own = {stem(word) for word in (meant.table.name, *meant.table.noun)}
    names = {stem(word) for one in known if one.kind != "system" for word in (one.name, *one.noun)}
    return [place for place, word in enumerate(said.words) if place not in meant.places and word.stem in names - own]


def _is_used(table: Table, word: str, wanted: Shape, clauses: Sequence[Clause]) -> bool:
    """Whether a word names a field of the records that something was made of."""
    used = {wanted.group, wanted.field, *wanted.also_by, *wanted.fields, wanted.order.lstrip("-")}
    used |= {field for one in clauses for field in one.where}
    return any(field in used for field in table.fields if stem(singular(word)) in map(stem, parts(field)))


def _denied(said: Said, clauses: Sequence[Clause]) -> str:
    """A `not` or `without` that no condition has."""
    word = denies(said)
    return word if word and not any(_denies(one.where) for one in clauses) else ""


def denies(said: Said) -> str:
    """The first word that says what is not so; empty when there is none."""
    return next((word.lower for word in said.words if word.lower in _DENIES or word.lower.endswith("n't")), "")


def _apart(said: Said, wanted: Shape) -> str:
    """An `each` where one number or figure is given for all."""
    each = next((word.lower for word in said.words if word.lower in _EACH), "")
    return each if each and (wanted.count or wanted.measure) and not wanted.group else ""


def _denies(where: Any) -> bool:
    """Whether a condition says what is not so, or what there is none of."""
    if isinstance(where, dict):
        return any(key in ("$not", "$ne", "$nin", "$lt", "$lte") or _denies(value) for key, value in where.items())
    if isinstance(where, list):
        return any(map(_denies, where))
    return where is None or where is False or where in (0, "")


def _ranked(said: Said, wanted: Shape) -> str:
    """A word such as `slowest` that nothing was ordered by, or a number of groups where there are none."""
    first = said.entity("limit")
    if wanted.count and wanted.limit and not wanted.group and first is not None:
        return first.words
    ordinal = next((one.words for one in said.all("ordinal") if one.words.lower() not in _FIRST), "")
    if ordinal and (wanted.order or wanted.measure or wanted.limit):
        return ordinal
    if wanted.order or wanted.measure or wanted.limit:
        return ""
    at_least = {
        place + 1
        for place, word in enumerate(said.words[:-1])
        if word.lower == "at" or said.words[place].lower == "the"
    }
    for place, word in enumerate(said.words):
        if word.lower in _RANKS and not (word.lower in _LIMITS and place in at_least):
            return word.lower
    return ""


def _words(where: Any) -> list[str]:
    """The words of the values of a condition."""
    if isinstance(where, dict):
        return [word for value in where.values() for word in _words(value)]
    if isinstance(where, list):
        return [word for value in where for word in _words(value)]
    return where.lower().strip("%").split() if isinstance(where, str) else []
