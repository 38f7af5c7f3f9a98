"""Requests about the git repository: the figure or the name that was asked for, from what git prints."""

from __future__ import annotations

import pytest
from fake_workspace import FakeWorkspace

LOG = """commit 1111111111111111111111111111111111111111
Author: Anna Berg <anna@shop.example>
Date:   2026-11-16T08:00:00+00:00

    Orders can be cancelled
    Even late.

src/orders.py
README.md

commit 2222222222222222222222222222222222222222
Author: Anna Berg <anna@shop.example>
Date:   2026-11-10T08:00:00+00:00

    Invoices are written

src/invoice.py
"""
HOUSE = FakeWorkspace(
    {"README.md": "hi\n", "src/orders.py": "x\n"},
    shell_git_log=LOG,
    shell_git_status=" M README.md\n?? notes/ideas.md\n",
    shell_git_diff="+hi\n",
    shell_git_branch="  fix-login\n* main\n",
)
EMPTY = FakeWorkspace({}, shell_git_log="", shell_git_status="", shell_git_diff="", shell_git_branch="")


@pytest.mark.parametrize(
    ("request_", "params", "answer"),
    [
        (
            "who made the last commit",
            {"maxCount": 1},
            "Anna Berg made the last commit: “Orders can be cancelled”, 16 November 2026 at 08:00 UTC.",
        ),
        (
            "what's the latest commit message?",
            {"maxCount": 1},
            "The message of the last commit is:\n> Orders can be cancelled\n> Even late.",
        ),
        (
            "which files did the last commit change",
            {"maxCount": 1, "nameOnly": True},
            "The last commit changed 2 files: src/orders.py and README.md.",
        ),
        ("how many commits by Anna?", {"author": "[Aa][Nn][Nn][Aa]"}, "There are 2 commits by Anna."),
        ("how offten has anna committed", {"author": "[Aa][Nn][Nn][Aa]"}, "There are 2 commits by anna."),
        (
            "number of Anna's commits since 1 November",
            {"since": "2026-11-01T00:00:00+00:00"},
            "There are 2 commits by Anna since 1 November 2026.",
        ),
        (
            "commits mentioning invoices",
            {"grep": "[Ii][Nn][Vv][Oo][Ii][Cc][Ee][Ss]"},
            "The last 2 commits mentioning invoices:",
        ),
        (
            "which commits touched src/orders.py",
            {"paths": ["src/orders.py"]},
            "The last 2 commits touching src/orders.py:",
        ),
        (
            "who changed README.md last?",
            {"paths": ["README.md"], "maxCount": 1},
            "Anna Berg made the last commit touching README.md",
        ),
        (
            "show the last two commits",
            {"maxCount": 2},
            "The last 2 commits:\n- 11111111 “Orders can be cancelled” by “Anna Berg”",
        ),
        ("git status", {"short": True}, "2 files have uncommitted changes:\n>  M README.md"),
        ("what have i changed that isn't committed yet", {"short": True}, "2 files have uncommitted changes"),
        ("is there anything i forgot to commit", {"short": True}, "2 files have uncommitted changes"),
        ("show me the git diff", {}, "The uncommitted changes:\n> +hi"),
        ("what did I change since the last commit", {}, "The uncommitted changes:\n> +hi"),
        ("which branches are there", {}, "There are 2 branches: fix-login and main (current)."),
        ("which branch are we on", {}, "The current branch is main."),
    ],
)
def test_a_request_is_answered(request_: str, params: dict[str, object], answer: str) -> None:
    (call,), text = HOUSE.ask(request_)
    assert {**call.params, **params} == call.params
    assert text.startswith(answer)


@pytest.mark.parametrize(
    "request_",
    [
        "how many commits not by anna",
        "who committed the most",
        "undo the last commit",
        "how many commits did anna and ben make",
    ],
)
def test_a_word_that_is_not_understood_holds_the_answer_back(request_: str) -> None:
    assert HOUSE.ask(request_)[0] == []


def test_nothing_found_is_said() -> None:
    assert EMPTY.answer("how many commits by Zoe") == "unknown: I do not know Zoe: no commit has such an author."
    assert EMPTY.answer("anything uncommitted?") == "Nothing has changed since the last commit."
