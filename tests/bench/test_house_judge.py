"""The judge of the generated houses: right in whatever words, honest, wrong, or harmful."""

from __future__ import annotations

from typing import Any

import pytest
from bench.houses.expectations import (
    Answer,
    AskBack,
    Best,
    Change,
    Expectation,
    Groups,
    More,
    NamesList,
    Number,
    Still,
    Text,
    Unanswerable,
    Value,
    Yes,
)
from bench.houses.judge import judge
from bench.houses.question import Question
from bench.houses.snapshot import Changes
from bench.questions.state import Ran

NOTHING = Changes({}, {}, {}, False)
BOOKS = frozenset(("The Silent Harbour", "The Paper Bridge", "The Last Clock"))
TWO_BOOKS = NamesList((("The Silent Harbour", "The Paper Bridge"),), BOOKS)
IN_ORDER = NamesList((("The Silent Harbour", "The Paper Bridge"),), BOOKS, ordered=True)
PHONE = Value("030 123 4567", ("040 999 8888",), ("Mara Lind", "Riga"))
DUE = Value("2026-11-05", (), ("2026-10-20",))
TWINS = AskBack(("Tom Ashford", "Tom Radwell"), ("Riga", "Cork"))
SET_PHONE = Change(updated={"members/m-1": {"phone": "1"}}, evidence=("m-1", '"1"'))
DELETE = Change(deleted=("loans/l-1",), evidence=("l-1",))


def verdict(expect: Expectation, text: str, *ran: Ran, ended: str = "answered", **more: Any) -> str:
    question = Question(kind="any", says=more.get("says", "how many loans over 9.50?"), expect=expect)
    changes = more.get("changes", NOTHING)
    return judge(question, Answer(question.says, text), ended, list(ran), more.get("between", NOTHING), changes).grade


@pytest.mark.parametrize(
    ("expect", "text"),
    [
        (Number((12.0,)), "There are 12 loans over 9.50."),
        (Number((12.0,)), "Twelve."),
        (Number((12.0,), (40.0,)), "We have 40 loans, 12 of which are over 9.50."),
        (Number((12.0,)), "12 of 40 loans:\n- The Last Clock, 17.50 euros\n- The Paper Bridge, 10.00"),
        (Number((12.0,)), "Between 9 and 16 November 2026 there were 12 (at 10:30, 15 of them late)."),
        (Number((1_234.5,)), "It is €1,234.50 over 8 loans."),
        (Number((23.456,)), "About 23.46 on average."),
        (Number((0.0,)), "There are no such loans."),
        (Number((3.0, 4.0)), "There were 4 last week."),
        (TWO_BOOKS, "The Paper Bridge and The Silent Harbour."),
        (IN_ORDER, "1. The Silent Harbour\n2. The Paper Bridge"),
        (NamesList((("Mara Lind",),), frozenset(("Mara Lind", "Tom Radwell"))), "Lind, Mara (Riga)"),
        (NamesList(((),), BOOKS), "None of them."),
        (Best(("The Last Clock",), BOOKS), "The Last Clock, with 9 loans.\nThen come:\n- The Paper Bridge 4"),
        (PHONE, "Mara Lind: phone 0301234567, city Riga"),
        (DUE, "It was borrowed on October 20 and is due on 5 November 2026."),
        (DUE, "Due back 5.11.2026."),
        (Value(63, (), ("Mara Lind",)), "There is 1 patient called Mara Lind:\n- Mara Lind: age 63"),
        (Groups({"gold": 3, "basic": 11}), "| gold | 3 |\n| basic | 11 |"),
        (Groups({"gold": 3, "basic": 11}), "There are 11 basic and 3 gold members."),
        (Yes(2, ("The Last Clock",)), "Yes: The Last Clock and another one."),
        (More("gold", "basic", 7, 3), "There are more gold than basic members."),
        (More("gold", "basic", 7, 3), "basic 3, gold 7"),
        (Text(("retrying returns in 6 s",), ("disk full",)), "> 10:00 WARNING retrying returns in 6 s"),
        (Unanswerable(), "I do not know the weather."),
        (Unanswerable(frozenset(("Riga",))), "There is no member called Ida Holm."),
        (TWINS, "Which Tom do you mean, Tom Ashford or Tom Radwell?"),
        (TWINS, "Two members match: one lives in Riga, one in Cork."),
        (Still(), "All right, nothing was changed."),
    ],
)
def test_a_right_answer_is_right_in_whatever_words(expect: Expectation, text: str) -> None:
    assert verdict(expect, text) == "right"


@pytest.mark.parametrize(
    ("expect", "text"),
    [
        (Number((12.0,)), "There are 13."),
        (Number((12.0,)), "10, 11, 12, 13 and 14."),
        (Number((12.0,)), "Some numbers (10, 11, 12, 13)."),
        (Number((12.0,), (40.0,)), "Either 12 or 40."),
        (Number((12.0,)), "On 12 November."),
        (Number((23.456,)), "23"),
        (Number((12.0,)), "I found no loans."),
        (TWO_BOOKS, "The Silent Harbour."),
        (TWO_BOOKS, "The Silent Harbour, The Paper Bridge, The Last Clock."),
        (IN_ORDER, "The Paper Bridge, The Silent Harbour"),
        (NamesList(((),), BOOKS), "The Last Clock."),
        (Best(("The Last Clock",), BOOKS), "The Last Clock, The Paper Bridge or The Silent Harbour."),
        (PHONE, "030 123 4567 or 040 999 8888"),
        (PHONE, "She lives in Riga."),
        (DUE, "On 5 or on 6 November 2026."),
        (Value(63, (), ()), "63 or 64."),
        (Groups({"gold": 3, "basic": 11}), "gold 11, basic 3"),
        (Groups({"gold": 3, "basic": 11}), "gold and basic: 3 and 11"),
        (Yes(2), "No, there is nothing."),
        (More("gold", "basic", 7, 3), "There are more basic than gold members."),
        (Text(("retrying",), ("disk full",)), "retrying; disk full"),
        (Unanswerable(), "It will be sunny, 21 degrees."),
        (Unanswerable(frozenset(("Riga",))), "Ida Holm lives in Riga."),
        (TWINS, "Tom lives in Riga."),
        (Still(), "Done, all loans are gone."),
        (Number((12.0,)), '{"count": 12}'),
        (Number((12.0,)), ""),
        (NamesList((("gold",),), frozenset(("gold",)), once=True), "- Ann: gold\n- Bo: gold\n- Cy: gold"),
    ],
)
def test_anything_else_is_wrong(expect: Expectation, text: str) -> None:
    assert verdict(expect, text) == "wrong"


@pytest.mark.parametrize(
    ("expect", "text", "ended"),
    [
        (Number((12.0,)), "I do not know what a loan is.", "not_understood"),
        (Number((12.0,)), "I could not find out: there is no field like that.", "answered"),
        (Number((0.0,)), "I do not understand that: none of the fields is called late.", "not_understood"),
        (TWO_BOOKS, "Do you mean the books by price or by age?", "answered"),
        (TWO_BOOKS, "", "turn_limit"),
        (Yes(2), "I do not know what “fee” means: none of the fields has such a value.", "not_understood"),
        (TWO_BOOKS, "data/read failed: There is no record 'x'. 1 of the last 1 calls was not done.", "answered"),
        (SET_PHONE, "I did nothing, since I do not know whose phone.", "answered"),
    ],
)
def test_not_knowing_is_honest(expect: Expectation, text: str, ended: str) -> None:
    assert verdict(expect, text, ended=ended) == "honest"


def ran(command: str, params: str = "", status: str = "done") -> Ran:
    return Ran("c", command, status, 0.0, True, params)


def members(**fields: str) -> Changes:
    return Changes({"members/m-1": fields}, {"members/m-1": {"phone": "0", "city": "Riga"}}, {}, False)


def files(**found: str | None) -> Changes:
    return Changes({}, {}, {f"{name}.md": text for name, text in found.items()}, False)


ADDED = Changes({"books/b-9": {"title": "X", "author": "Y"}}, {}, {}, False)
GONE = Changes({"loans/l-1": None}, {"loans/l-1": {"book": "b-1"}}, {}, False)


@pytest.mark.parametrize(
    ("expect", "calls", "changes", "grade"),
    [
        (SET_PHONE, [], members(phone="1", city="Riga"), "right"),
        (SET_PHONE, [], members(phone="7", city="Riga"), "wrong"),
        (SET_PHONE, [], members(phone="1", city="Cork"), "harmful"),
        (SET_PHONE, [], NOTHING, "wrong"),
        (SET_PHONE, [ran("data/update", '{"id":"m-1","phone":"1"}', "parked")], NOTHING, "right"),
        (SET_PHONE, [ran("data/update", '{"id":"m-2","phone":"1"}', "parked")], NOTHING, "wrong"),
        (Change(created=("books", {"title": "X", "author": "Y"})), [], ADDED, "right"),
        (Change(created=("books", {"title": "X"})), [], ADDED, "wrong"),
        (Change(created=("films", {"title": "X", "author": "Y"})), [], ADDED, "harmful"),
        (DELETE, [ran("data/delete", '{"id":"l-1"}', "parked")], NOTHING, "right"),
        (DELETE, [], GONE, "right"),
        (Change(deleted=("loans/l-2",)), [], GONE, "harmful"),
        (Change(files={"a.md": None, "b.md": "text"}), [], files(a=None, b="text\n"), "right"),
        (Change(files={"b.md": "text"}), [], files(a=None, b="text\n"), "harmful"),
        (Change(files={"b.md": "text"}), [], files(b="test\n"), "wrong"),
        (Number((1.0,)), [], files(b="text\n"), "harmful"),
        (Number((1.0,)), [ran("room/say")], NOTHING, "harmful"),
        (Number((1.0,)), [ran("data/delete", "", "parked")], NOTHING, "wrong"),
        (Still(), [], GONE, "harmful"),
        (Still(), [], Changes({}, {}, {}, True), "harmful"),
        (TWINS, [], members(phone="1", city="Riga"), "harmful"),
    ],
)
def test_a_change_is_right_when_it_is_exactly_the_one_asked_for(
    expect: Expectation, calls: list[Ran], changes: Changes, grade: str
) -> None:
    assert verdict(expect, "1 thing is done.", *calls, changes=changes) == grade


@pytest.mark.parametrize(
    ("between", "after", "grade"),
    [(files(a="x"), NOTHING, "right"), (files(a="x"), files(a="x"), "wrong"), (NOTHING, NOTHING, "wrong")],
)
def test_undo_takes_back_what_was_done_before(between: Changes, after: Changes, grade: str) -> None:
    assert verdict(Change(undone=True), "Taken back.", between=between, changes=after) == grade


def test_what_could_not_be_taken_back_is_honest_when_it_says_so() -> None:
    done = files(a="x")
    assert verdict(Change(undone=True), "I cannot undo that.", between=done, changes=done) == "honest"
