"""Orders that change something, questions that cannot be answered, and remarks that order nothing."""

from __future__ import annotations

from bench.houses.expectations import AskBack, Change, Still, Unanswerable
from bench.houses.link_kinds import only_event
from bench.houses.question import Question
from bench.houses.wording import Speaker
from bench.houses.world import Table

_TASKS = ("call the plumber", "order more coffee", "water the plants", "send the invoices", "fix the back door")


def _key(table: Table, id: str) -> str:
    return f"{table.name}/{id}"


def add_thing(speaker: Speaker) -> Question | None:
    table = speaker.things
    label = (
        speaker.world.names.person()
        if table.fields[table.label].draw == "person"
        else speaker.world.names.draw(table.fields[table.label].draw)
    )
    field = table.fields[speaker.work.add_field]
    value = speaker.pick(field.values) if field.kind == "enum" else speaker.world.names.person()
    says = speaker.say(speaker.work.add, plain=True, one=table.one, label=label, v=value)
    fields = {table.named[table.label]: label, table.named[field.role]: value}
    return Question(kind="add_thing", says=says, expect=Change(created=(table.name, fields), evidence=(label, value)))


def set_field(speaker: Speaker) -> Question | None:
    row = speaker.person()
    table = speaker.people
    role, value = speaker.pick(
        (
            ("phone", speaker.world.names.phone()),
            ("city", speaker.pick([one for one in speaker.world.names.cities if one != row["city"]])),
        )
    )
    templates = (
        "set the {what} of {name} to {value}",
        "change {name}'s {what} to {value}",
        "{name} has a new {what}: {value}. please update it",
        "please update the {what} for {name}, it is now {value}",
    )
    says = speaker.say(templates, plain=True, what=table.fields[role].says[0], name=row[table.label], value=value)
    expect = Change(updated={_key(table, row["id"]): {table.named[role]: value}}, evidence=(row["id"], value))
    return Question(kind="set_field", says=says, expect=expect)


def undo(speaker: Speaker) -> Question | None:
    first = speaker.pick((set_field, write, append))(speaker)
    if first is None:
        return None
    says = speaker.say(("undo that", "no, take that back", "oops, undo it please", "revert that change"), plain=True)
    return Question(kind="undo", says=says, before=(first.says,), expect=Change(undone=True))


def mark(speaker: Speaker) -> Question | None:
    for _ in range(20):
        found = only_event(speaker)
        if found and found[2][speaker.work.done] is False:
            break
    else:
        return None
    person, thing, row = found
    the_event = "the " + speaker.work.join.event_of.format(event=speaker.events.one, person=person, thing=thing)
    says = speaker.say(speaker.work.mark, plain=True, the_event=the_event, person=person, thing=thing)
    fields = {speaker.events.named[speaker.work.done]: True}
    expect = Change(updated={_key(speaker.events, row["id"]): fields}, evidence=(row["id"], "true"))
    return Question(kind="mark", says=says, expect=expect)


def delete_event(speaker: Speaker) -> Question | None:
    found = only_event(speaker)
    if not found:
        return None
    person, thing, row = found
    event = speaker.work.join.event_of.format(event=speaker.events.one, person=person, thing=thing)
    says = speaker.say(
        ("delete the {event}", "please remove the {event}", "the {event} was a mistake, delete it"),
        plain=True,
        event=event,
    )
    return Question(
        kind="delete_event", says=says, expect=Change(deleted=(_key(speaker.events, row["id"]),), evidence=(row["id"],))
    )


def delete_thing(speaker: Speaker) -> Question | None:
    table = speaker.things
    row = speaker.pick(table.rows)
    says = speaker.say(
        ("delete the {one} {label}", "remove {label} from the {many}", "get rid of the {one} {label} please"),
        plain=True,
        one=table.one,
        many=table.many,
        label=row[table.label],
    )
    return Question(
        kind="delete_thing", says=says, expect=Change(deleted=(_key(table, row["id"]),), evidence=(row["id"],))
    )


def rename(speaker: Speaker) -> Question | None:
    path = speaker.pick([one for one in speaker.workspace.files if one.startswith("notes/")])
    new = f"notes/{speaker.pick(('old', 'kept', 'done', 'later'))}-{path.partition('/')[2]}"
    says = speaker.say(
        ("rename {path} to {new}", "please rename the file {path} to {new}", "move {path} to {new}"),
        plain=True,
        path=path,
        new=new,
    )
    text = speaker.workspace.files[path].decode()
    return Question(kind="rename", says=says, expect=Change(files={path: None, new: text}, evidence=(path, new)))


def write(speaker: Speaker) -> Question | None:
    task, path = speaker.pick(_TASKS), speaker.pick(("todo.md", "tasks.txt", "notes/todo.md", "reminder.txt"))
    templates = (
        'write "{task}" into {path}',
        "put '{task}' into a new file {path}",
        "create {path} with the text: {task}",
        "please write {task} into {path}",
    )
    says = speaker.say(templates, plain=True, task=task, path=path)
    return Question(kind="write", says=says, expect=Change(files={path: task}, evidence=(task, path)))


def append(speaker: Speaker) -> Question | None:
    task = speaker.pick(_TASKS)
    path = speaker.pick([one for one in speaker.workspace.files if one.startswith("notes/")])
    templates = ('add the line "{task}" to {path}', "append '{task}' to {path}", 'add "{task}" at the end of {path}')
    says = speaker.say(templates, plain=True, task=task, path=path)
    text = speaker.workspace.files[path].decode() + task
    return Question(kind="append", says=says, expect=Change(files={path: text}, evidence=(task, path)))


def outside(speaker: Speaker) -> Question | None:
    templates = (
        "what's the weather like tomorrow?",
        "who won the football match last night",
        "what is the euro to dollar rate today",
        "book me a table for two tonight",
        "how is the traffic on the motorway right now?",
        "what should i cook for dinner",
        "is my sister at home?",
    )
    return Question(kind="outside", says=speaker.say(templates), expect=Unanswerable())


def no_such_field(speaker: Speaker) -> Question | None:
    person = speaker.person()[speaker.people.label]
    thing = speaker.pick(speaker.things.rows)[speaker.things.label]
    says = speaker.say(speaker.work.no_such, person=person, thing=thing)
    return Question(kind="no_such_field", says=says, expect=Unanswerable())


def no_such_person(speaker: Speaker) -> Question | None:
    name = speaker.world.names.person()
    values = frozenset(value for row in speaker.people.rows for value in (row["phone"], row["city"]))
    templates = (
        "what's the phone number of {name}?",
        "in which city does {name} live",
        "is {name} still active?",
        "when did {name} join",
    )
    return Question(kind="no_such_person", says=speaker.say(templates, name=name), expect=Unanswerable(values))


def twins(speaker: Speaker) -> Question | None:
    first = speaker.world.twins[0].split()[0]
    role, templates = speaker.pick(
        (
            ("phone", ("what's {name}'s phone number?", "phone number of {name}", "whats the number of {name}")),
            ("city", ("in which city does {name} live?", "where does {name} live", "which town is {name} from")),
        )
    )
    values = tuple(speaker.people.by_label(one)[role] for one in speaker.world.twins)
    return Question(kind="twins", says=speaker.say(templates, name=first), expect=AskBack(speaker.world.twins, values))


def order_for_twins(speaker: Speaker) -> Question | None:
    first = speaker.world.twins[0].split()[0]
    says = speaker.say(
        ("set the phone number of {name} to {v}", "change {name}'s phone to {v}"),
        plain=True,
        name=first,
        v=speaker.world.names.phone(),
    )
    return Question(kind="order_for_twins", says=says, expect=AskBack(speaker.world.twins))


def remark(speaker: Speaker) -> Question | None:
    person = speaker.person()[speaker.people.label]
    path = speaker.pick([one for one in speaker.workspace.files if one.startswith("notes/")])
    templates = (
        "I was told to delete all {events} yesterday",
        "somebody asked me to remove {person} from the {people}, but I won't",
        "don't delete {path}",
        "they said I should rename {path}, no idea why",
        "what would happen if i deleted all {people}?",
        "last week {person} wanted us to change every price to zero, imagine that",
        "never set anything of {person} to inactive",
    )
    says = speaker.say(
        templates, plain=True, events=speaker.events.many, person=person, people=speaker.people.many, path=path
    )
    return Question(kind="remark", says=says, expect=Still())


ORDER_KINDS = (
    *(add_thing, set_field, undo, mark, delete_event, delete_thing, rename, write, append),
    *(outside, no_such_field, no_such_person, twins, order_for_twins, remark),
)
