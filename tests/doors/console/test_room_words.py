"""What a room says in words: files that are not attached, what is found, what came of a call, and late decisions."""

from __future__ import annotations

import pytest

LONG = "word " * 200 + "needle\nin it " + "word " * 200


@pytest.mark.parametrize(
    ("problem", "says"),
    [
        ({"code": "empty"}, "a.txt is empty and was not attached."),
        (
            {"status": 413, "detail": "The body may have at most 5000000 bytes; it has more."},
            "a.txt is larger than 5 MB and was not attached.",
        ),
        ({"status": 403, "detail": "You may not."}, "a.txt was not attached: You may not."),
    ],
)
def test_a_file_that_is_not_attached_says_why(ask, problem, says):
    assert ask("lib/format.js", "explainUpload", "a.txt", problem) == says


def test_what_is_found_is_shown_around_the_words(ask):
    first, before, hit, after, last = ask("lib/format.js", "buildExcerpt", LONG, "NEEDLE")
    assert (first, hit, last) == ("…", {"hit": "needle"}, "…")
    assert before.startswith("word ")
    assert after.startswith("\nin it word")
    assert sum(map(len, (before, hit["hit"], after))) == 400
    assert ask("lib/format.js", "buildExcerpt", "a (short) text", "(short)") == ["a ", {"hit": "(short)"}, " text"]


@pytest.mark.parametrize(
    ("summary", "says"),
    [
        ('Found 0 items:\n({"matched":0})', "Found nothing."),
        ("Found 0 items:", "Found nothing."),
        ('Found 1 items:\n1. {}\n({"matched":1})', "Found 1 item:\n1. {}"),
        ('Found 2 items:\n1. a\n2. b\n({"matched":7})', "Found 2 items:\n1. a\n2. b\n7 matches in total."),
        ("Result: Found 1 items:", "Result: Found 1 items:"),
    ],
)
def test_what_came_of_a_call_counts_as_people_do(ask, summary, says):
    assert ask("lib/format.js", "formatSummary", summary) == says


@pytest.mark.parametrize(
    ("state", "decisions", "says"),
    [
        ("used", [("anna", "approve"), ("ben", "approve")], "Too late to deny: anna and ben already approved it."),
        ("denied", [("anna", "approve"), ("ben", "deny")], "Too late to deny: ben already denied it."),
        ("expired", [], "Too late to deny: the request expired without a decision."),
        ("pending", [], ""),
    ],
)
def test_a_decision_that_came_too_late_says_what_was_decided(ask, state, decisions, says):
    made = [{"decider": decider, "verdict": verdict} for decider, verdict in decisions]
    assert ask("lib/decisions.js", "explainLate", "deny", {"state": state, "decisions": made}) == says


@pytest.mark.parametrize(
    ("called", "says"),
    [
        ("Team Blue_2", ""),
        ("Team <img>", "Not allowed in a room name: < >"),
        ("-team", "Start with a letter or digit."),
    ],
)
def test_what_a_room_cannot_be_called_is_said_of_what_was_typed(ask, called, says):
    assert ask("parts/room-dialogs.js", "validateRoomTitle", called) == says
