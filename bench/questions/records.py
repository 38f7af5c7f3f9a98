"""Four collections with believable records, spread over sixty days."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

from bench.questions.turned_clock import DAY

_AGES = (0.08, 0.15, 0.22, 0.3, 1.6, 2.4, 3.3, 4.2, 5.6, 6.4, 9.5, 12.5, 16.5, 21.5, 26.5, 33.5, 38.5, 44.5, 52.5, 58.5)
"""Days ago, none of them where a day, a week or a month could be counted in two ways."""
_APART = 0.0002
"""So that no two are of the same age, and what is newest can be told."""
_TEXT, _NUMBER, _YES = {"type": "string"}, {"type": "number"}, {"type": "boolean"}
SCHEMAS: dict[str, dict[str, Any]] = {
    "orders": {
        "customer": _TEXT,
        "product": _TEXT,
        "quantity": {"type": "integer"},
        "amount": _NUMBER,
        "status": {"type": "string", "enum": ["open", "paid", "shipped", "cancelled"]},
    },
    "customers": {
        "name": _TEXT,
        "city": _TEXT,
        "country": _TEXT,
        "plan": {"type": "string", "enum": ["free", "pro", "enterprise"]},
        "active": _YES,
    },
    "products": {"name": _TEXT, "category": _TEXT, "price": _NUMBER, "stock": {"type": "integer"}},
    "tickets": {
        "subject": _TEXT,
        "priority": {"type": "string", "enum": ["low", "medium", "high", "urgent"]},
        "status": {"type": "string", "enum": ["open", "pending", "closed"]},
        "assignee": _TEXT,
        "customer": _TEXT,
    },
}
_NAMES = (
    *("Aldridge", "Bergmann", "Castellano", "Drummond", "Eriksson", "Fontaine", "Grabowski", "Hollister", "Ibsen"),
    *("Jankowski", "Kowalczyk", "Lindqvist", "Moreau", "Nakamura", "Oyelaran", "Petrov", "Quigley", "Rasmussen"),
    *("Salazar", "Tremblay", "Ueda", "Vandenberg", "Whitlock", "Xenakis", "Yamada", "Zielinski"),
)
_PLACES = (
    *(("Lisbon", "Portugal"), ("Oslo", "Norway"), ("Osaka", "Japan"), ("Lyon", "France"), ("Porto", "Portugal")),
    *(("Kyoto", "Japan"), ("Bergen", "Norway"), ("Nantes", "France")),
)
_GOODS = (
    *(("Desk Lamp", "lighting"), ("Floor Lamp", "lighting"), ("Bookshelf", "furniture"), ("Oak Desk", "furniture")),
    *(("Stool", "furniture"), ("Teapot", "kitchen"), ("Kettle", "kitchen"), ("Chef Knife", "kitchen")),
    *(("Wool Rug", "textiles"), ("Curtain", "textiles"), ("Cushion", "textiles"), ("Wall Clock", "decoration")),
    *(("Vase", "decoration"), ("Mirror", "decoration"), ("Lantern", "lighting"), ("Armchair", "furniture")),
)
_TROUBLES = (
    *("Cannot log in", "Invoice is wrong", "Parcel never came", "Lamp flickers", "Refund please", "Broken on arrival"),
    *("Change my address", "Question about the rug", "Charged twice", "Password reset mail missing"),
)


class Record(NamedTuple):
    collection: str
    id: str
    data: dict[str, Any]
    age: float
    """Days since it was made."""
    changed: dict[str, Any]
    """What was changed in it later; empty when nothing was."""
    changed_age: float

    @property
    def now(self) -> dict[str, Any]:
        return {**self.data, **self.changed}

    @property
    def touched(self) -> float:
        """Days since the last time that anything happened to it."""
        return self.changed_age if self.changed else self.age


def made() -> list[Record]:
    """All records. The same each time, since their chance is always the same."""
    chance = random.Random(20_260)
    records: list[Record] = []

    def add(collection: str, id: str, data: dict[str, Any], change: dict[str, Any] | None = None) -> None:
        age, apart = chance.choice(_AGES), len(records) * _APART
        later = [one for one in _AGES if one < age]
        changes = change if change and later and chance.random() < 0.35 else {}
        changed = (chance.choice(later) if changes else age) + apart
        records.append(Record(collection, id, data, age + apart, changes, changed))

    for number, (name, kind) in enumerate(_GOODS):
        price, stock = chance.randrange(900, 42_000) / 100, chance.choice((0, 3, 7, 12, 25, 40, 90))
        data = {"name": name, "category": kind, "price": price, "stock": stock}
        add("products", f"p-{number + 1:02}", data, {"stock": chance.choice((0, 5, 18, 60))})
    for number, name in enumerate(_NAMES):
        city, country = chance.choice(_PLACES)
        plan, active = chance.choice(("free", "free", "pro", "enterprise")), chance.random() < 0.8
        data = {"name": name, "city": city, "country": country, "plan": plan, "active": active}
        add("customers", f"c-{number + 1:03}", data, {"plan": "pro"})
    for number in range(60):
        good, count = chance.randrange(len(_GOODS)), chance.randrange(1, 9)
        price = records[good].data["price"]
        data = {
            "customer": f"c-{chance.randrange(len(_NAMES)) + 1:03}",
            "product": f"p-{good + 1:02}",
            "quantity": count,
            "amount": round(price * count, 2),
            "status": chance.choice(("open", "open", "paid", "shipped", "cancelled")),
        }
        add("orders", f"o-{1001 + number}", data, {"status": "shipped"})
    for number in range(36):
        data = {
            "subject": chance.choice(_TROUBLES),
            "priority": chance.choice(("low", "medium", "medium", "high", "urgent")),
            "status": chance.choice(("open", "open", "pending", "closed")),
            "assignee": chance.choice(("anna", "ben", "dmitri")),
            "customer": f"c-{chance.randrange(len(_NAMES)) + 1:03}",
        }
        add("tickets", f"t-{number + 1:03}", data, {"status": "closed"})
    return records


def when(age: float, now: float, today: float) -> float:
    """The time so many days ago; what is of today stays within today, however early it is."""
    return now - age * DAY if age >= 1 else today + (now - today) * (1 - age)
