"""Questions that follow links between collections, and those that go on from an answer."""

from __future__ import annotations

from datetime import timedelta

from bench.houses.count_kinds import COUNT, counted, digits, queries_of
from bench.houses.expectations import Best, Groups, NamesList, Number, Value, alternatives
from bench.houses.query import Filter, Query, evaluate, reach, select
from bench.houses.question import Question
from bench.houses.record_kinds import ENOUGH, LIST, labels
from bench.houses.wording import Clause, Speaker
from bench.houses.world import Row

MOST_GROUPS = 15


def things_of(speaker: Speaker) -> Question | None:
    name = speaker.person()[speaker.people.label]
    query = Query(
        table=speaker.work.event,
        filters=(Filter((speaker.work.person_link,), "is", name),),
        measure="labels",
        of=(speaker.work.thing_link,),
    )
    found = tuple(evaluate(speaker.world, query))
    if not 0 < len(found) <= ENOUGH:
        return None
    says = speaker.say(
        speaker.work.join.things_of,
        person=speaker.called(name),
        things=speaker.many(speaker.things),
        events=speaker.many(speaker.events),
    )
    return Question(
        kind="things_of", says=says, expect=NamesList((found,), labels(speaker.world, speaker.things)), queries=(query,)
    )


def people_of(speaker: Speaker) -> Question | None:
    thing = speaker.pick(speaker.things.rows)[speaker.things.label]
    query = Query(
        table=speaker.work.event,
        filters=(Filter((speaker.work.thing_link,), "is", thing),),
        measure="labels",
        of=(speaker.work.person_link,),
    )
    found = tuple(evaluate(speaker.world, query))
    if not 0 < len(found) <= ENOUGH:
        return None
    says = speaker.say(
        speaker.work.join.people_of,
        thing=thing,
        people=speaker.many(speaker.people),
        events=speaker.many(speaker.events),
    )
    return Question(
        kind="people_of", says=says, expect=NamesList((found,), labels(speaker.world, speaker.people)), queries=(query,)
    )


def only_event(speaker: Speaker) -> tuple[str, str, Row] | None:
    """A person and a thing with exactly one event between them."""
    pairs: dict[tuple[str, str], list[Row]] = {}
    for row in speaker.events.rows:
        person = reach(speaker.world, speaker.events, row, (speaker.work.person_link,))
        thing = reach(speaker.world, speaker.events, row, (speaker.work.thing_link,))
        pairs.setdefault((person, thing), []).append(row)
    single = [(*pair, rows[0]) for pair, rows in pairs.items() if len(rows) == 1 and pair[0] not in speaker.world.twins]
    return speaker.pick(single) if single else None


def event_when(speaker: Speaker) -> Question | None:
    found = only_event(speaker)
    if not found:
        return None
    person, thing, row = found
    role = speaker.work.join.when_field
    query = Query(
        table=speaker.work.event,
        filters=(Filter((speaker.work.person_link,), "is", person), Filter((speaker.work.thing_link,), "is", thing)),
        measure="values",
        of=(role,),
    )
    says = speaker.say(speaker.work.join.when, person=person, thing=thing)
    record = tuple(value for name, value in row.items() if name != role and value is not None)
    return Question(kind="event_when", says=says, expect=Value(row[role], (), record), queries=(query,))


def group_link(speaker: Speaker) -> Question | None:
    link = speaker.pick((speaker.work.person_link, speaker.work.thing_link))
    target = speaker.world.tables[speaker.events.fields[link].to]
    query = Query(table=speaker.work.event, measure="groups", of=(link,))
    groups = evaluate(speaker.world, query)
    if len(groups) > MOST_GROUPS:
        return None
    templates = (
        "how many {n} per {one}?",
        "{n} per {one}",
        "number of {n} for every {one}",
        "for each {one}, how many {n} were there",
        "count {n} by {one}",
    )
    says = speaker.say(templates, n=speaker.many(speaker.events), one=speaker.nouns(target)[0])
    return Question(kind="group_link", says=says, expect=Groups(groups), queries=(query,))


def group_far(speaker: Speaker) -> Question | None:
    """Events by what kind of person or thing they are linked to."""
    link = speaker.pick((speaker.work.person_link, speaker.work.thing_link))
    table = speaker.world.tables[speaker.events.fields[link].to]
    field = next((one for one in table.fields.values() if one.kind == "enum"), None)
    if field is None:
        return None
    query = Query(table=speaker.work.event, measure="groups", of=(link, field.role))
    templates = (
        "how many {n} per {what} of the {one}?",
        "{n} by {what} of the {one}",
        "number of {n} for each {one} {what}",
    )
    says = speaker.say(
        templates, n=speaker.many(speaker.events), what=speaker.pick(field.says), one=speaker.nouns(table)[0]
    )
    return Question(kind="group_far", says=says, expect=Groups(evaluate(speaker.world, query)), queries=(query,))


def group_sum(speaker: Speaker) -> Question | None:
    field = speaker.events.fields[speaker.work.amount]
    query = Query(
        table=speaker.work.event, measure="groups", of=(speaker.work.person_link, "level"), summed=(field.role,)
    )
    templates = (
        "total {what} per {level} of the {people}?",
        "{what} by {level}, added up",
        "sum of {what} for each {level}",
    )
    level, people = speaker.people.fields["level"].says[0], speaker.many(speaker.people)
    says = speaker.say(templates, what=speaker.pick(field.says), level=level, people=people)
    return Question(kind="group_sum", says=says, expect=Groups(evaluate(speaker.world, query)), queries=(query,))


def most_events(speaker: Speaker) -> Question | None:
    join = speaker.work.join
    people = speaker.chance.random() < 0.5
    link = speaker.work.person_link if people else speaker.work.thing_link
    table = speaker.people if people else speaker.things
    query = Query(table=speaker.work.event, measure="groups", of=(link,))
    groups = evaluate(speaker.world, query)
    winners = tuple(name for name, value in groups.items() if value == max(groups.values()))
    says = speaker.say(
        join.most_person if people else join.most_thing,
        person_one=speaker.nouns(speaker.people)[0],
        people=speaker.many(speaker.people),
        thing_one=speaker.nouns(speaker.things)[0],
        events=speaker.many(speaker.events),
    )
    return Question(kind="most_events", says=says, expect=Best(winners, labels(speaker.world, table)), queries=(query,))


def far_sum(speaker: Speaker) -> Question | None:
    """A total over events of people of one kind, such as the total paid by gold members."""
    level, field = speaker.people.fields["level"], speaker.events.fields[speaker.work.amount]
    value = speaker.pick(level.values)
    people = speaker.pick(level.equals).replace("{v}", value).replace("{n}", speaker.many(speaker.people))
    filters = (Filter((speaker.work.person_link, "level"), "is", value),)
    query = Query(table=speaker.work.event, filters=filters, measure="sum", of=(field.role,))
    found = evaluate(speaker.world, query)
    if found is None:
        return None
    templates = (
        "total {what} of {people}?",
        "sum of all {what} for {people}",
        "how much {what} comes from {people} in total",
        "what does the {what} of {people} come to",
    )
    says = speaker.say(templates, what=speaker.pick(field.says), people=people)
    count = float(evaluate(speaker.world, Query(table=speaker.work.event, filters=filters)))
    return Question(
        kind="far_sum", says=says, expect=Number((float(found),), (count,), digits(speaker.world)), queries=(query,)
    )


def far_list(speaker: Speaker) -> Question | None:
    """People by what they have to do with things of one kind, such as who borrowed a book about travel."""
    field = next((one for one in speaker.things.fields.values() if one.kind == "enum"), None)
    if field is None:
        return None
    value = speaker.pick(field.values)
    things = speaker.pick(field.equals).replace("{v}", value).replace("{n}", speaker.many(speaker.things))
    filters = (Filter((speaker.work.thing_link, field.role), "is", value),)
    query = Query(table=speaker.work.event, filters=filters, measure="labels", of=(speaker.work.person_link,))
    found = tuple(evaluate(speaker.world, query))
    if not 0 < len(found) <= ENOUGH:
        return None
    about = speaker.events.fields[speaker.work.thing_link].equals[0]
    np = about.replace("{n}", speaker.many(speaker.events)).replace("{v}", things)
    templates = (
        "which {people} have {np}?",
        "list the {people} with {np}",
        "who has {np}",
        "names of the {people} with any {np}",
    )
    says = speaker.say(templates, people=speaker.many(speaker.people), np=np)
    return Question(
        kind="far_list", says=says, expect=NamesList((found,), labels(speaker.world, speaker.people)), queries=(query,)
    )


def none_there(speaker: Speaker) -> Question | None:
    """Events of somebody who has none of them."""
    people = [
        row[speaker.people.label] for row in speaker.people.rows if row[speaker.people.label] not in speaker.world.twins
    ]
    speaker.chance.shuffle(people)
    by = speaker.events.fields[speaker.work.person_link].equals
    done = speaker.work.done
    for name in people:
        mine = Filter((speaker.work.person_link,), "is", name)
        for filters, phrases in (((Filter((done,), "is", False),), speaker.events.fields[done].false), ((), ("{n}",))):
            query = Query(table=speaker.work.event, filters=(mine, *filters))
            if evaluate(speaker.world, query):
                continue
            np = speaker.restricted(
                speaker.many(speaker.events), Clause(speaker.pick(phrases), []), Clause(by[0].replace("{v}", name), [])
            )
            says = speaker.say(
                ("any {np}?", "are there any {np}", "do we have {np}?", "how many {np} are there"), np=np
            )
            return Question(
                kind="none_there", says=says, expect=Number((0.0,), (), digits(speaker.world)), queries=(query,)
            )
    return None


def overdue(speaker: Speaker) -> Question | None:
    if not speaker.work.overdue:
        return None
    past = ("0001-01-01", (speaker.world.today - timedelta(days=1)).isoformat())
    filters = (Filter((speaker.work.join.when_field,), "within", past), Filter((speaker.work.done,), "is", False))
    return counted(speaker, "overdue", speaker.events, Clause(speaker.pick(speaker.work.overdue), [filters]))


def follow_narrow(speaker: Speaker) -> Question | None:
    table = speaker.pick((speaker.people, speaker.things))
    first = speaker.clause(table, ("enum", "city"))
    second = speaker.clause(table, ("number", "integer", "boolean"))
    if not first or not second:
        return None
    queries = queries_of(table, first, second, measure="labels")
    found = alternatives([tuple(evaluate(speaker.world, one)) for one in queries])
    before = len(evaluate(speaker.world, queries_of(table, first, measure="labels")[0]))
    if any(not 0 < len(one) < before for one in found) or before > ENOUGH:
        return None
    opening = speaker.say(LIST, plain=True, np=speaker.restricted(speaker.many(table), first))
    phrase = second.phrase.replace("{n}", "ones")
    says = speaker.say(
        ("and of those, which {phrase} are there?", "which of them are {phrase}", "and only the {phrase} of these?"),
        phrase=phrase,
    )
    return Question(
        kind="follow_narrow",
        says=says,
        before=(opening,),
        expect=NamesList(found, labels(speaker.world, table)),
        queries=queries,
    )


def follow_person(speaker: Speaker) -> Question | None:
    one, other = (row[speaker.people.label] for row in speaker.chance.sample(speaker.people.rows, 2))
    if {one, other} & set(speaker.world.twins):
        return None
    phrase = speaker.events.fields[speaker.work.person_link].equals[0]
    opening = speaker.say(COUNT, plain=True, np=phrase.replace("{v}", one).replace("{n}", speaker.many(speaker.events)))
    query = Query(table=speaker.work.event, filters=(Filter((speaker.work.person_link,), "is", other),))
    says = speaker.say(
        ("and for {name}?", "and {name}?", "what about {name}", "same for {name} please"), name=speaker.called(other)
    )
    expect = Number((float(evaluate(speaker.world, query)),), (float(len(speaker.events.rows)),), digits(speaker.world))
    return Question(kind="follow_person", says=says, before=(opening,), expect=expect, queries=(query,))


def follow_sort(speaker: Speaker) -> Question | None:
    table = speaker.things
    clause = speaker.clause(table, ("enum",))
    field = speaker.pick([one for one in table.fields.values() if one.kind == "number"])
    if not clause:
        return None
    up = speaker.chance.random() < 0.5
    query = Query(table=table.kind.role, filters=clause.readings[0], measure="labels", by=(field.role,), descending=up)
    found = tuple(evaluate(speaker.world, query))
    if not 2 <= len(found) <= 8:
        return None
    opening = speaker.say(LIST, plain=True, np=speaker.restricted(speaker.many(table), clause))
    order = "highest first" if up else "lowest first"
    says = speaker.say(
        (
            "sort them by {what}, {order}",
            "now order those by {what} ({order})",
            "can you sort that by {what}? {order} please",
        ),
        what=field.says[0],
        order=order,
    )
    return Question(
        kind="follow_sort",
        says=says,
        before=(opening,),
        expect=NamesList((found,), labels(speaker.world, table), ordered=True),
        queries=(query,),
    )


def recent(speaker: Speaker) -> Question | None:
    """What the newest event is about."""
    past = (one.role for one in speaker.events.fields.values() if one.kind == "date" and one.values[1] == 0)
    role = next(past, "")
    if not role:
        return None
    rows = select(speaker.world, Query(table=speaker.work.event, by=(role,), descending=True))
    newest = [row for row in rows if row[role] == rows[0][role]]
    winners = alternatives([reach(speaker.world, speaker.events, row, (speaker.work.thing_link,)) for row in newest])
    templates = (
        "which {thing} was the latest {event} about?",
        "the most recent {event}: which {thing} was that",
        "what {thing} does our newest {event} concern?",
    )
    says = speaker.say(templates, thing=speaker.nouns(speaker.things)[0], event=speaker.nouns(speaker.events)[0])
    return Question(kind="recent", says=says, expect=Best(winners, labels(speaker.world, speaker.things)))


LINK_KINDS = (
    *(
        things_of,
        people_of,
        event_when,
        group_link,
        group_far,
        group_sum,
        most_events,
        far_sum,
        far_list,
        none_there,
        overdue,
    ),
    *(follow_narrow, follow_person, follow_sort, recent),
)
