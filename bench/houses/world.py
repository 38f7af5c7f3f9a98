"""The records of a generated house: collections whose names, fields and values come from a seed."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, timedelta
from typing import Any

import msgspec

from bench.houses.clinic import CLINIC
from bench.houses.club import CLUB
from bench.houses.library import LIBRARY
from bench.houses.names import Names
from bench.houses.server_room import SERVER_ROOM
from bench.houses.vocabulary import CollectionKind, FieldKind, FieldOfWork
from bench.houses.workshop import WORKSHOP
from doorward.store.system_collections import SYSTEM

FIELDS_OF_WORK = {one.name: one for one in (LIBRARY, CLINIC, SERVER_ROOM, CLUB, WORKSHOP)}
Row = dict[str, Any]
"""One record by the roles of its fields. A link holds the id of its target."""


class Table(msgspec.Struct, kw_only=True):
    kind: CollectionKind
    name: str
    one: str
    many: str
    fields: dict[str, FieldKind]
    named: dict[str, str]
    """The name of each field in the schema, by its role."""
    rows: list[Row]

    @property
    def label(self) -> str:
        """The role of the field that people know a record by; empty when there is none."""
        return next((role for role, one in self.fields.items() if one.kind == "label"), "")

    def by_id(self, id: str) -> Row:
        return next(row for row in self.rows if row["id"] == id)

    def by_label(self, label: str) -> Row:
        return next(row for row in self.rows if row[self.label] == label)


class Style(msgspec.Struct, frozen=True):
    camel: bool
    plural: bool
    linked_by_name: bool
    id_suffix: bool
    """Whether links end with "id" in the schema."""
    times: bool
    """Whether dates carry a time of day."""
    digits: int


class World(msgspec.Struct, kw_only=True):
    work: FieldOfWork
    seed: int
    today: date
    style: Style
    tables: dict[str, Table]
    names: Names
    twins: tuple[str, str]
    """Two people with the same first name."""

    def body(self, table: Table, row: Row) -> dict[str, Any]:
        """A record as it is stored."""
        return {
            table.named[role]: self.stored(table.fields[role], value)
            for role, value in row.items()
            if role != "id" and value is not None
        }

    def stored(self, field: FieldKind, value: Any) -> Any:
        if field.kind != "link" or not self.style.linked_by_name:
            return value
        target = self.tables[field.to]
        return target.by_id(value)[target.label]

    def schema(self, table: Table) -> dict[str, Any]:
        types = {"number": "number", "integer": "integer", "boolean": "boolean"}
        properties: dict[str, Any] = {}
        for role, field in table.fields.items():
            properties[table.named[role]] = {"type": types.get(field.kind, "string")}
            if field.kind == "enum":
                properties[table.named[role]]["enum"] = list(field.values)
        required = [table.named[table.label]] if table.label else []
        return {"type": "object", "properties": properties, "required": required}


def make_world(work: FieldOfWork, seed: int, today: date | None = None) -> World:
    """The records of one house; the same for the same seed and day."""
    chance = random.Random(f"{work.name} {seed}")
    style = Style(
        camel=chance.random() < 0.4,
        plural=chance.random() < 0.6,
        linked_by_name=chance.random() < 0.3,
        id_suffix=chance.random() < 0.4,
        times=chance.random() < 0.3,
        digits=chance.choice((1, 2, 3, 4)),
    )
    names = Names(chance)
    world = World(
        work=work,
        seed=seed,
        today=today or datetime.now(UTC).date(),
        style=style,
        tables={},
        names=names,
        twins=("", ""),
    )
    used: set[str] = set()
    for kind in work.collections:
        table = _table(kind, style, chance, used)
        world.tables[kind.role] = table
        _fill(world, table, chance)
    people = world.tables[work.person]
    first, second = chance.sample(people.rows[1:], 2)
    second[people.label] = names.person(first[people.label].split()[0])
    world.twins = (first[people.label], second[people.label])
    return world


def _table(kind: CollectionKind, style: Style, chance: random.Random, used: set[str]) -> Table:
    one, many = chance.choice([pair for pair in kind.names if pair[0] not in used and SYSTEM.keys().isdisjoint(pair)])
    used.add(one)
    name = (many if style.plural else one).replace(" ", "_")
    named, taken = {}, set()
    for field in kind.fields:
        words = chance.choice([one for one in field.names if one not in taken])
        taken.add(words)
        if field.kind == "link" and style.id_suffix and not style.linked_by_name and " " not in words:
            words += " id"
        named[field.role] = _spelled(words, style)
    fields = {field.role: field for field in kind.fields}
    return Table(kind=kind, name=name, one=one.replace("_", " "), many=many, fields=fields, named=named, rows=[])


def _spelled(words: str, style: Style) -> str:
    first, *rest = words.split()
    return first + "".join(one.capitalize() for one in rest) if style.camel else "_".join((first, *rest))


def _fill(world: World, table: Table, chance: random.Random) -> None:
    prefix, begin = table.name[0], chance.randrange(1, 300)
    pools: dict[str, list[Any]] = {}
    amount = chance.randint(*table.kind.records)
    for field in table.fields.values():
        if field.kind in ("number", "integer"):
            pools[field.role] = _numbers(field, amount, chance)
        elif field.kind == "person":
            people = [world.names.person() for _ in range(max(3, amount // 3))]
            pools[field.role] = [chance.choice(people) for _ in range(amount)]
        elif field.kind == "link":
            pools[field.role] = _targets(world, field, amount, chance)
    for number in range(amount):
        row: Row = {"id": f"{prefix}-{begin + number:0{world.style.digits}}"}
        for field in table.fields.values():
            row[field.role] = _value(world, field, row, pools, chance)
        table.rows.append(row)


def _targets(world: World, field: FieldKind, amount: int, chance: random.Random) -> list[str]:
    """Some targets are linked more often than others, and the first one not at all."""
    ids = [row["id"] for row in world.tables[field.to].rows[1:]]
    weights = [chance.choice((1, 2, 3, 5)) for _ in ids]
    return chance.choices(ids, weights, k=amount)


def _numbers(field: FieldKind, amount: int, chance: random.Random) -> list[float | int]:
    """Numbers of which no two are alike where there are enough."""
    low, high = field.values
    if field.kind == "number":
        return [cents / 100 for cents in chance.sample(range(int(low * 100), int(high * 100)), amount)]
    span = range(int(low), int(high) + 1)
    return chance.sample(span, amount) if len(span) >= amount else chance.choices(span, k=amount)


def _value(world: World, field: FieldKind, row: Row, pools: dict[str, list[Any]], chance: random.Random) -> Any:
    value = pools[field.role].pop() if field.role in pools else _drawn(world, field, row, chance)
    return None if field.missing and chance.random() < field.missing else value


def _drawn(world: World, field: FieldKind, row: Row, chance: random.Random) -> Any:
    match field.kind:
        case "label":
            return world.names.person() if field.draw == "person" else world.names.draw(field.draw)
        case "city":
            return chance.choice(world.names.cities)
        case "enum":
            return chance.choice(field.values)
        case "boolean":
            return _boolean(world, row, chance)
        case "phone":
            return world.names.phone()
        case "code":
            return _code(field, row, chance)
        case "date":
            return _date(world, field, row, chance)
        case _:
            raise ValueError(f"No values are drawn for a field of the kind {field.kind}")


def _boolean(world: World, row: Row, chance: random.Random) -> bool | None:
    """Nothing has happened yet to an event that lies ahead."""
    ahead = "day" in row and str(row["day"])[:10] > world.today.isoformat()
    return None if ahead else chance.random() < 0.6


def _code(field: FieldKind, row: Row, chance: random.Random) -> str:
    if "mail" in field.names:
        return f"{row['name'].lower().replace(' ', '.')}@post.example"
    return f"{chance.choice('ABCDEFGHKLMNPRST')}{chance.choice('ABCDEFGHKLMNPRST')}-{chance.randrange(1000, 9999)}"


def _date(world: World, field: FieldKind, row: Row, chance: random.Random) -> str:
    earlier = next((row[role] for role in ("begun", "placed") if role in row and role != field.role), None)
    if earlier:
        day = date.fromisoformat(str(earlier)[:10]) + timedelta(days=chance.randrange(7, 28))
    else:
        day = world.today + timedelta(days=chance.randint(*field.values))
    if not world.style.times:
        return day.isoformat()
    return f"{day.isoformat()}T{chance.randrange(7, 19):02}:{chance.choice(('00', '15', '30', '45'))}:00Z"
