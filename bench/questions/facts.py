"""What the right answers say, worked out from what the house was filled with.

A fact is a number, a text with its other spellings between bars, a size in bytes, or a list of facts that all must be
said. Facts are the seed's own: none is found by asking the house what it is asked for in the examination.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any, NamedTuple

from bench.questions import records, workspace
from bench.questions.records import Record
from bench.questions.seed import LOGGED, Seeded
from bench.questions.turned_clock import DAY
from bench.questions.workspace import File
from doorward.rooms.people import LOCAL

_NAMES_OF_DAY = "%Y-%m-%d|%d %B|%B %d|%d %b|%b %d|%-d %B|%B %-d|%-d %b|%b %-d|%d.%m.%Y|%d/%m/%Y|%m/%d/%Y"


class Size(NamedTuple):
    bytes: int


Fact = float | str | Size | list[Any]


def known(seed: Seeded) -> dict[str, Fact]:
    """Every fact by its name."""
    return {**_of_records(), **_of_files(seed), **_of_calls(seed), **_of_house(seed)}


def clock(seconds: float) -> dict[str, Fact]:
    """What a clock shows at this moment, and a minute around it."""
    near = [datetime.fromtimestamp(seconds + shift, UTC) for shift in (-60, 0, 60)]
    times = [one.strftime(form) for one in near for form in ("%H:%M", "%-I:%M", "%I:%M")]
    return {"clock": "|".join(times), "day": _day(seconds) + near[1].strftime("|%A")}


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime(_NAMES_OF_DAY)


def _of_records() -> dict[str, Fact]:
    every = records.made()
    orders, customers, products, tickets = (
        [one for one in every if one.collection == name] for name in ("orders", "customers", "products", "tickets")
    )
    amounts = [one.now["amount"] for one in orders]
    opened = [one for one in orders if one.now["status"] == "open"]
    changed = [one for one in every if one.touched < 1]
    by_amount = sorted(orders, key=lambda one: -one.now["amount"])
    by_price = sorted(products, key=lambda one: one.now["price"])
    moreau = next(one for one in customers if one.now["name"] == "Moreau")
    return {
        "changed_day": len(changed),
        "changed_day_each": list(_counted(changed, lambda one: one.collection)),
        "changed_day_only": len([one for one in changed if one.changed]),
        "orders_changed_day": _listed(one for one in orders if one.touched < 1),
        "orders_created_7": _count(one for one in orders if one.age < 7),
        "tickets_created_30": _count(one for one in tickets if one.age < 30),
        "tickets_today": _listed(one for one in tickets if one.age < 1),
        "customers_older_30": _count(one for one in customers if one.age > 30),
        "orders_cancelled_30": _count(one for one in orders if one.age < 30 and one.now["status"] == "cancelled"),
        "tickets_changed_3": _listed(one for one in tickets if one.touched < 3),
        "orders": len(orders),
        "customers": len(customers),
        "orders_open": len(opened),
        "tickets_urgent": _count(one for one in tickets if one.now["priority"] == "urgent"),
        "customers_inactive": _count(one for one in customers if not one.now["active"]),
        "tickets_anna": _count(one for one in tickets if one.now["assignee"] == "anna"),
        "customers_portugal": _count(one for one in customers if one.now["country"] == "Portugal"),
        "products_none": _count(one for one in products if one.now["stock"] == 0),
        "orders_by_status": _groups(orders, "status"),
        "tickets_by_priority": _groups(tickets, "priority"),
        "tickets_by_status": _groups(tickets, "status"),
        "customers_by_country": _groups(customers, "country"),
        "tickets_by_assignee": _groups(tickets, "assignee"),
        "customers_by_plan": _groups(customers, "plan"),
        "products_by_category": _groups(products, "category"),
        "amount": round(sum(amounts), 2),
        "amount_mean": sum(amounts) / len(amounts),
        "amount_open": round(sum(one.now["amount"] for one in opened), 2),
        "amount_by_status": _folded(orders, "status", lambda group: sum(one.now["amount"] for one in group)),
        "stock": sum(one.now["stock"] for one in products),
        "price_max": by_price[-1].now["price"],
        "price_min": by_price[0].now["price"],
        "price_by_category": _folded(
            products, "category", lambda group: sum(one.now["price"] for one in group) / len(group)
        ),
        "orders_top3": [one.id for one in by_amount[:3]],
        "products_top5": [_called(one) for one in by_price[-5:]],
        "products_low3": [_called(one) for one in by_price[:3]],
        "orders_newest": min(orders, key=lambda one: one.age).id,
        "customers_oldest": [_called(one) for one in sorted(customers, key=lambda one: -one.age)[:2]],
        "orders_over_2500": _listed(one for one in orders if one.now["amount"] > 2_500),
        "orders_paid_5": _listed(one for one in orders if one.now["status"] == "paid" and one.now["quantity"] >= 5),
        "products_under_60": _listed(one for one in products if one.now["price"] < 60),
        "products_lighting": _listed(one for one in products if one.now["category"] == "lighting"),
        "customers_enterprise": _listed(one for one in customers if one.now["plan"] == "enterprise"),
        "tickets_urgent_open": _listed(
            one for one in tickets if (one.now["priority"], one.now["status"]) == ("urgent", "open")
        ),
        "tickets_refund": _listed(one for one in tickets if "Refund" in one.now["subject"]),
        "customers_oslo": _listed(one for one in customers if one.now["city"] == "Oslo"),
        "products_stock_5": _listed(one for one in products if one.now["stock"] < 5),
        "not_lighting": _not_of(products, lambda one: one.now["category"] == "lighting"),
        "not_under_60": _not_of(products, lambda one: one.now["price"] < 60),
        "not_top5": _not_of(products, lambda one: one in by_price[-5:]),
        "not_low3": _not_of(products, lambda one: one in by_price[:3]),
        "not_stock_5": _not_of(products, lambda one: one.now["stock"] < 5),
        "not_enterprise": _not_of(customers, lambda one: one.now["plan"] == "enterprise"),
        "not_oslo": _not_of(customers, lambda one: one.now["city"] == "Oslo"),
        "not_over_2500": _not_of(orders, lambda one: one.now["amount"] > 2_500),
        "not_paid_5": _not_of(orders, lambda one: one.now["status"] == "paid" and one.now["quantity"] >= 5),
        "not_refund": _not_of(tickets, lambda one: "Refund" in one.now["subject"]),
        "not_urgent_open": "|".join(
            one.id for one in tickets if (one.now["priority"], one.now["status"]) != ("urgent", "open")
        ),
        "order_1007": [orders[6].now["customer"], orders[6].now["status"]],
        "customer_003": customers[2].now["plan"],
        "moreau_id": ["Moreau", f"{moreau.id}|{moreau.now['city']}"],
    }


def _of_files(seed: Seeded) -> dict[str, Fact]:
    files = {one.path: one for one in workspace.FILES}
    by_size = sorted(workspace.FILES, key=lambda one: -len(one.content))
    week = (seed.today - datetime.fromtimestamp(seed.now, UTC).weekday() * DAY, seed.now)
    large = [one for one in by_size if len(one.content) > workspace.MB]
    images = [one for one in by_size if one.path.endswith((".png", ".jpg", ".gif"))]
    python = [one for one in by_size if one.path.endswith(".py")]
    server = files["logs/server.log"].content.decode()
    return {
        "python": _paths(python),
        "python_count": len(python),
        "markdown": _paths(one for one in by_size if one.path.endswith(".md")),
        "images": _paths(images),
        "csv": _paths(one for one in by_size if one.path.endswith(".csv")),
        "logs": _paths(one for one in by_size if one.path.endswith(".log")),
        "large": _paths(large),
        "large_7": _paths(one for one in large if one.age < 7),
        "large_week": _paths(one for one in large if _changed(one, seed) >= week[0]) or 0,
        "large_3": _paths(one for one in by_size if len(one.content) > 3 * workspace.MB),
        "largest_5": _paths(by_size[:5]),
        "photo_size": Size(len(files["images/photo.jpg"].content)),
        "intro_size": Size(len(files["media/intro.mp4"].content)),
        "images_size": Size(sum(len(one.content) for one in images if one.path.startswith("images/"))),
        "not_large": _not_files(lambda one: len(one.content) > workspace.MB),
        "not_large_3": _not_files(lambda one: len(one.content) > 3 * workspace.MB),
        "not_python": _not_files(lambda one: one.path.endswith(".py")),
        "not_csv": _not_files(lambda one: one.path.endswith(".csv")),
        "not_images": _not_files(lambda one: one in images),
        "not_today": _not_files(lambda one: one.age < 1),
        "not_50": _not_files(lambda one: one.age > 50),
        "tmp_old": _paths(one for one in by_size if one.path.startswith("tmp/") and one.age > 30),
        "files_today": _paths(one for one in by_size if one.age < 1),
        "files_3": _paths(one for one in by_size if one.age < 3),
        "files_50": _paths(one for one in by_size if one.age > 50),
        "newest_python": "orders.py|test_orders.py",
        "sales_day": _day(_changed(files["data/sales.csv"], seed)),
        "server_errors": sum(line.startswith("ERROR") for line in server.splitlines()),
        "guide_lines": _lines(files["docs/guide.md"]),
        "orders_py_lines": _lines(files["src/orders.py"]),
        "sales_lines": _lines(files["data/sales.csv"]),
        "sales_digest": hashlib.sha256(files["data/sales.csv"].content).hexdigest(),
        "meeting_words": len(files["notes/meeting.md"].content.split()),
    }


def _of_calls(seed: Seeded) -> dict[str, Fact]:
    today = [one for one in seed.happened if one.at >= seed.today]
    yesterday = [one for one in seed.happened if seed.today - DAY <= one.at < seed.today]

    def ended(happened: Iterable[Any], status: str) -> list[str]:
        return sorted({one.command for one in happened if one.status == status})

    per_command = Counter(one.command for one in yesterday)
    return {
        "failed_today": list(ended(today, "failed")),
        "failed_yesterday": list(ended(yesterday, "failed")),
        "failed_count_yesterday": sum(one.status == "failed" for one in yesterday),
        "failed_refused_yesterday": [sum(one.status in ("failed", "refused") for one in yesterday), "refused"],
        "refused_today": list(ended(today, "refused")),
        "refused_yesterday": list(ended(yesterday, "refused")),
        "scout_yesterday": sorted({one.command for one in yesterday if one.by == "scout"}),
        "scout_count_yesterday": sum(one.by == "scout" for one in yesterday),
        "mason_today": sorted({one.command for one in today if one.by == "mason"}),
        "per_command_yesterday": [part for name, count in per_command.items() for part in (name, count)],
        "log_errors": sum(level == "ERROR" for _, level, _ in LOGGED),
    }


def _of_house(seed: Seeded) -> dict[str, Fact]:
    services = seed.house.services
    people, rooms = services.people.of_tenant(LOCAL), services.rooms.of_tenant(LOCAL)
    access = Counter(one.access.label for one in people)
    said = Counter(one.params["name"] for one in seed.happened if one.command == "room/say")
    return {
        "version": version("doorward"),
        "rooms": len(rooms),
        "users": len(people),
        "users_by_access": [part for name, count in access.items() for part in (name, count)],
        "recipes": len(services.recipes.recipes()),
        "messages_helpdesk": said["helpdesk"],
        "processors": len(os.sched_getaffinity(0)),
    }


def _changed(file: File, seed: Seeded) -> float:
    return seed.now - file.age * DAY if file.age >= 1 else seed.today


def _lines(file: File) -> int:
    return file.content.count(b"\n")


def _paths(files: Iterable[File]) -> list[Any]:
    return [one.path.rpartition("/")[2] for one in files]


def _count(found: Iterable[Record]) -> int:
    return len(list(found))


def _called(one: Record) -> str:
    """A record by its id or, where it has one, by its name."""
    name = one.now.get("name") or one.now.get("subject")
    return f"{one.id}|{name}" if name else one.id


def _not_of(every: Sequence[Record], inside: Callable[[Record], bool]) -> str:
    """Whatever a list must not hold: any of the records that were not asked for."""
    return "|".join(_called(one) for one in every if not inside(one))


def _not_files(inside: Callable[[File], bool]) -> str:
    return "|".join(_paths(one for one in workspace.FILES if not inside(one)))


def _listed(found: Iterable[Record]) -> list[Any]:
    """Each of them, or, when they are many, how many there are: nobody reads forty names in a sentence."""
    every = list(found)
    return [_called(one) for one in every] if len(every) <= 6 else [len(every)]


def _counted(found: Iterable[Record], key: Callable[[Record], str]) -> list[Any]:
    return [part for name, count in Counter(map(key, found)).items() for part in (name, count)]


def _groups(found: Sequence[Record], field: str) -> list[Any]:
    return _counted(found, lambda one: str(one.now[field]))


def _folded(found: Sequence[Record], field: str, fold: Callable[[list[Record]], float]) -> list[Any]:
    names = sorted({one.now[field] for one in found})
    return [part for name in names for part in (name, round(fold([one for one in found if one.now[field] == name]), 2))]
