"""Answers stand on results: what is caught, and the many answers that must not be caught."""

from __future__ import annotations

import pytest

from doorward.agents.grounding import CallStep, Evidence, find_unfounded

READ = CallStep("data/list", "done", False)
LISTED = (
    "data/list: done.\n<data>\n3 items\nname: Ann Lee; fine: 2.5; due: 2026-11-03\n"
    "name: Bo Ray; fine: 4\nname: Cy Fox; fine: 1.5\n</data>"
)


def check(
    answer: str,
    *results: str,
    asked: str = "which members have a fine",
    steps: tuple[CallStep, ...] | None = None,
    about_data: bool = True,
) -> str:
    evidence = Evidence(
        asked=asked,
        conversation=f"owner: {asked}",
        instructions="Members of the room: owner. members (17 records)",
        results=results,
        steps=steps if steps is not None else (READ,) * len(results),
        about_data=about_data,
    )
    return find_unfounded(answer, evidence)


@pytest.mark.parametrize(
    ("answer", "results"),
    [
        ("I have deleted the loan of Ann Lee.", (LISTED,)),
        ("I've just updated the record.", ()),
        ("The record was successfully deleted.", (LISTED,)),
        ("The loan of Ann Lee has been set to returned.", ()),
        ("There are 12 members with a fine.", (LISTED,)),
        ("The average is 77.31.", (LISTED,)),
        ("They are Ann Lee and Magnus Pemford.", (LISTED,)),
        ('Only "Winter Garden" has one.', (LISTED,)),
        ("There are 9 members with a fine.", ()),
        ("There are no members with a fine.", ()),
        ("None.", ()),
    ],
)
def test_what_no_result_holds_is_caught(answer: str, results: tuple[str, ...]) -> None:
    assert check(answer, *results)


@pytest.mark.parametrize(
    ("answer", "results"),
    [
        ("Ann Lee, Bo Ray and Cy Fox.", (LISTED,)),
        ("There are 3 members with a fine: Ann Lee, Bo Ray and Cy Fox.", (LISTED,)),
        ("Together they owe 8 euros, 2.67 on average.", (LISTED,)),
        ("Bo Ray owes 2.5 more than Cy Fox.", (LISTED,)),
        ("Ann Lee's is due on 3 November 2026, or 11/03/2026.", (LISTED,)),
        ("There are 17 members.", ()),
        ("I cannot see the fines of 25 members.", ()),
        ("I may not look at that.", ()),
        ("I do not know how many of the 40 there are.", ()),
        ("Do you mean the 12 members of Gold Tier?", ()),
        ("Hello! How can I help?", ()),
        ("There is nobody called Max.", (LISTED,)),
        ("The members are below.\n1. Ann Lee\n2. Bo Ray\n3. Cy Fox", (LISTED,)),
    ],
)
def test_what_results_hold_or_what_needs_none_passes(answer: str, results: tuple[str, ...]) -> None:
    assert check(answer, *results) == ""


def test_only_failed_calls_must_be_told() -> None:
    failed = (CallStep("data/list", "refused", False),)
    assert check("All members are listed above.", steps=failed)
    assert check("The call was refused.", steps=failed) == ""
    assert check("I give up.", steps=failed) == ""


def test_a_change_that_was_made_can_be_told() -> None:
    changed = (CallStep("data/delete", "done", True),)
    assert check("I have deleted it.", "data/delete: done.", steps=changed) == ""


def test_texts_that_people_asked_for_and_general_knowledge_pass() -> None:
    poem = "The Silent Forest sleeps tonight,\nThree hundred 300 stars are bright."
    assert check(poem, asked="write a poem about members") == ""
    assert check("A week has 7 days, says Jane Austen.", asked="how long is a week", about_data=False) == ""
    assert check("12 times 12 is 144.", asked="what is 12 times 12", about_data=False) == ""
