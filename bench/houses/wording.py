"""How people word a request: nouns, filters and spans of time in phrases, with courtesy and typing mistakes."""

from __future__ import annotations

import calendar
import random
import re
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from typing import Any, NamedTuple, TypeVar

from bench.houses.plan import Plan
from bench.houses.query import Filter, Query, evaluate, reach
from bench.houses.vocabulary import FieldKind, Words
from bench.houses.world import Row, Table

_POLITE = ("please, {}", "hi, {}", "could you tell me: {}", "quick question - {}", "{} thanks!", "hey {}", "{} pls")
_MONTHS = list(calendar.month_name)[1:]


T = TypeVar("T")


class Clause(NamedTuple):
    """A restriction of a noun in words, with every reading of it."""

    phrase: str
    readings: list[tuple[Filter, ...]]


class Speaker:
    """Words requests about one house; the same for the same chance."""

    def __init__(self, plan: Plan, chance: random.Random) -> None:
        self.world, self.workspace, self.rooms, self.chance = plan.world, plan.workspace, plan.rooms, chance
        world = plan.world
        self.work = world.work
        self.people = world.tables[self.work.person]
        self.things = world.tables[self.work.thing]
        self.events = world.tables[self.work.event]

    def pick(self, choices: Sequence[T]) -> T:
        return self.chance.choice(choices)

    def nouns(self, table: Table) -> tuple[str, str]:
        """What people call the records of a collection; mostly by its name."""
        others = {one.one for one in self.world.tables.values() if one is not table}
        if self.chance.random() < 0.25:
            one, many = self.pick([pair for pair in table.kind.names if pair[0] not in others])
            return one.replace("_", " "), many
        return table.one, table.many

    def many(self, table: Table) -> str:
        return self.nouns(table)[1]

    def person(self) -> Row:
        """Somebody who is not easily mistaken for another."""
        return self.pick([row for row in self.people.rows if row[self.people.label] not in self.world.twins])

    def called(self, label: str) -> str:
        """A person by the full name, now and then by the first name."""
        return label.split()[0] if self.chance.random() < 0.25 and label not in self.world.twins else label

    def clause(self, table: Table, kinds: Sequence[str], avoid: Sequence[str] = ()) -> Clause | None:
        """A restriction by one field of these kinds, which some records pass and some do not."""
        fields = [one for one in table.fields.values() if one.kind in kinds and one.role not in avoid]
        self.chance.shuffle(fields)
        for field in fields:
            for _ in range(6):
                made = _CLAUSES[field.kind](self, table, field)
                if made is None:
                    continue
                found = [evaluate(self.world, Query(table=table.kind.role, filters=one)) for one in made.readings]
                if all(0 < one < len(table.rows) for one in found):
                    return made
        return None

    def restricted(self, noun: str, *clauses: Clause) -> str:
        """The noun with its restrictions, those before it first."""
        for clause in sorted(clauses, key=lambda one: not one.phrase.endswith("{n}")):
            noun = clause.phrase.replace("{n}", noun)
        return noun

    def say(self, templates: Words, *, plain: bool = False, **slots: str) -> str:
        """One of the templates, filled in, as somebody would type it. A plain one is left as it is."""
        text = self.pick(templates).format(**slots)
        if plain:
            return text
        way = self.chance.random()
        if way < 0.15:
            text = self.pick(_POLITE).format(text)
        elif way < 0.35:
            text = text.lower().rstrip("?.")
        elif way < 0.47:
            text = self._slip(text, " ".join(slots.values()))
        elif way < 0.6:
            text = text[:1].upper() + text[1:]
        return text

    def misspell(self, word: str) -> str:
        """The word with two letters swapped, one left out, or one doubled."""
        at = self.chance.randrange(1, len(word) - 1)
        swapped = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
        return self.pick((swapped, word[:at] + word[at + 1 :], word[:at] + word[at] + word[at:]))

    def _slip(self, text: str, protected: str) -> str:
        """A typing mistake in one of the words that carry no value."""
        kept = set(re.findall(r"\w+", protected.lower()))
        words = [one for one in re.findall(r"\b[a-z]{5,}\b", text) if one not in kept]
        if not words:
            return text
        word = self.pick(words)
        wrong = self.misspell(word)
        return re.sub(rf"\b{word}\b", wrong, text, count=1)

    def span(self, values: Sequence[date]) -> tuple[str, list[tuple[str, str]]]:
        """A span of time in words and as first and last days, in every usual reading."""
        today, day = self.world.today, timedelta(days=1)
        monday = today - timedelta(days=today.weekday())
        first = today.replace(day=1)
        end = date.max
        choices: list[tuple[str, list[tuple[date, date]]]] = [
            ("yesterday", [(today - day, today - day)]),
            ("today", [(today, today)]),
            (
                "last week",
                [
                    (monday - 7 * day, monday - day),
                    (today - 7 * day, today),
                    (today - 7 * day, today - day),
                    (today - 6 * day, today),
                ],
            ),
            (
                "since Monday",
                [
                    (one, last)
                    for one in ((monday, monday - 7 * day) if today == monday else (monday,))
                    for last in (today, end)
                ],
            ),
            (
                "in the last 30 days",
                [(today - 30 * day, today), (today - 29 * day, today), (today - 30 * day, today - day)],
            ),
            ("this month", [(first, today), (first, _month_end(first))]),
            ("last month", [((first - day).replace(day=1), first - day)]),
        ]
        some = self.pick(values)
        month = some.replace(day=1)
        if month < first:
            choices.append((f"in {_MONTHS[month.month - 1]}", [(month, _month_end(month))]))
        told = self.pick(
            (f"{some.day} {_MONTHS[some.month - 1]}", f"{_MONTHS[some.month - 1]} {some.day}", some.isoformat())
        )
        choices.append((f"on {told}", [(some, some)]))
        choices.append((f"after {told}", [(some + day, end)]))
        choices.append((f"before {told}", [(date.min, some - day)]))
        words, spans = self.pick(choices)
        return words, [(begin.isoformat(), last.isoformat()) for begin, last in spans]


def _month_end(first: date) -> date:
    return (first + timedelta(days=31)).replace(day=1) - timedelta(days=1)


def _values(speaker: Speaker, table: Table, field: FieldKind) -> list[Any]:
    found = (reach(speaker.world, table, row, (field.role,)) for row in table.rows)
    return [one for one in found if one is not None]


def _equals(speaker: Speaker, table: Table, field: FieldKind) -> Clause | None:
    if not field.equals:
        return None
    value = speaker.pick(_values(speaker, table, field))
    if value in speaker.world.twins:
        return None
    told = speaker.called(value) if field.to == speaker.work.person else value
    return Clause(speaker.pick(field.equals).replace("{v}", told), [(Filter((field.role,), "is", value),)])


def _boolean(speaker: Speaker, table: Table, field: FieldKind) -> Clause | None:
    value = speaker.chance.random() < 0.5
    readings: list[tuple[Filter, ...]] = [(Filter((field.role,), "is", value),)]
    if not value and any(row[field.role] is None for row in table.rows):
        readings.append((Filter((field.role,), "untrue"),))
    return Clause(speaker.pick(field.true if value else field.false), readings)


def number_between(speaker: Speaker, values: Sequence[float]) -> tuple[float, str]:
    """A round number that none of the values equals, and how it is written."""
    middle = sorted(values)[len(values) // 4 : -len(values) // 4 or None]
    value = float(round(speaker.pick(middle or values)))
    while value in values:
        value += 0.5
    if value == int(value):
        return value, str(int(value))
    return value, speaker.pick((f"{value:.2f}", f"{value:.1f}"))


def _number(speaker: Speaker, table: Table, field: FieldKind) -> Clause | None:
    up = speaker.chance.random() < 0.5
    phrases = field.above if up else field.below
    if not phrases:
        return None
    value, told = number_between(speaker, _values(speaker, table, field))
    if field.kind == "integer" and value != int(value):
        told = str(int(value + 0.5) if up is False else int(value))
        value = float(told)
    return Clause(
        speaker.pick(phrases).replace("{v}", told), [(Filter((field.role,), "above" if up else "below", value),)]
    )


def _date(speaker: Speaker, table: Table, field: FieldKind) -> Clause | None:
    if not field.when:
        return None
    days = [date.fromisoformat(one[:10]) for one in _values(speaker, table, field)]
    words, spans = speaker.span(days)
    return Clause(
        speaker.pick(field.when).replace("{v}", words), [(Filter((field.role,), "within", one),) for one in spans]
    )


_CLAUSES: dict[str, Callable[[Speaker, Table, FieldKind], Clause | None]] = {
    "enum": _equals,
    "city": _equals,
    "person": _equals,
    "link": _equals,
    "boolean": _boolean,
    "number": _number,
    "integer": _number,
    "date": _date,
}
