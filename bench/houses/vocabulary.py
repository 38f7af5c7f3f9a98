"""How a field of work is described: its collections, their fields, and the words that people use for them."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Kind = Literal[
    "label", "text", "city", "person", "enum", "number", "integer", "boolean", "date", "phone", "code", "link"
]
Words = tuple[str, ...]


class FieldKind(msgspec.Struct, frozen=True, kw_only=True):
    """One field. Phrases stand around `{n}`, the noun in the plural, and `{v}`, the value."""

    role: str
    names: Words
    """Its possible names in the schema, as words."""
    kind: Kind
    values: tuple[Any, ...] = ()
    """Values of an enum; lowest and highest number; first and last day, counted from today."""
    draw: str = ""
    """Where a label's names come from."""
    to: str = ""
    """The collection a link leads to."""
    missing: float = 0.0
    """The share of records without a value."""
    says: Words = ()
    """What people call the field."""
    equals: Words = ()
    above: Words = ()
    below: Words = ()
    most: Words = ()
    """Superlatives, in front of a noun."""
    least: Words = ()
    true: Words = ()
    false: Words = ()
    when: Words = ()
    absent: Words = ()
    """Phrases for records without a value."""


class CollectionKind(msgspec.Struct, frozen=True, kw_only=True):
    role: str
    names: tuple[tuple[str, str], ...]
    """Nouns in the singular and plural; one of them names the collection."""
    fields: tuple[FieldKind, ...]
    records: tuple[int, int]
    """Fewest and most records."""


class Join(msgspec.Struct, frozen=True, kw_only=True):
    """How people ask for things that are linked to a person by events."""

    things_of: Words
    """Labels of the things of `{person}`; `{things}` is their noun."""
    people_of: Words
    """Names of the people of `{thing}`; `{people}` is their noun."""
    when: Words
    """The date of the one event of `{person}` and `{thing}`."""
    when_field: str
    event_of: str
    """The one event of `{person}` and `{thing}`, after "the"; `{event}` is its noun."""
    most_person: Words
    """Who has the most events."""
    most_thing: Words


class FieldOfWork(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    collections: tuple[CollectionKind, ...]
    person: str
    """The role of the collection of people; thing and event likewise."""
    thing: str
    event: str
    person_link: str
    thing_link: str
    join: Join
    amount: str
    """The number of an event that is summed up."""
    done: str
    """The boolean of an event that an order sets to true."""
    mark: Words
    """Orders that set it, with `{the_event}`."""
    overdue: Words = ()
    """Phrases for events whose `when_field` is past while `done` is false."""
    add: Words
    """Orders that add a thing, with `{label}` and `{one}` and the `add_field` as `{v}`."""
    add_field: str
    no_such: Words
    """Questions about a field that does not exist, with `{person}` or `{thing}`."""
    rooms: Words
    topics: Words
    """What notes, messages, commits and the log are about."""


def person_fields(*, since: Words, level: FieldKind, extra: tuple[FieldKind, ...] = ()) -> tuple[FieldKind, ...]:
    """The fields that people have in every field of work."""
    return (
        FieldKind(role="name", names=("name", "full name"), kind="label", draw="person", says=("name",)),
        FieldKind(
            role="phone",
            names=("phone", "phone number", "telephone", "mobile"),
            kind="phone",
            says=("phone number", "phone", "number"),
        ),
        FieldKind(
            role="city",
            names=("city", "town", "place"),
            kind="city",
            says=("city", "town"),
            equals=("{n} from {v}", "{n} in {v}", "{n} living in {v}", "{n} who live in {v}"),
        ),
        level,
        FieldKind(
            role="active",
            names=("active", "is active", "enabled"),
            kind="boolean",
            true=("active {n}", "{n} who are active", "currently active {n}"),
            false=("inactive {n}", "{n} who are not active", "{n} that aren't active any more"),
        ),
        FieldKind(
            role="since",
            names=since,
            kind="date",
            values=(-900, -3),
            says=("join", "sign up"),
            when=("{n} who joined {v}", "{n} that signed up {v}"),
            most=("newest",),
            least=("longest-standing",),
        ),
        *extra,
    )
