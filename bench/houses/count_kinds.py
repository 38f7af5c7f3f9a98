"""Questions that count the records of a collection."""

from __future__ import annotations

from typing import Any

from bench.houses.expectations import Number, alternatives
from bench.houses.query import Filter, Query, evaluate
from bench.houses.question import Question
from bench.houses.vocabulary import Words
from bench.houses.wording import Clause, Speaker
from bench.houses.world import Table, World

COUNT: Words = (
    "how many {np} are there?",
    "how many {np} do we have",
    "number of {np}?",
    "count the {np} for me",
    "hw many {np}",
    "i need to know how many {np} we've got",
    "what's the total number of {np}",
    "tell me how many {np} there are at the moment.",
)


def digits(world: World) -> frozenset[str]:
    """Every name and id, of which some hold digits that count nothing."""
    return frozenset(
        [row[table.label] for table in world.tables.values() if table.label for row in table.rows]
        + [row["id"] for table in world.tables.values() for row in table.rows]
    )


def queries_of(table: Table, *clauses: Clause, **more: Any) -> tuple[Query, ...]:
    """Every reading of the clauses together."""
    readings: list[tuple[Filter, ...]] = [()]
    for clause in clauses:
        readings = [(*one, *other) for one in readings for other in clause.readings]
    return tuple(Query(table=table.kind.role, filters=one, **more) for one in readings)


def counted(speaker: Speaker, kind: str, table: Table, *clauses: Clause, zero: bool = False) -> Question | None:
    queries = queries_of(table, *clauses)
    found = alternatives([float(evaluate(speaker.world, one)) for one in queries])
    if 0.0 in found and not zero:
        return None
    says = speaker.say(COUNT, np=speaker.restricted(speaker.many(table), *clauses))
    expect = Number(found, (float(len(table.rows)),), digits(speaker.world))
    return Question(kind=kind, says=says, expect=expect, queries=queries)


def count_all(speaker: Speaker) -> Question | None:
    return counted(speaker, "count_all", speaker.pick(list(speaker.world.tables.values())))


def _count_by(speaker: Speaker, kind: str, kinds: tuple[str, ...]) -> Question | None:
    table = speaker.pick((speaker.people, speaker.things, speaker.events, speaker.events))
    clause = speaker.clause(table, kinds)
    return counted(speaker, kind, table, clause) if clause else None


def count_enum(speaker: Speaker) -> Question | None:
    return _count_by(speaker, "count_enum", ("enum", "city"))


def count_link(speaker: Speaker) -> Question | None:
    return _count_by(speaker, "count_link", ("link",))


def count_boolean(speaker: Speaker) -> Question | None:
    return _count_by(speaker, "count_boolean", ("boolean",))


def count_number(speaker: Speaker) -> Question | None:
    return _count_by(speaker, "count_number", ("number", "integer"))


def count_date(speaker: Speaker) -> Question | None:
    return _count_by(speaker, "count_date", ("date",))


def count_two(speaker: Speaker) -> Question | None:
    table = speaker.pick((speaker.people, speaker.things, speaker.events, speaker.events))
    first = speaker.clause(table, ("enum", "city", "boolean", "person"))
    second = speaker.clause(table, ("link", "number", "integer", "date", "boolean"))
    if not first or not second or first.readings[0][0].path == second.readings[0][0].path:
        return None
    single = {evaluate(speaker.world, one) for clause in (first, second) for one in queries_of(table, clause)}
    if single & {evaluate(speaker.world, one) for one in queries_of(table, first, second)}:
        return None  # which could not be told apart from an answer with one filter
    return counted(speaker, "count_two", table, first, second)


def count_far(speaker: Speaker) -> Question | None:
    """Events of people of one kind, such as loans by gold members."""
    level = speaker.people.fields["level"]
    value = speaker.pick(level.values)
    people = speaker.pick(level.equals).replace("{v}", value).replace("{n}", speaker.many(speaker.people))
    phrase = speaker.pick(speaker.events.fields[speaker.work.person_link].equals[:1]).replace("{v}", people)
    return counted(
        speaker,
        "count_far",
        speaker.events,
        Clause(phrase, [(Filter((speaker.work.person_link, "level"), "is", value),)]),
    )


COUNT_KINDS = (count_all, count_enum, count_link, count_boolean, count_number, count_date, count_two, count_far)
