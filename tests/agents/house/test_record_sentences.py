"""Counts, groups and records in words: each row is what was asked, what a command gave, and its sentence."""

from __future__ import annotations

import pytest
from told_results import AT, ORDERS, got, grouped, listed

from doorward.agents.house.telling import Asked, Got, told

_COUNTS = [
    (Asked(), got("data/count", {"count": 12}, collection="orders"), "There are 12 orders."),
    (Asked(), got("data/count", {"count": 1}, collection="orders"), "There is 1 order."),
    (Asked(), got("data/count", {"count": 0}, collection="orders"), "There are no orders."),
    (Asked(), got("data/count", {"count": 1234567}, collection="orders"), "There are 1,234,567 orders."),
    (Asked(noun=("purchase", "purchases")), got("data/count", {"count": 2}), "There are 2 purchases."),
    (
        Asked(span_says="in the last day", about="changed"),
        got("data/count", {"count": 0}, collection="orders"),
        "No orders changed in the last day.",
    ),
    (
        Asked(span_says="today", about="created"),
        got("data/count", {"count": 1}, collection="orders"),
        "1 order was created today.",
    ),
    (
        Asked(span_says="today", condition_says="over 100"),
        got("data/count", {"count": 3}, collection="orders"),
        "There are 3 orders over 100 today.",
    ),
    (Asked(), got("data/count", {"count": 4}, collection="shop.categories"), "There are 4 categories."),
    (Asked(), got("some/count", {"count": 4}), "There are 4 records."),
]
_GROUPS = [
    (
        Asked(),
        grouped(
            [{"access": "read", "count": 2}, {"access": "owner", "count": 3}, {"access": "edit", "count": 1}],
            "users",
            groupBy=["access"],
        ),
        "Users by access: owner 3, read 2, edit 1: 6 in all.",
    ),
    (
        Asked(),
        grouped(
            [{"status": "paid", "sum": 1234.5}, {"status": None, "sum": 3}],
            groupBy=["status"],
            metrics={"sum": {"sum": "amount"}},
        ),
        "The total amount of orders by status: paid 1,234.50, (none) 3: 1,237.50 in all.",
    ),
    (
        Asked(),
        grouped(
            [{"city": "Rome", "avg": 10.0}, {"city": "Bern", "avg": 20.255}],
            groupBy=["city"],
            metrics={"avg": {"avg": "total"}},
        ),
        "The average total of orders by city: Bern 20.25, Rome 10.",
    ),
    (
        Asked(),
        grouped(
            [{"city": "Rome", "status": "open", "count": 5}, {"city": "New York", "status": "paid", "count": 1}],
            groupBy=["city", "status"],
        ),
        "Orders by city and status: Rome / open 5, “New York” / paid 1: 6 in all.",
    ),
    (
        Asked(),
        grouped([{"status": "paid", "count": 5}], more=True, groupBy=["status"]),
        "Orders by status: paid 5; there are more groups than these.",
    ),
    (
        Asked(),
        grouped(
            [{"command": "a/b", "calls": 2, "mean": 3.0}],
            "executions",
            groupBy=["command"],
            metrics={"calls": {"count": "*"}, "mean": {"avg": "durationMs"}},
        ),
        "Executions by command: a/b (2 executions, average duration 3 ms).",
    ),
    (Asked(), grouped([], groupBy=["status"]), "There are no orders."),
    (
        Asked(),
        grouped([{"avg": 41.5, "n": 12}], metrics={"avg": {"avg": "total"}, "n": {"count": "*"}}),
        "The average total is 41.50 over 12 orders.",
    ),
    (
        Asked(),
        grouped([{"s": 1234.5}], metrics={"s": {"sum": "amount"}}),
        "The total amount of the orders is 1,234.50.",
    ),
    (Asked(), grouped([{"s": 99}], metrics={"s": {"max": "total"}}), "The highest total of the orders is 99."),
    (
        Asked(span_says="last month"),
        grouped([{"s": 5}], metrics={"s": {"sum": "total"}}),
        "The total of the orders is 5 last month.",
    ),
    (Asked(), grouped([{"s": None}], metrics={"s": {"avg": "total"}}), "There is no total to reckon with."),
    (Asked(), grouped([{"count": 7}]), "There are 7 orders."),
]
_RECORDS = [
    (Asked(), listed([]), "There are no orders."),
    (Asked(span_says="in the last day", about="changed"), listed([]), "No orders changed in the last day."),
    (
        Asked(),
        listed(ORDERS[:2]),
        "There are 2 orders:\n"
        "- 1: customer c1, total 10.50, status paid, created 16 November 2026 at 08:00 UTC\n"
        "- 2: customer c2, total 21, status paid, created 16 November 2026 at 08:00 UTC",
    ),
    (Asked(count=True), listed(ORDERS), "There are 23 orders."),
    (Asked(fields=["total"]), listed(ORDERS[:1]), "There is 1 order:\n- 1: total 10.50"),
    (
        Asked(limit=1),
        listed(ORDERS[:1], cursor="x"),
        "Here is the order:\n- 1: customer c1, total 10.50, status paid, created 16 November 2026 at 08:00 UTC",
    ),
    (
        Asked(zone="Europe/Berlin"),
        listed([{"name": "x", "createdAt": AT}], "things"),
        "There is 1 thing:\n- x: created 16 November 2026 at 09:00",
    ),
    (
        Asked(),
        listed([{"name": "Ada Lovelace", "city": "London", "tags": ["a"], "age": 36}], "customers"),
        "There is 1 customer:\n- “Ada Lovelace”: city London, age 36",
    ),
    (
        Asked(),
        got("data/query", {"items": [{"n": 5}], "columns": ["n"], "more": False}, sql="SELECT"),
        "The n is 5.",
    ),
    (
        Asked(),
        got("data/read", {"id": "a1", "total": 5.5, "paid": True}, collection="orders", id="a1"),
        "The order a1:\n- id: a1\n- total: 5.50\n- paid: yes",
    ),
    (
        Asked(),
        got(
            "data/describe",
            {
                "collection": "orders",
                "key": "id",
                "fields": {"id": "text", "total": "number", "note": "text"},
                "count": 12,
                "schema": {"required": ["total"]},
            },
            collection="orders",
        ),
        "orders has 3 fields: id (text, the key), total (number, required), note (text). It holds 12 records.",
    ),
    (
        Asked(),
        got("data/describe", {"items": [{"collection": "rooms"}, {"collection": "orders"}]}),
        "There are 2 collections: rooms and orders.",
    ),
    (Asked(), got("x/y", []), "There are no records."),
    (Asked(), got("x/y", {"a": 1, "b": None}), "It gave:\n- a: 1\n- b: (none)"),
    (Asked(), got("x/y", 5), "It gave 5."),
    (Asked(), got("x/y", {}), "It gave nothing."),
]


@pytest.mark.parametrize(
    "rows",
    [_COUNTS, _GROUPS, _RECORDS],
    ids=["counts", "groups", "records"],
)
def test_a_result_about_records_is_told_in_a_sentence(rows: list[tuple[Asked, Got, str]]) -> None:
    assert [told(asked, [result]) for asked, result, _ in rows] == [text for _, _, text in rows]


def test_only_ten_records_are_shown_and_the_rest_is_counted() -> None:
    lines = told(Asked(), [listed(ORDERS)]).splitlines()
    assert (lines[0], len(lines), lines[-1]) == ("There are 23 orders:", 12, "… and 13 more")


def test_what_goes_on_is_not_counted_as_a_whole() -> None:
    text = told(Asked(), [listed(ORDERS, cursor="next")])
    assert text.startswith("There are more than 23 orders; here are the first 10:")
    assert "more\n" not in text


def test_a_cut_result_that_knows_the_whole_number_says_it() -> None:
    value = {"items": ORDERS[:3], "found": 500}
    assert told(Asked(), [got("data/list", value, collection="orders")]).startswith("There are 500 orders:")
