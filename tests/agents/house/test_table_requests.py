"""Requests about CSV and log files, whose rows are counted and summed by the house model itself."""

from __future__ import annotations

import pytest
from fake_workspace import FakeWorkspace

ROWS = """date,supplier,category,amount
2026-11-01,Berg Ltd,rent,500.00
2026-11-02,Ode & Sons,paper,20.50
2026-10-03,Berg Ltd,paper,30.25
2026-10-04,Ode & Sons,repairs,149.25
"""
LOG = """2026-11-17 08:00:00 ERROR cannot reach backup
2026-11-17 08:30:00 INFO backup started
2026-11-18 09:00:00 WARNING retrying backup
2026-11-18 10:00:00 ERROR disk quota exceeded
2026-11-18 10:30:00 ERROR backup job failed
"""
CLAIMS = "topic,resolved\nnoise,yes\ndelay,no\nlate,no\n"
HOUSE = FakeWorkspace(
    {"exports/claims.csv": CLAIMS, "exports/expenses.csv": ROWS, "logs/server.log": LOG, "notes/a.md": "hi\n"}
)


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        ("how many rows does expenses.csv have", "There are 4 rows in exports/expenses.csv."),
        ("total of the amount column in expenses.csv?", "The total amount in exports/expenses.csv is 700 (of 4 rows)."),
        (
            "what's the average amount in the expenses export",
            "The average amount in exports/expenses.csv is 175 (of 4 rows).",
        ),
        (
            "highest amount in expenses.csv",
            "The highest amount in exports/expenses.csv is 500:\n- date 1 November 2026",
        ),
        (
            "how much did we spend on paper according to expenses.csv?",
            "The total amount with category paper in exports/expenses.csv is 50.75",
        ),
        (
            "total amount for ode & sons in expenses.csv",
            "The total amount with supplier “Ode & Sons” in exports/expenses.csv is 169.75",
        ),
        ("how often is paper in expenses.csv", "There are 2 rows with category paper in exports/expenses.csv."),
        (
            "how many rows in expenses.csv have an amount over 100",
            "There are 2 rows with amount over 100 in exports/expenses.csv.",
        ),
        (
            "sum of amount in expenses.csv last month",
            "The total amount last month by date in exports/expenses.csv is 179.50",
        ),
        (
            "sum of amount per supplier in expenses.csv",
            "The total amount per supplier in exports/expenses.csv:\n- “Berg Ltd”: 530.25\n- “Ode & Sons”: 169.75",
        ),
        (
            "top 2 amounts in expenses.csv",
            "The 2 rows with the highest amount in exports/expenses.csv:\n- date 1 November 2026",
        ),
        ("how many claims are still unresolved", "There are 2 rows with resolved no in exports/claims.csv."),
        ("how many claims are not resolved yet", "There are 2 rows with resolved no in exports/claims.csv."),
        ("how many claims are resolved", "There is 1 row with resolved yes in exports/claims.csv."),
        ("how many errors in server.log today?", "There are 2 errors in logs/server.log today."),
        ("count the errors in logs/server.log", "There are 3 errors in logs/server.log."),
        (
            "last error in server.log",
            "The last error in logs/server.log:\n> 2026-11-18 10:30:00 ERROR backup job failed",
        ),
        (
            "which errors were in server.log yesterday",
            "There is 1 error in logs/server.log yesterday:\n> 2026-11-17 08:00:00 ERROR",
        ),
        ("how many lines of server.log mention backup", "4 lines of logs/server.log mention backup."),
    ],
)
def test_a_request_is_answered(request_: str, answer: str) -> None:
    assert HOUSE.answer(request_).startswith(answer)


@pytest.mark.parametrize(
    ("request_", "word"),
    [
        ("how many rows for zebra in expenses.csv", "what zebra means"),
        ("total amount for green paper in expenses.csv", "what green means"),
        ("sum of weight in expenses.csv", "what weight means"),
        ("how many rows for berg and ode in expenses.csv", ""),
    ],
)
def test_a_word_that_is_neither_a_column_nor_a_value_is_named(request_: str, word: str) -> None:
    answer = HOUSE.answer(request_)
    assert answer.startswith("unknown: I do not know")
    assert word in answer


def test_a_file_is_read_in_pages_and_a_huge_one_not_at_all() -> None:
    header = "what,many\n"
    house = FakeWorkspace({"long.csv": header + "a,1\n" * 9_000, "huge.csv": header + "a,1\n" * 90_000})
    calls, answer = house.ask("sum of many in long.csv")
    assert len(calls) == 3
    assert answer == "The total many in long.csv is 9,000 (of 9,000 rows)."
    calls, answer = house.ask("sum of many in huge.csv")
    assert len(calls) == 1
    assert answer == "unknown: I do not know: huge.csv has 360 kB, too much to read here."
