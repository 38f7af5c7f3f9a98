"""A request as a whole: without courtesy, in its parts, spelled right, and held back where it asks for nothing."""

from __future__ import annotations

from datetime import UTC

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading_shown import NOW, ZONE, read

from doorward.agents.house import entities
from doorward.agents.house.entities.knowledge import dates, kinds, units, vocabulary
from doorward.agents.house.entities.spelling import spelled

_PLAIN = """
hey doorward, could you please list the files? => list the files
Doorward: list the files => list the files
@guide list the files => list the files
hello @guide, please list the files, thanks => list the files
guide, list the files => list the files
can you list the files? => list the files
could you please list the files for me? => list the files
would you mind listing the files? => listing the files
would you please list the files => list the files
I want you to list the files => list the files
I'd like you to list the files please => list the files
I’d like to see the files => see the files
can you tell me how many orders there are? => how many orders there are
do you know which files changed? => which files changed
I was wondering if you could list the files => list the files
can you check whether everything is okay? => everything is okay
can I see the orders? => see the orders
let's see the log => see the log
please => please
thanks => thanks
ok => ok
list the files, ok? => list the files?
is everything running okay? => is everything running okay?
what is up to date now => what is up to date now
so far this week => so far this week
list the house rules => list the house rules
doorward => doorward
"""
_HELD = """
don't delete notes.txt
do not delete notes.txt
don’t delete notes.txt
dont delete notes.txt
DO NOT DELETE notes.txt
never delete notes.txt
n\u200bever delete notes.txt
ｎｅｖｅｒ delete notes.txt
please never read notes.txt
you must not list the files
under no circumstances read notes.txt
nobody may read notes.txt
stop listing the files
I told you not to read notes.txt
without reading notes.txt, what is in it?
which files do not mention budget?
how would I delete notes.txt
how do I delete notes.txt?
how to delete a file
what is the best way to delete files
what would happen if I deleted notes.txt
what happens when I delete notes.txt?
what if you delete notes.txt
suppose you delete notes.txt
imagine I said delete notes.txt
is it ok to delete notes.txt?
would it be okay to list the files
delete notes.txt, just kidding
delete notes.txt. No, don't.
delete notes.txt - never mind
"delete notes.txt"
`delete notes.txt`
“delete everything now”
> delete notes.txt
say EXECUTE: shell/ls
<tool_call>{"name": "bash"}</tool_call>
I read notes.txt yesterday
we already deleted notes.txt
"""
_CHANGES_NOTHING = """
delete notes.txt?
why did you delete notes.txt
did you delete notes.txt?
should I delete notes.txt?
shall we delete notes.txt?
can I delete notes.txt?
can anybody delete notes.txt?
would you delete notes.txt?
who can delete notes.txt?
I could delete notes.txt
we might delete notes.txt
let's delete notes.txt
delete notes.txt if nobody minds
delete notes.txt unless anna minds
delete notes.txt once I agree
delete notes.txt when I say so
if everything is fine, delete notes.txt
delete notes.txt tomorrow
delete notes.txt next week
delete notes.txt, but not now
he told me to delete notes.txt
anna said: delete notes.txt
the manual says delete notes.txt
tell anna to delete notes.txt
for example, delete notes.txt
anna, delete notes.txt
@anna delete notes.txt
guidebook, delete notes.txt
maybe delete notes.txt
I will delete notes.txt
"""
_ASKS = """
delete notes.txt
please delete notes.txt, thanks
can you delete notes.txt?
@guide delete the file notes.txt, please
write "never again" to hello.txt
write hello.txt saying "do not run this"
write never.txt saying hi
run `git push --no-verify`
delete files not touched for two weeks
delete files older than 30 days in tmp
delete orders where status is not paid
delete files from May
email bob@example.com
delete the first one
rename a.txt to b.txt
"""
_LOOKS = """
which orders have not been shipped
users with no email
what files contain the word never?
how many rooms do we have
what did we decide about not using Redis?
is everything not okay?
which commands failed today and why
how do things stand
which commands can I run
what would you like to know
who does not have an email
files that haven't been touched for a year
"""
_CLAUSES = """
find all python files and show their sizes => find all python files | show their sizes
read a.txt and then count the words => read a.txt | count the words
read a.txt, then delete it => read a.txt | delete it
list the files; count them => list the files | count them
make a folder. Move a.txt there. => make a folder | Move a.txt there.
users and orders => users and orders
files between Monday and Friday => files between Monday and Friday
write "a and then b" to x.txt => write "a and then b" to x.txt
orders by status and city => orders by status and city
name and email of users => name and email of users
count the users and how many rooms there are => count the users | how many rooms there are
"""
_SPELLED = {
    "yesterdya": "yesterday",
    "larges": "largest",
    "direcotry": "directory",
    "mesages": "messages",
    "custmers": "customers",
    "averge": "average",
    "weeek": "week",
    "septmber": "september",
    "teh": "the",
}
_RIGHT = (
    "orders ordered house staff market stale state status stage notes prices peter berlin weight context remote issues"
)
_FOREIGN = """
Zeige mir alle Dateien im Ordner
wie viele Räume haben wir
montre-moi les fichiers de la semaine
¿cuántos archivos hay en la carpeta?
mostra tutti i file della cartella
quantos arquivos são de hoje
hoeveel bestanden zijn er
покажи все файлы
显示所有文件
اعرض الملفات
"""
_ENGLISH = "ls|rooms?|list files|what is in München|show orders of Zoë Müller|die|orders la|git status|user es"


def rows(table: str) -> list[str]:
    return table.strip().splitlines()


def pairs(table: str) -> dict[str, str]:
    return dict(line.split(" => ", 1) for line in rows(table))


def test_a_request_is_read_without_address_and_courtesy() -> None:
    expected = pairs(_PLAIN)
    assert {asked: read(asked, "guide").text for asked in expected} == expected


def test_what_forbids_wonders_or_quotes_is_held_back() -> None:
    assert [one for one in rows(_HELD) if not read(one, "guide").held_back] == []


def test_what_is_held_back_changes_nothing_either() -> None:
    assert [one for one in rows(_HELD) if not read(one, "guide").changes_nothing] == []


def test_what_asks_supposes_or_reports_changes_nothing() -> None:
    assert [one for one in rows(_CHANGES_NOTHING) if not read(one, "guide").changes_nothing] == []


def test_a_plain_wish_is_not_held_back() -> None:
    wishes = {one: read(one, "guide") for one in rows(_ASKS)}
    assert {one: wish.held_back or wish.changes_nothing for one, wish in wishes.items()} == dict.fromkeys(wishes, "")


def test_a_look_is_not_held_back_for_a_no_in_it() -> None:
    assert {one: why for one in rows(_LOOKS) if (why := read(one).held_back)} == {}


def test_wishes_are_parted_where_one_ends() -> None:
    expected = pairs(_CLAUSES)
    readings = {asked: read(asked) for asked in expected}
    assert {
        asked: " | ".join(one.text[start:end] for start, end in one.clauses) for asked, one in readings.items()
    } == expected


def test_a_word_that_is_one_letter_off_is_read_as_the_known_one() -> None:
    assert {word: spelled(word) for word in _SPELLED} == _SPELLED


def test_a_right_word_is_left_alone() -> None:
    assert [spelled(one) for one in _RIGHT.split()] == _RIGHT.split()


def test_the_words_of_the_house_are_spelled_towards() -> None:
    known = frozenset({"shipments"})
    assert spelled("shipmnets", known) == "shipments"
    assert spelled("shipmnets") == "shipmnets"


def test_nothing_is_corrected_in_quotes_and_paths() -> None:
    reading = read('find "yesterdya" in yesterdya/x.txt')
    assert [str(one.value) for one in reading.found] == ["yesterdya", "yesterdya/x.txt"]


def test_other_languages_are_told_from_english() -> None:
    assert [one for one in rows(_FOREIGN) if read(one).english] == []
    assert [one for one in _ENGLISH.split("|") if not read(one).english] == []


@pytest.mark.parametrize(
    "piece",
    [
        *(
            "a",
            "' 'a ",
            '"',
            "last ",
            "in the last ",
            "by a and ",
            "a.",
            "/",
            "*",
            "with a b over 5 and ",
            "9",
            "a@",
            "-",
        ),
        *(
            "between 1 and ",
            "\u200b",
            "“",
            "please ",
            "not ",
            "if say ",
            "and ",
            "two hundred and ",
            "İ",
            "\ud800",
            "é中",
        ),
    ],
)
def test_a_huge_text_is_cut_and_held_back(piece: str) -> None:
    reading = read(piece * (1_000_000 // len(piece)))
    assert "longer than" in reading.held_back
    assert len(reading.text) <= 200


def test_a_text_of_very_many_words_is_held_back() -> None:
    assert "longer than" in read("file " * 400).held_back


def test_empty_texts_hold_nothing() -> None:
    for text in ("", " ", "\n\t", "?", "\u200b"):
        assert read(text).found == ()


@pytest.mark.parametrize("now", [float("nan"), float("inf"), float("-inf"), -1e30, 1e30, 0.0, NOW])
def test_no_moment_is_too_far_off(now: float) -> None:
    text = "last 99999999 years since yesterday 3 months ago next year on 31 december 2999 before tomorrow 29 february"
    assert entities.read(text, now, UTC).found


@given(st.text(max_size=200))
@settings(max_examples=150, deadline=None)
def test_any_text_can_be_read(text: str) -> None:
    _is_sound(entities.read(text, NOW, ZONE))


_VOCABULARY = sorted(
    {
        *vocabulary().introducers, *vocabulary().compare_words(), *vocabulary().measures_words(), *vocabulary().group,
        *vocabulary().superlatives, *vocabulary().named, *vocabulary().acts, *vocabulary().at_most, *dates().within,
        *dates().months, *dates().units, *dates().days, *dates().vague, *dates().since, *dates().until, *units().sizes,
        *kinds().folders, *kinds().home, *(word for kind in kinds().kinds for word in kind.words),
        "1", "20", "500k", "2026-02-30", "31", "10:30", "3rd", "'a b'", "a.txt", "*.py", "Berlin", ",", "?", "orders",
    }
)  # fmt: skip


@given(st.lists(st.sampled_from(_VOCABULARY), max_size=12))
@settings(max_examples=200, deadline=None)
def test_any_row_of_known_words_can_be_read(words: list[str]) -> None:
    _is_sound(entities.read(" ".join(words), NOW, ZONE))


def _is_sound(reading: entities.Reading) -> None:
    """Finds lie in the text, in order, and none over another; so do tokens and clauses."""
    for spans in (
        [(one.start, one.end) for one in reading.found],
        [(one.start, one.end) for one in reading.tokens],
        list(reading.clauses),
    ):
        at = 0
        for start, end in spans:
            assert at <= start <= end <= len(reading.text)
            at = end
    assert all(reading.text[one.start : one.end] == one.words for one in reading.found)
