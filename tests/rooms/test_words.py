"""Only the bare word decides (R4.3)."""

from __future__ import annotations

import pytest

from doorward.rooms.message import parse_verdict, resembles_verdict


@pytest.mark.parametrize(
    ("text", "word", "approval", "reason"),
    [
        ("approve", "approve", "", ""),
        (" Deny\n", "deny", "", ""),
        ("APPROVE 01k9x2m4q7ab3cde", "approve", "01k9x2m4q7ab3cde", ""),
        ("deny\t01K9X2M4Q7AB3CDE", "deny", "01k9x2m4q7ab3cde", ""),
        ("deny 01k9x2m4q7ab3cde Use pathlib.", "deny", "01k9x2m4q7ab3cde", "Use pathlib."),
    ],
)
def test_the_word_alone_or_with_an_id_decides_and_a_denial_may_have_a_reason(text, word, approval, reason):
    assert parse_verdict(text) == (word, approval, reason)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I disapprove",
        "approve please",
        "deny please",
        "approve 01k9x2m4q7ab3cde because it is fine",
        "deny 01k9x2m4q7ab3cde one\ntwo",
        "approve.",
        "approved",
        "please approve",
        "approve deny 01k9x2m4q7ab3cde",
        "approve\n01k9x2m4q7ab3cde",
        "approve\u202e",
        "ap\u200bprove",
        "аpprove",
        "> approve",
        "`approve`",
        "do not\napprove",
    ],
)
def test_anything_else_decides_nothing(text):
    assert parse_verdict(text) is None


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("APPROVE!", True),
        ("Deny.", True),
        ("approve nonsense1234567", True),
        ("`approve`", True),
        ("approve", False),
        ("approved it yesterday", False),
        ("I disapprove", False),
        ("", False),
    ],
)
def test_what_begins_like_a_decision_and_is_none_is_known(text, meant):
    assert resembles_verdict(text) is meant
