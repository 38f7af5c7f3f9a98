"""Questions about the records of one collection: lists, figures, groups and single values."""

from __future__ import annotations

from typing import Any

from bench.houses.count_kinds import digits, queries_of
from bench.houses.expectations import Best, Groups, More, NamesList, Number, Value, Yes, alternatives
from bench.houses.query import Filter, Query, evaluate, select
from bench.houses.question import Question
from bench.houses.vocabulary import Words
from bench.houses.wording import Speaker
from bench.houses.world import Table, World

LIST: Words = (
    "which {np} do we have?",
    "list the {np}",
    "show me all {np}",
    "give me the names of all {np}",
    "what are the {np}",
    "i'd like to see the {np}, just the names",
)
ENOUGH = 10
"""More names than this are not asked for."""


def labels(world: World, table: Table) -> frozenset[str]:
    return frozenset(row[table.label] for row in table.rows)


def _listed(speaker: Speaker, kind: str, kinds: tuple[str, ...]) -> Question | None:
    table = speaker.pick((speaker.people, speaker.things))
    clause = speaker.clause(table, kinds)
    if not clause:
        return None
    queries = queries_of(table, clause, measure="labels")
    found = alternatives([tuple(evaluate(speaker.world, one)) for one in queries])
    if any(not 0 < len(one) <= ENOUGH for one in found):
        return None
    says = speaker.say(LIST, np=speaker.restricted(speaker.many(table), clause))
    return Question(kind=kind, says=says, expect=NamesList(found, labels(speaker.world, table)), queries=queries)


def list_enum(speaker: Speaker) -> Question | None:
    return _listed(speaker, "list_enum", ("enum", "city", "person"))


def list_number(speaker: Speaker) -> Question | None:
    return _listed(speaker, "list_number", ("number", "integer"))


def list_date(speaker: Speaker) -> Question | None:
    return _listed(speaker, "list_date", ("date", "boolean"))


def missing(speaker: Speaker) -> Question | None:
    table = speaker.pick((speaker.people, speaker.things))
    field = next((one for one in table.fields.values() if one.absent), None)
    if field is None:
        return None
    query = Query(table=table.kind.role, filters=(Filter((field.role,), "missing"),), measure="labels")
    found = tuple(evaluate(speaker.world, query))
    if not 0 < len(found) <= ENOUGH:
        return None
    np = speaker.pick(field.absent).replace("{n}", speaker.many(table))
    says = speaker.say(LIST, np=np)
    return Question(
        kind="missing", says=says, expect=NamesList((found,), labels(speaker.world, table)), queries=(query,)
    )


def superlative(speaker: Speaker) -> Question | None:
    table = speaker.pick((speaker.people, speaker.things, speaker.things))
    field = speaker.pick([one for one in table.fields.values() if one.most])
    up = not field.least or speaker.chance.random() < 0.6
    query = Query(table=table.kind.role, measure="labels", by=(field.role,), descending=up, limit=1)
    winners = tuple(evaluate(speaker.world, query))
    tied = select(
        speaker.world,
        Query(
            table=table.kind.role,
            filters=(Filter((field.role,), "is", _value(speaker, table, winners[0], field.role)),),
        ),
    )
    templates = (
        "which {one} is the {most}?",
        "what's our {most} {one}",
        "whats the {most} {one} we have",
        "name the {most} {one}",
        "the {most} {one} please",
    )
    one, _ = speaker.nouns(table)
    says = speaker.say(templates, one=one, most=speaker.pick(field.most if up else field.least))
    names = tuple(row[table.label] for row in tied)
    return Question(kind="superlative", says=says, expect=Best(names, labels(speaker.world, table)), queries=(query,))


def _value(speaker: Speaker, table: Table, label: str, role: str) -> Any:
    return table.by_label(label)[role]


def top_three(speaker: Speaker) -> Question | None:
    table = speaker.things
    fields = [one for one in table.fields.values() if one.most]
    if not fields:
        return None
    field = speaker.pick(fields)
    number = speaker.pick((3, 3, 2, 5))
    up = not field.least or speaker.chance.random() < 0.6
    query = Query(table=table.kind.role, measure="labels", by=(field.role,), descending=up, limit=number)
    templates = (
        "the {k} {most} {n}?",
        "top {k} {most} {n}",
        "list our {k} {most} {n}",
        "which {k} {n} are the {most}",
        "show me the {k} {most} {n}, in order",
    )
    says = speaker.say(
        templates, k=str(number), most=speaker.pick(field.most if up else field.least), n=speaker.many(table)
    )
    expect = NamesList((tuple(evaluate(speaker.world, query)),), labels(speaker.world, table), ordered=True)
    return Question(kind="top_three", says=says, expect=expect, queries=(query,))


def _measured(speaker: Speaker, kind: str, measure: Any, templates: Words, filtered: bool) -> Question | None:
    table = speaker.pick((speaker.events, speaker.events, speaker.things))
    fields = [one for one in table.fields.values() if one.kind in ("number", "integer") and one.says]
    if not fields:
        return None
    field = (
        speaker.world.tables[speaker.work.event].fields[speaker.work.amount]
        if table is speaker.events
        else speaker.pick(fields)
    )
    clauses = []
    if filtered and (clause := speaker.clause(table, ("enum", "link", "boolean", "date", "person"))):
        clauses = [clause]
    queries = queries_of(table, *clauses, measure=measure, of=(field.role,))
    found = [evaluate(speaker.world, one) for one in queries]
    if None in found or (
        clauses and evaluate(speaker.world, queries_of(table, measure=measure, of=(field.role,))[0]) in found
    ):
        return None  # which could not be told apart from an answer without the filter
    counts = [float(evaluate(speaker.world, one)) for one in queries_of(table, *clauses)]
    np = speaker.restricted(speaker.many(table), *clauses)
    says = speaker.say(templates, np=np, what=speaker.pick(field.says))
    return Question(
        kind=kind,
        says=says,
        expect=Number(alternatives([float(one) for one in found]), tuple(counts), digits(speaker.world)),
        queries=queries,
    )


def total(speaker: Speaker) -> Question | None:
    templates = (
        "total {what} of {np}?",
        "what does the {what} of the {np} add up to",
        "sum up the {what} for {np}",
        "how much is the {what} of all {np} together",
    )
    return _measured(speaker, "total", "sum", templates, filtered=True)


def average(speaker: Speaker) -> Question | None:
    templates = (
        "average {what} of {np}?",
        "whats the avg {what} for {np}",
        "what's the mean {what} of the {np}",
        "on average, what is the {what} of {np}?",
    )
    return _measured(speaker, "average", "average", templates, filtered=speaker.chance.random() < 0.5)


def extreme(speaker: Speaker) -> Question | None:
    if speaker.chance.random() < 0.5:
        return _measured(
            speaker,
            "extreme",
            "most",
            ("highest {what} of {np}?", "what is the maximum {what} among {np}", "biggest {what} of the {np}"),
            filtered=True,
        )
    return _measured(
        speaker,
        "extreme",
        "least",
        ("lowest {what} of {np}?", "what is the minimum {what} among {np}", "smallest {what} of all {np}"),
        filtered=True,
    )


def group_enum(speaker: Speaker) -> Question | None:
    table = speaker.pick((speaker.people, speaker.things, speaker.events))
    fields = [one for one in table.fields.values() if one.kind == "enum"]
    if not fields:
        return None
    field = speaker.pick(fields)
    query = Query(table=table.kind.role, measure="groups", of=(field.role,))
    templates = (
        "how many {n} per {what}?",
        "{n} by {what}, with numbers",
        "break down the {n} by {what}",
        "number of {n} for each {what} pls",
        "how are the {n} spread over the {what}?",
    )
    says = speaker.say(templates, n=speaker.many(table), what=speaker.pick(field.says))
    return Question(kind="group_enum", says=says, expect=Groups(evaluate(speaker.world, query)), queries=(query,))


def exists(speaker: Speaker) -> Question | None:
    table = speaker.pick((speaker.people, speaker.things, speaker.events))
    clause = speaker.clause(table, ("enum", "city", "number", "integer", "boolean"))
    if not clause:
        return None
    queries = queries_of(table, clause)
    names = tuple(row[table.label] for row in select(speaker.world, queries[0])) if table.label else ()
    templates = ("do we have any {np}?", "are there any {np}", "is there at least one among our {np}?", "any {np}?")
    says = speaker.say(templates[:2] + templates[3:], np=speaker.restricted(speaker.many(table), clause))
    return Question(kind="exists", says=says, expect=Yes(evaluate(speaker.world, queries[0]), names), queries=queries)


def field_of(speaker: Speaker) -> Question | None:
    table = speaker.pick((speaker.people, speaker.things))
    row = speaker.person() if table is speaker.people else speaker.pick(table.rows)
    fields = [
        one
        for one in table.fields.values()
        if one.says and one.kind not in ("label", "date") and row[one.role] is not None
    ]
    field = speaker.pick(fields)
    templates = (
        "what's the {what} of {label}?",
        "{label}'s {what}?",
        "do you know the {what} of {label}",
        "i need {label}'s {what}",
        "look up the {what} for {label} please",
        "{what} {label}",
    )
    says = speaker.say(templates, what=speaker.pick(field.says), label=row[table.label])
    others = tuple(one[field.role] for one in table.rows if one is not row and one[field.role] is not None)
    record = tuple(value for role, value in row.items() if role != field.role and value is not None)
    query = Query(
        table=table.kind.role,
        filters=(Filter((table.label,), "is", row[table.label]),),
        measure="values",
        of=(field.role,),
    )
    return Question(kind="field_of", says=says, expect=Value(row[field.role], others, record), queries=(query,))


def since_when(speaker: Speaker) -> Question | None:
    row = speaker.person()
    name = row[speaker.people.label]
    templates = ("when did {label} {join}?", "since when has {label} been with us", "on what date did {label} {join}")
    says = speaker.say(templates, label=name, join=speaker.pick(speaker.people.fields["since"].says))
    record = tuple(value for role, value in row.items() if role != "since" and value is not None)
    query = Query(
        table=speaker.people.kind.role,
        filters=(Filter((speaker.people.label,), "is", name),),
        measure="values",
        of=("since",),
    )
    return Question(kind="since_when", says=says, expect=Value(row["since"], (), record), queries=(query,))


def whose(speaker: Speaker) -> Question | None:
    row = speaker.person()
    query = Query(table=speaker.people.kind.role, filters=(Filter(("phone",), "is", row["phone"]),), measure="labels")
    templates = ("who has the phone number {v}?", "whose number is {v}", "{v} called, who is that?")
    says = speaker.say(templates, v=row["phone"])
    return Question(
        kind="whose",
        says=says,
        expect=NamesList(((row[speaker.people.label],),), labels(speaker.world, speaker.people)),
        queries=(query,),
    )


def compare(speaker: Speaker) -> Question | None:
    table = speaker.pick((speaker.people, speaker.things, speaker.events))
    fields = [one for one in table.fields.values() if one.kind == "enum"]
    if not fields:
        return None
    field = speaker.pick(fields)
    query = Query(table=table.kind.role, measure="groups", of=(field.role,))
    groups = evaluate(speaker.world, query)
    if len(groups) < 2:
        return None
    first, second = speaker.chance.sample(sorted(groups), 2)
    if groups[first] == groups[second]:
        return None
    phrase = speaker.pick(field.equals)
    noun = speaker.many(table)
    a, b = (phrase.replace("{n}", noun).replace("{v}", one) for one in (first, second))
    says = speaker.say(
        ("do we have more {a} or more {b}?", "are there more {a} or {b}", "what is there more of, {a} or {b}?"),
        a=a,
        b=b,
    )
    more, less = sorted((first, second), key=lambda one: groups[one], reverse=True)
    return Question(kind="compare", says=says, expect=More(more, less, groups[more], groups[less]), queries=(query,))


def distinct(speaker: Speaker) -> Question | None:
    table = speaker.pick((speaker.people, speaker.things))
    field = speaker.pick([one for one in table.fields.values() if one.kind in ("enum", "city") and one.says])
    query = Query(table=table.kind.role, measure="values", of=(field.role,))
    found = tuple(evaluate(speaker.world, query))
    templates = (
        "which different values of {what} do our {n} have?",
        "what kinds of {what} are there among the {n}",
        "list every {what} that occurs among {n}",
    )
    says = speaker.say(templates, what=speaker.pick(field.says), n=speaker.many(table))
    universe = frozenset(field.values) if field.kind == "enum" else frozenset(found)
    return Question(kind="distinct", says=says, expect=NamesList((found,), universe, once=True), queries=(query,))


def misspelt(speaker: Speaker) -> Question | None:
    """The phone number of somebody whose name is mistyped."""
    row = speaker.person()
    first, last = row[speaker.people.label].split()
    name = f"{first} {speaker.misspell(last)}" if speaker.chance.random() < 0.6 else f"{speaker.misspell(first)} {last}"
    says = speaker.say(
        ("phone number of {name}?", "what's the number of {name}", "how can i call {name}? the number please"),
        plain=True,
        name=name,
    )
    others = tuple(one["phone"] for one in speaker.people.rows if one is not row)
    return Question(kind="misspelt", says=says, expect=Value(row["phone"], others))


RECORD_KINDS = (
    *(list_enum, list_number, list_date, missing, superlative, top_three, total, average, extreme, group_enum),
    *(exists, field_of, since_when, whose, compare, distinct, misspelt),
)
