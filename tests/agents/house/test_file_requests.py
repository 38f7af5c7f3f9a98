"""Requests about files: what is found, what is said of it, and which words hold an answer back."""

from __future__ import annotations

import pytest
from fake_workspace import FakeWorkspace

HOUSE = FakeWorkspace(
    {
        "README.md": "# Shop\nAsk Anna.\n",
        "list.txt": "milk\nred ones\n"[:-1],
        "empty.txt": "",
        "docs/faq.md": "# Questions\nWhere is the refund policy?\n",
        "docs/guide.md": "# Guide\nOne.\nTwo.\nThree.\n",
        "notes/budget.md": "# Budget\nWe have 4200 euros.\n",
        "home/budget.csv": "what,euros\nrent,900\n",
        "src/app.py": "def start():\n    return 1\n",
        "src/orders.py": "def place_order(value):\n    return value\n",
        "media/tour.mp4": "x" * 2_000_000,
        "media/old.png": "x" * 1_200_000,
    },
    {"media/tour.mp4": 1, "src/app.py": 3, "README.md": 0.2, "media/old.png": 60},
)


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        ("read list.txt", "list.txt holds 13 bytes in 2 lines:\n> milk\n> red ones"),
        ("what does the readme say?", "README.md holds 17 bytes in 2 lines:\n> # Shop\n> Ask Anna."),
        ("how many lines does list.txt have", "list.txt has 2 lines."),
        ("how many linse are in list.txt", "list.txt has 2 lines."),
        ("word count of docs/guide.md", "docs/guide.md has 5 words."),
        ("show the first 2 lines of docs/guide.md", "Lines 1 to 2 of the 4 of docs/guide.md:\n> # Guide\n> One."),
        ("the last line of docs/guide.md please", "Line 4 of the 4 of docs/guide.md:\n> Three."),
        ("how big is media/tour.mp4", "media/tour.mp4 is 2 MB (2,000,000 bytes)."),
        ("when was README.md changed?", "README.md was last changed on 18 November 2026 at 07:12 UTC."),
        ("does docs/nowhere.md exist", "No, there is no file docs/nowhere.md here."),
        ("what is the largest file", "The largest file is media/tour.mp4: 2 MB (2,000,000 bytes)."),
        (
            "which python file was changed last",
            "The newest Python file is src/app.py, last changed on 15 November 2026 at 12:00 UTC.",
        ),
        ("how many python files are there", "There are 2 Python files."),
        ("number of files in the docs folder", "There are 2 files in docs."),
        ("are there any empty files?", "There is 1 empty file:\n- empty.txt (0 bytes)"),
        (
            "list files over 1 MB changed this week",
            "There is 1 file over 1 MB changed this week:\n"
            "- media/tour.mp4 (2 MB, changed 17 November 2026 at 12:00 UTC)",
        ),
        (
            "pictures not changed for 30 days",
            "There is 1 image file not changed for 30 days:\n"
            "- media/old.png (1.2 MB, changed 19 September 2026 at 12:00 UTC)",
        ),
        ("how much space does the media folder use", "The 2 files in media take up 3.2 MB (3,200,000 bytes)."),
        (
            "which files mention refunds?",
            "1 file mentions refund:\n- docs/faq.md, line 2: “Where is the refund policy?”",
        ),
        ("which files mention zeppelin", "No file mentions zeppelin."),
        (
            "where is place_order defined",
            "1 file defines place_order:\n- src/orders.py, line 1: “def place_order(value):”",
        ),
        ("what is in docs", "There are 2 files in docs:\n- docs/faq.md (40 bytes)\n- docs/guide.md (25 bytes)"),
        ("show me the budget file", "unknown: Which file do you mean: home/budget.csv or notes/budget.md?"),
        (
            "what does the budget note say",
            "notes/budget.md holds 29 bytes in 2 lines:\n> # Budget\n> We have 4200 euros.",
        ),
    ],
)
def test_a_request_is_answered(request_: str, answer: str) -> None:
    assert HOUSE.answer(request_) == answer


@pytest.mark.parametrize(
    ("request_", "earlier", "answer"),
    [
        ("show me the first one", ["list the files in docs"], "docs/faq.md holds 40 bytes"),
        ("now the second one", ["show me the first one", "list the files in docs"], "docs/guide.md holds 25 bytes"),
        ("how big is it?", ["what is the largest file"], "media/tour.mp4 is 2 MB"),
        ("read it", ["which file mentions refund"], "docs/faq.md holds 40 bytes"),
        ("and how many lines does it have", ["read it", "which file mentions refund"], "docs/faq.md has 2 lines."),
        (
            "which of those are over 1.5 MB",
            ["list the files in media"],
            "There is 1 file over 1.5 MB:\n- media/tour.mp4",
        ),
        ("the largest of them", ["list the files in docs"], "The largest file is docs/faq.md"),
        ("what about src", ["how many files are in docs"], "There are 2 files in src."),
        ("how big is it", ["list the files in docs"], "unknown: Which file do you mean: docs/faq.md or docs/guide.md?"),
        ("show the third one", ["list the files in docs"], "unknown: There is no such file"),
    ],
)
def test_a_follow_up_means_the_files_of_the_request_before(request_: str, earlier: list[str], answer: str) -> None:
    assert HOUSE.answer(request_, *earlier).startswith(answer)


@pytest.mark.parametrize(
    "name", ["a.txt; delete b.txt", 'a" and "b.txt', "a\nb.txt", "everything", "the file README.md"]
)
def test_a_name_is_taken_from_the_result_as_it_is(name: str) -> None:
    house = FakeWorkspace({f"found/{name}": "hello\n", "b.txt": "other\n"})
    for follow_up in ("show the first one", "how big is it"):
        calls, _ = house.ask(follow_up, "list the files in found")
        assert [one.params["path"] for one in calls] == ["found", f"found/{name}"]


@pytest.mark.parametrize(
    "request_",
    [
        "which files do not mention refund",
        "which files mention apples or pears",
        "list files that anna likes",
        "files created yesterday",
        "show duplicate files",
        "what did anna write in README.md",
        "which folder has the most files",
        "how many orders are there",
    ],
)
def test_a_word_that_is_not_understood_holds_the_answer_back(request_: str) -> None:
    calls, answer = HOUSE.ask(request_)
    assert (calls, answer[:8]) == ([], "unknown:")
