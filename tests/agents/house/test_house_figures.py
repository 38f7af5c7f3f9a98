"""Figures that the house model tells, against those that are reckoned here over the same records.

A wrong figure is the worst that it can say: what it cannot reckon it says that it does not know.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from bench.questions.seed import SETTINGS

from doorward.agents.house import resolving
from doorward.app import open_house
from doorward.config.home import Home
from doorward.core.model import Credential, Request
from doorward.rooms.people import LOCAL

NOW = datetime.now(UTC)
Row = dict[str, Any]


def _month(back: int) -> str:
    first = NOW.year * 12 + NOW.month - 1 - back
    return f"{first // 12}-{first % 12 + 1:02}"


ORDERS: list[Row] = [
    {
        "customer": ("Anna", "Boris", "Carla", "Dmitri", "Eva")[number % 5],
        "city": ("Berlin", "Paris", "Rome", "Oslo", "Berlin", "Paris", "Berlin")[number % 7],
        "price": round(5.05 + number * 37 % 290 + number / 100, 2),
        "quantity": number * 7 % 9 + 1,
        "status": ("open", "paid", "shipped", "cancelled", "shipped", "shipped")[number % 6],
        "ordered": f"{_month(number % 3 + 1)}-{number % 28 + 1:02}",
    }
    for number in range(30)
]
INVOICES: list[Row] = [
    {"amount": 10 * number, "issued": f"{_month(number % 4 + 1)}-03", "due": f"{_month(number % 2 + 1)}-09"}
    for number in range(8)
]
PARTS: list[Row] = [{"color": "violet" if number >= 50 else "red"} for number in range(60)]
"""Those at the end lie beyond what is looked at first to learn what words mean."""
TEXT, NUMBER, DATE = {"type": "string"}, {"type": "number"}, {"type": "string", "format": "date"}
SCHEMAS: dict[str, Row] = {
    "orders": {"customer": TEXT, "city": TEXT, "price": NUMBER, "quantity": NUMBER, "status": TEXT, "ordered": DATE},
    "invoices": {"amount": NUMBER, "issued": DATE, "due": DATE},
    "parts": {"color": TEXT},
}
DATA = {"orders": ORDERS, "invoices": INVOICES, "parts": PARTS}
USERS = {"paul": "full", "edi": "edit", "rita": "read"}
LOG = "".join(f"{'ERROR' if line % 4 == 0 else 'INFO'} line {line}\n" for line in range(40))
DOES_NOT_KNOW = r"^I do not know"


def count(holds: Callable[[Row], bool], rows: list[Row] = ORDERS, noun: str = "orders") -> str:
    many = sum(map(holds, rows))
    return rf"^There (?:is 1 {noun[:-1]}|are {many or 'no'} {noun})\b" if many != 1 else rf"^There is 1 {noun[:-1]}\b"


def groups(key: Callable[[Row], str], rows: list[Row] = ORDERS) -> str:
    """Every group with its number, in whichever order, and nothing but the whole beside them."""
    found = Counter(map(key, rows))
    each = "".join(rf"(?=.*\b{re.escape(group)} {many}\b)" for group, many in found.items())
    return rf"(?s){each}.*: {len(rows)} in all\."


def prices(city: str) -> list[float]:
    return [row["price"] for row in ORDERS if row["city"] == city]


CITIES = sorted({row["city"] for row in ORDERS}, key=lambda city: -sum(prices(city)) / len(prices(city)))
TOTALS = Counter[str]()
for _row in ORDERS:
    TOTALS[_row["customer"]] += _row["price"]

ASKED: dict[str, str] = {
    "orders by Anna or Boris": count(lambda row: row["customer"] in ("Anna", "Boris")),
    "orders from Berlin or Paris": count(lambda row: row["city"] in ("Berlin", "Paris")),
    "orders from Berlin or Paris over 100": count(
        lambda row: row["city"] in ("Berlin", "Paris") and row["price"] > 100
    ),
    "orders with status open or city Berlin": DOES_NOT_KNOW,
    "orders that are open or paid": count(lambda row: row["status"] in ("open", "paid")),
    "orders not from Berlin": count(lambda row: row["city"] != "Berlin"),
    "all orders but the cancelled ones": count(lambda row: row["status"] != "cancelled"),
    "orders from London": r"^There are no orders from London: none of their fields",
    "how many orders are open": count(lambda row: row["status"] == "open") + r" with status open\.",
    "how many pending orders are there": DOES_NOT_KNOW,
    "large orders": DOES_NOT_KNOW,
    "orders between 100 and 200": count(lambda row: 100 <= row["price"] <= 200),
    "orders with quantity at least 2": count(lambda row: row["quantity"] >= 2),
    "orders with a quantity of 2 or 5": count(lambda row: row["quantity"] in (2, 5)),
    "how many users are there with full access": r"^There is 1 user with access full\.",
    "users with read access": r"^There is 1 user with access read:\n- rita\b",
    "which city has the highest average price": (
        rf"{CITIES[0]} \(average price {sum(prices(CITIES[0])) / len(prices(CITIES[0])):,.2f}\b"
    ),
    "top 2 customers by total price": "".join(
        rf".*{name} \(total price {re.escape(f'{total:,.2f}')}" for name, total in TOTALS.most_common(2)
    ),
    "the cheapest order per city": "".join(
        rf"(?=.*\b{city} \(lowest price {re.escape(f'{min(prices(city)):,.2f}')}\b)" for city in CITIES
    ),
    "count orders by status and city": groups(lambda row: f"{row['status']} / {row['city']}"),
    "how many orders per month": groups(lambda row: str(row["ordered"][:7])),
    "count orders by month and status": groups(lambda row: f"{row['ordered'][:7]} / {row['status']}"),
    "how many orders last month": count(lambda row: row["ordered"][:7] == _month(1)),
    "how many orders were created today": r"^30 orders were created today\.",
    "how many invoices were issued last month": count(lambda row: row["issued"][:7] == _month(1), INVOICES, "invoices"),
    "how many invoices were due last month": count(lambda row: row["due"][:7] == _month(1), INVOICES, "invoices"),
    "how many invoices last month": r"^There are no invoices last month \(going by “created”\)\.",
    "count orders by weekday": DOES_NOT_KNOW,
    "how many parts are violet": r"^There are 10 parts with color violet\.",
    "list the parts": r"^There are 60 parts:\n(?:- .*\n){10}… and 50 more$",
    "how many cities": r"^There are 4 different city values\.",
    "what's the total of price times quantity": DOES_NOT_KNOW,
    "find duplicates in orders": DOES_NOT_KNOW,
    "which category sells best": DOES_NOT_KNOW,
    "price by city": DOES_NOT_KNOW,
    "what percentage of the orders is paid": DOES_NOT_KNOW,
    "the status of order o-7": rf"^The status of the order o-7 is {ORDERS[7]['status']}\.$",
    "what records have changed in the last day": (
        r"^98 records changed in the last day:\n- \w+: id \w+-\d+, updated \d+ \w+ \d{4} at \d\d:\d\d UTC\n"
    ),
    "count files by extension": r"^There are 3 files, by extension: \.txt 2, \.log 1\.",
    "how many errors are in server.log": r"\b10 lines of 1 file in server\.log",
    "is the server up": r"^(?:Yes|Not everything)",
    "say hello in general": DOES_NOT_KNOW,
}
FOLLOWED: list[list[tuple[str, str]]] = [
    [
        ("how many orders are shipped", count(lambda row: row["status"] == "shipped")),
        ("group them by city", groups(lambda row: str(row["city"]), [r for r in ORDERS if r["status"] == "shipped"])),
        ("show me the first one", r"^Orders by city with status shipped: \w+ \d+\."),
    ],
    [
        ("orders from Berlin", count(lambda row: row["city"] == "Berlin")),
        ("what about Paris?", count(lambda row: row["city"] == "Paris")),
        ("only the paid ones", count(lambda row: row["city"] == "Paris" and row["status"] == "paid")),
    ],
]


async def _answers(folder: Path) -> dict[str, str]:
    home, told = Home(folder), {}
    home.create()
    async with open_house(home, changes=SETTINGS) as house:

        async def ask(command: str, params: Row) -> Row:
            outcome = await house.gate.handle(Request(command, Credential(owner=True), "test", params=params))
            assert outcome.status == "done", outcome.message
            return outcome.result if isinstance(outcome.result, dict) else {}

        for user, access in USERS.items():
            await ask("user/create", {"id": user, "access": access})
        for name, rows in DATA.items():
            schema = {"type": "object", "properties": SCHEMAS[name]}
            await ask("collection/define", {"name": name, "schema": schema})
            for number, row in enumerate(rows):
                await ask("data/create", {"collection": name, "id": f"{name[0]}-{number}", "data": row})
        workspace = home.workspace(house.settings.files.workspace, LOCAL, LOCAL)
        workspace.mkdir(parents=True, exist_ok=True)
        for file, text in {"server.log": LOG, "a.txt": "a", "b.txt": "b"}.items():
            (workspace / file).write_text(text)
        for talk in [[one] for one in ASKED] + [[words for words, _ in talk] for talk in FOLLOWED]:
            session = ""
            for words in talk:
                answer = await ask("agent/ask", {"prompt": words, "model": "house", "session": session})
                session = str(answer.get("sessionId", ""))
                told[words] = str(answer.get("response"))
    return told


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resolving, "SAMPLE", 40)
        return asyncio.run(_answers(tmp_path_factory.mktemp("figures") / "home"))


@pytest.mark.parametrize(("words", "wanted"), ASKED.items(), ids=list(ASKED))
def test_a_figure_is_that_of_the_records_or_none_is_told(words: str, wanted: str, told: dict[str, str]) -> None:
    assert re.search(wanted, told[words]), told[words]


@pytest.mark.parametrize("talk", FOLLOWED, ids=[talk[0][0] for talk in FOLLOWED])
def test_what_goes_on_keeps_the_conditions_of_what_was_asked_before(
    talk: list[tuple[str, str]], told: dict[str, str]
) -> None:
    for words, wanted in talk:
        assert re.search(wanted, told[words]), (words, told[words])


async def test_in_a_house_without_collections_of_its_own_no_record_has_changed(driver) -> None:
    asked = await driver.owner("agent/ask", prompt="what records have changed in the last day", model="house")
    assert asked.result["success"]
    assert asked.result["response"] == (
        "No records have changed in the last day: there are no collections of your own here yet. "
        "collection/define makes one."
    )
