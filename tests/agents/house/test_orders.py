"""Orders change exactly what they name, and nothing on a guess."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from order_house import READS, OrderHouse

from doorward.agents.house import mood
from doorward.agents.models.model import UndoableChange


def _update(collection: str, id: str, **data: Any) -> tuple[str, dict[str, Any]]:
    return "data/update", {"collection": collection, "id": id, "data": data}


def _create(collection: str, **data: Any) -> tuple[str, dict[str, Any]]:
    return "data/create", {"collection": collection, "data": data}


def _delete(collection: str, id: str) -> tuple[str, dict[str, Any]]:
    return "data/delete", {"collection": collection, "id": id}


def _write(path: str, content: str) -> tuple[str, dict[str, Any]]:
    return "file/write", {"path": path, "content": content}


def _append(path: str, content: str) -> tuple[str, dict[str, Any]]:
    return "vfs/append", {"path": f"/workspace/{path}", "content": f"{content}\n", "newLine": True}


_FILES = [
    ("write hello.txt saying hi there", _write("hello.txt", "hi there")),
    ("create a file called a/b.md with the text x y", _write("a/b.md", "x y")),
    ("please write 'do not \"panic\"' into a.txt", _write("a.txt", 'do not "panic"')),
    ("write call the plumber into todo.md", _write("todo.md", "call the plumber")),
    ("put 'x' into a new file a.txt", _write("a.txt", "x")),
    ("append red ones to list.txt", _append("list.txt", "red ones")),
    ("add the line eggs to list.txt", _append("list.txt", "eggs")),
    ('add "a b" at the end of list.txt', _append("list.txt", "a b")),
    ("put 'call the bus' on my errands list", _append("notes/errands.txt", "call the bus")),
    ("pls add a line to the get-in sheet: bring fuses", _append("notes/get-in-sheet.md", "bring fuses")),
    ("make an empty file a.txt", ("file/write", {"path": "a.txt", "content": "", "expectedDigest": ""})),
    ("create the directory reports", ("shell/mkdir", {"parents": True, "paths": ["reports"]})),
    (
        "replace 8080 with 9090 in a.json",
        ("file/edit", {"path": "a.json", "oldString": "8080", "newString": "9090"}),
    ),
    ("rename notes/a.md to b.md", ("shell/mv", {"sources": ["notes/a.md"], "destination": "notes/b.md"})),
    ("make a copy of a.md at notes/a.md", ("shell/cp", {"sources": ["a.md"], "destination": "notes/a.md"})),
    ("delete the file a.txt", ("file/delete", {"path": "a.txt"})),
    ("remove everything in tmp that is older than 30 days", ("file/delete", {"path": "tmp/a.log"})),
    ("delete all .log files in tmp", ("shell/rm", {"paths": ["tmp/a.log", "tmp/b.log"]})),
    ("put eggs at the bottom of notes/list.txt", _append("notes/list.txt", "eggs")),
    (
        "edit a.json and change 8080 to 9090",
        ("file/edit", {"path": "a.json", "oldString": "8080", "newString": "9090"}),
    ),
    ("rename a.md, it should be called b.md", ("shell/mv", {"sources": ["a.md"], "destination": "b.md"})),
    ("make b.md a copy of a.md", ("shell/cp", {"sources": ["a.md"], "destination": "b.md"})),
    ("copy a.md into the notes folder", ("shell/cp", {"sources": ["a.md"], "destination": "notes/"})),
    ("we no longer need a.txt, delete it", ("file/delete", {"path": "a.txt"})),
    ("get rid of stuff in tmp that is more than 30 days old", ("file/delete", {"path": "tmp/a.log"})),
    ("delete files in tmp that have not been changed for 30 days", ("file/delete", {"path": "tmp/a.log"})),
    ("delete empty files in tmp", ("file/delete", {"path": "tmp/b.log"})),
]
_RECORDS = [
    ("set the phone of Anna Berg to 555", _update("members", "m-1", phone="555")),
    ("change Anna Berg's phone number to 555", _update("members", "m-1", phone="555")),
    ("Anna Berg has a new phone: 555. please update it", _update("members", "m-1", phone="555")),
    ("please update the city for Theo Rad, it is now Oslo", _update("members", "m-3", city="Oslo")),
    ("mark Anna Berg as inactive", _update("members", "m-1", active=False)),
    ("set the status of order o-5 to Paid", _update("orders", "o-5", status="paid")),
    ("mark order o-5 as paid", _update("orders", "o-5", status="paid")),
    ("ship order o-5", _update("orders", "o-5", status="shipped")),
    ("assign order o-5 to ida", _update("orders", "o-5", assignee="ida")),
    ("set the price of Dune to 12.50 euros", _update("books", "b-2", price=12.5)),
    ("mark the loan of The Quiet River by Theo Rad as returned", _update("loans", "l-2", returned=True)),
    (
        "Anna Berg brought The Quiet River back, please mark the loan as returned",
        _update("loans", "l-1", returned=True),
    ),
    ("order o-5 has been paid, please update it", _update("orders", "o-5", status="paid")),
    ("change the status of o-5 from open to paid", _update("orders", "o-5", status="paid")),
    ("set paid as the status of the o-5 order", _update("orders", "o-5", status="paid")),
    ("assign ida to order number 5", _update("orders", "o-5", assignee="ida")),
    ("let ida handle order o-5", _update("orders", "o-5", assignee="ida")),
    ("remove o-5 from the orders table", _delete("orders", "o-5")),
    ("add a record to books with title Night Train, price 8", _create("books", title="Night Train", price=8)),
    ("add a crime book called Night Train costing 8", _create("books", title="Night Train", price=8, genre="crime")),
    ("delete order o-5", _delete("orders", "o-5")),
    ("remove Dune from the books", _delete("books", "b-2")),
    ("get rid of the book The Quiet River please", _delete("books", "b-1")),
    ("the loan of The Quiet River by Anna Berg was a mistake, delete it", _delete("loans", "l-1")),
    (
        "add a book with title Night Train, genre poetry and price 8",
        _create("books", title="Night Train", genre="poetry", price=8),
    ),
    ("add a book called Night Train by Ida Lund", _create("books", title="Night Train", author="Ida Lund")),
    ("new book: 'Night Train' (crime), put it into the list", _create("books", title="Night Train", genre="crime")),
    ("register Zoe Lind as a member", _create("members", name="Zoe Lind")),
    ("add a member called Zoe Lind in Lyon, phone 444", _create("members", name="Zoe Lind", city="Lyon", phone="444")),
    ("add a book called Night in Lyon", _create("books", title="Night in Lyon")),
    ("set the member of loan l-3 to Anna Berg", _update("loans", "l-3", member="m-1")),
    ("add a loan with member Anna Holm and book Dune", _create("loans", member="m-2", book="b-2")),
    ("delete anna berg's loan", _delete("loans", "l-1")),
    ("theo rad has a new phone number, it's 0141 555", _update("members", "m-3", phone="0141 555")),
    ("Dune now costs 11 in price, put that in", _update("books", "b-2", price=11)),
]
_OTHERS = [
    ("run the command ls -la; echo hi", ("bash", {"command": "ls -la; echo hi"})),
    ("please run `uname -a`", ("bash", {"command": "uname -a"})),
    ("run sort on notes/list.txt", ("shell/sort", {"arguments": ["notes/list.txt"]})),
    (
        "post the message 'the lamps are here' to the room lounge",
        ("room/say", {"text": "the lamps are here", "name": "lounge"}),
    ),
]


@pytest.mark.parametrize(("text", "call"), [*_FILES, *_RECORDS, *_OTHERS])
async def test_a_plain_order_becomes_the_one_call_that_it_names(text: str, call: Any) -> None:
    made, said = await OrderHouse().ask(text)
    assert made == [call], said


@pytest.mark.parametrize(("text", "call"), _RECORDS)
async def test_records_of_unknown_collections_are_never_changed(text: str, call: Any) -> None:
    made, said = await OrderHouse(known=False).ask(text)
    assert made == []
    assert said


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("set the phone of Anna to 555", "Which do you mean: the member m-1 (“Anna Berg”) or the member m-2"),
        ("set the phone of Theo to 555", "Do you mean the member m-3"),
        ("delete the loan of Dune by Theo Rad", "Which do you mean: the loan l-3 (“Theo Rad”, Dune) or the loan l-4"),
        ("mark the loan of Dune by Theo Rad as returned", "Which do you mean"),
        ("set the status of order o-5 to piad", "whether you mean paid"),
        ("set the status of order o-5 to paid or shipped", "more than one value"),
        ("set the price of Dune to cheap", "is no number"),
        ("set the status of all orders to paid", "one at a time"),
        ("delete all loans", "one at a time"),
        ("delete the loans of Theo Rad", "one record at a time"),
        ("remove Dune from the books of Anna Berg", "do not know which record"),
        ("remove the phone number of Anna Berg", "found no record"),
        ("delete order o-5 tomorrow", "do not know which record"),
        ("delete order o-5 and o-6", "do not know which record"),
        ("add a book about cats", "which field"),
        ("add a book called Night from Lyon", "which field"),
        ("delete Theo Rad's loan", "Which do you mean: the loan l-2 (“Theo Rad”, “The Quiet River”)"),
        ("delete the anna loan", "Which one do you mean: “Anna Berg” or “Anna Holm”"),
        ("set the member of loan l-3 to Zoe Lind", "I found no member that is called “Zoe Lind”"),
        ("delete both open orders", "one at a time"),
        ("delete everything", "without a condition"),
        ("delete all files in tmp", "without a condition"),
        ("delete the old files in tmp", "without a condition"),
        ("delete a.txt and b.txt", "one file at a time"),
        ("undo that", "I changed nothing in this conversation"),
        *((text, "") for text in ("delete it", "remove that", "clean it up", "fix it", "make it better", "delete *")),
        *((text, "") for text in ("dlete a.txt", "write me a poem about the sea", "write a poem into poem.txt")),
        *((text, "") for text in ("append the results to list.txt", "run everything", "undo everything", "add books")),
        *((text, "") for text in ("approve everything that is waiting", "wipe the workspace", "print the secret key")),
        *((text, "") for text in ("delete a.txt. it is old", "read a.txt and do what it says", 'write "hi" in french')),
        *(
            (text, "")
            for text in (
                "book me a table",
                "set Anna Berg to gold",
                "make Dune cheaper",
                "delete tmp/",
                "tell the story",
            )
        ),
    ],
)
async def test_nothing_changes_on_a_guess(text: str, says: str, known: bool) -> None:
    made, said = await OrderHouse(known=known).ask(text)
    assert made == []
    assert not known or says in said
    assert said


async def test_several_orders_are_done_one_after_the_other_and_held_back_together() -> None:
    house = OrderHouse()
    made, _ = await house.ask("set the status of order o-5 to paid and delete order o-6")
    assert made == [_update("orders", "o-5", status="paid"), _delete("orders", "o-6")]
    assert (await house.ask("set the status of order o-5 to paid and never delete order o-6"))[0] == []


async def test_undo_takes_back_the_newest_change_or_the_one_that_is_named() -> None:
    changes = (UndoableChange("0123456789abcdef", "file/write of a.txt"), UndoableChange("f" * 16, "an older one"))
    house = OrderHouse()
    made, said = await house.ask("oops, undo that please", changes)
    assert (made, said) == ([("undo", {"execution": "0123456789abcdef"})], "I took back file/write of a.txt.")
    assert (await house.ask(f"undo {'f' * 16}", changes))[0] == [("undo", {"execution": "f" * 16})]


@pytest.mark.parametrize(
    "part", ["set a of b to ", "add a book with title a and ", "append x to ", "delete a, ", "in a.txt "]
)
async def test_a_long_text_is_given_up_soon(part: str) -> None:
    assert (await asyncio.wait_for(OrderHouse().ask((part * 2_000)[:7_900]), 20))[0] == []


async def test_a_command_that_is_not_offered_is_named() -> None:
    made, said = await OrderHouse(tools=READS).ask("write a.txt saying hi")
    assert made == []
    assert "That needs file/write, which I am not offered here" in said


_WORDS = """delete write set remove not never if the a all order o-5 Dune a.txt saying to paid book bob said should I
and please don't what would happen it everything of Anna Berg phone status , . ? : ' " löschen 7 undo run"""
_TEXTS = st.lists(st.sampled_from(_WORDS.split()), max_size=9).map(" ".join)


@settings(max_examples=150, deadline=None)
@given(_TEXTS)
def test_no_text_changes_anything_unless_it_is_an_order(text: str) -> None:
    made, _ = asyncio.run(OrderHouse().ask(text or "?"))
    assert not made or mood.is_order(text)
    assert not made or not mood.reason_not_to_act(text)


async def test_a_file_named_by_words_moves_into_a_new_folder() -> None:
    made, _ = await OrderHouse().ask("move the errands list into a folder called archive")
    assert made == [
        ("shell/mkdir", {"parents": True, "paths": ["archive/"]}),
        ("shell/mv", {"sources": ["notes/errands.txt"], "destination": "archive/"}),
    ]
