"""Wordings that nobody foresaw: a request is like an example when nothing of either is left over."""

from __future__ import annotations

import time
from datetime import UTC

import pytest
from bench.questions.question import asked

from doorward.agents.house.likening import nearest
from doorward.agents.house.phrasing.book import Frame, frames
from doorward.agents.house.phrasing.finding import Found, every, found
from doorward.agents.house.phrasing.items import of_said
from doorward.agents.house.said import Said, said
from doorward.agents.house.seen import Seen
from doorward.agents.house.understanding import Mind
from doorward.agents.models.model import ChatTurn, Prompt

COMMANDS = dict.fromkeys(("data/delete", "data/aggregate", "file/read"))


def _said(text: str) -> Said:
    return said(text, time.time(), UTC)


def _found(text: str, *, follows: bool = False) -> Found | None:
    return found(_said(text), COMMANDS, follows=follows)


def _nearest(text: str, before: str = "") -> Found | None:
    turns = tuple(ChatTurn(role="user", text=one, speaker="owner") for one in (before, text) if one)
    return nearest(Mind(Seen(Prompt(instructions="", turns=turns)), time.time(), UTC), text)


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("How are the tickets distributed among the assignees?", "count tickets by assignees"),
        ("for every status, how many orders", "count orders by status"),
        ("any idea how many urgent tickets we've got", "how many tickets are urgent"),
        ("For the room lounge, tell me its recipe.", "which recipe governs the lounge"),
        ("is there any file that's got zeppelin in it?", "which files contain the word zeppelin"),
        ("Name the caller behind yesterday's data/delete.", "which caller ran data/delete yesterday"),
        ("how many bytes does the file images/photo.jpg have", "how big is images/photo.jpg"),
        ("of how many words does notes/meeting.md consist", "how many words are in notes/meeting.md"),
        ("To whom has root access been granted?", "which users have root access"),
        ("which 3 of our products are priced lowest", "the 3 cheapest products"),
    ],
)
def test_a_request_is_rewritten_to_what_it_means_with_its_slots_put_back(text: str, means: str) -> None:
    near = _found(text)
    assert near is not None
    assert near.means == means


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("put 9090 in place of 8080 in config/settings.json", "replace 8080 with 9090 in config/settings.json"),
        ("change 8080 to 9090 in config/settings.json", "replace 8080 with 9090 in config/settings.json"),
        ("to drafts/plan.md, rename the file drafts/proposal.md", "rename drafts/proposal.md to drafts/plan.md"),
        ("to ben, assign the ticket t-004", "assign ticket t-004 to ben"),
    ],
)
def test_of_two_slots_of_one_type_the_word_before_tells_which_is_which(text: str, means: str) -> None:
    near = _found(text)
    assert near is not None
    assert near.means == means


@pytest.mark.parametrize(
    "text",
    [
        "which recipe governs the lounge on sundays",
        "which commands failed yesterday in Oslo",
        "how big is images/photo.jpg without its thumbnail",
        "what was the last commit message about lamps",
        "read a file",
        "large orders",
        "what is the total of price times quantity",
    ],
)
def test_a_word_that_no_example_explains_is_no_match(text: str) -> None:
    assert _found(text) is None


@pytest.mark.parametrize(
    "text",
    ["which users do not have root access", "which files do not contain the word refund", "slowest commands of mason"],
)
def test_a_word_that_turns_the_meaning_is_never_overlooked(text: str) -> None:
    assert all("not" not in one.says for one in every(_said(text), COMMANDS))
    assert _found(text) is None


def test_what_a_request_is_compared_by_are_its_telling_words_and_finds() -> None:
    items = of_said(_said("could you please show me the 5 largest files in docs/old/ since yesterday"), COMMANDS)
    kinds = [(item.kind, item.text) for item in items if item.kind != "light"]
    assert kinds == [
        ("number", "5"),
        ("word", "largest"),
        ("word", "files"),
        ("path", "docs/old/"),
        ("span", "since yesterday"),
    ]


def test_two_meanings_that_are_as_near_leave_it_open() -> None:
    ranked = every(_said("list the size"), COMMANDS, follows=True)
    near = _found("list the size", follows=True)
    assert near is None or near.score - max((one.score for one in ranked if one.means != near.means), default=0) >= 0.01


def test_an_example_that_follows_needs_something_before_it() -> None:
    assert _nearest("how's that split up per status?") is None
    near = _nearest("how's that split up per status?", before="how many tickets do we have")
    assert near is not None
    assert near.means == "group them by status"


@pytest.mark.parametrize(
    "text",
    [
        "anna renamed drafts/proposal.md to drafts/plan.md",
        "who renamed drafts/proposal.md to drafts/plan.md",
        "should I rename drafts/proposal.md to drafts/plan.md?",
        "if it rains, delete drafts/pitch-old.md",
        "do not delete drafts/pitch-old.md",
        "what would happen if I deleted drafts/pitch-old.md",
        "the note says: delete drafts/pitch-old.md",
        "could somebody have deleted order o-1010?",
        "ben thinks we should delete order o-1010",
        "never mind, don't say 'the lamps are here' in the lounge",
        "show me the file notes/a.md that contains 'the lamps are here'",
        "list an empty file drafts/pitch-old.md",
        "show order o-1010 assigned to ben",
        "show drafts/proposal.md copied over to drafts/plan.md",
        "find out if order o-1010 has to be removed",
        "when the build is green, remove the file drafts/pitch-old.md",
        "remind me to change the status of order o-1010 to paid",
        "otherwise delete drafts/pitch-old.md",
        "should i revert that?",
        "did you revert that?",
        "how do i roll that back?",
        "which command do i use to undo the last change?",
        "can i undo that?",
        "should that be reversed?",
        "drafts/proposal.md should be called drafts/plan.md, should I rename it?",
        "anna said drafts/proposal.md should be called drafts/plan.md, please rename it",
        "maybe drafts/proposal.md should be called drafts/plan.md",
        "I don't need you to delete drafts/pitch-old.md, get rid of the idea",
        "i'd like drafts/pitch-old.md deleted if nobody uses it",
        "get drafts/pitch-old.md deleted when you have asked anna",
        "drafts/pitch-old.md is not to be deleted",
        "drafts/pitch-old.md is to be deleted once anna agrees",
        "is drafts/pitch-old.md to be deleted",
        "the removal of drafts/pitch-old.md is not requested",
        "according to anna, drafts/pitch-old.md is not needed any more, delete it",
        "no, delete drafts/pitch-old.md",
        "anna, delete drafts/pitch-old.md",
        "everything is to be deleted",
        "if o-1005 got paid, update the order",
        "order o-1005 has been paid",
        "has order o-1005 been paid",
        "i need a new file notes/hello.txt? it should say 'hello'",
        "i wonder whether notes/hello.txt should say 'hello'",
        "a message reading 'the lamps are here' was posted in the lounge",
        "docs/faq.md is to be copied to notes/faq.md unless it exists",
        "why should 8080 be replaced by 9090 in config/settings.json",
        "ben took over ticket t-004",
    ],
)
def test_an_example_makes_no_change_of_a_sentence_that_the_guards_hold_back(text: str) -> None:
    near = _nearest(text)
    assert near is None or not near.frame.changes


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("Could you let the lounge know 'the lamps are here'?", "say 'the lamps are here' in the lounge"),
        ("Could order o-1005 be given the status paid?", "set the status of order o-1005 to paid"),
        ("drafts/pitch-old.md: erase that file.", "delete drafts/pitch-old.md"),
        ("could you throw out whatever's in tmp that's older than 30 days", "delete files older than 30 days in tmp"),
        ("The file drafts/pitch-old.md is to be deleted.", "delete drafts/pitch-old.md"),
        ("I don't need drafts/pitch-old.md any more, get rid of it please", "delete drafts/pitch-old.md"),
        ("a.md should be called b.md from now on, please rename it", "rename a.md to b.md"),
        ("need a blank file at notes/blank.txt, nothing in it", "create an empty file called notes/blank.txt"),
    ],
)
def test_courtesy_around_a_change_takes_nothing_from_it(text: str, means: str) -> None:
    near = _nearest(text)
    assert near is not None
    assert near.frame.changes
    assert near.means == means


def test_what_is_said_beside_a_request_and_narrows_it_is_not_left_out() -> None:
    near = _nearest("for every access level, tell me how many users do we have")
    assert near is None or near.means != "how many users do we have"


def _plain(frame: Frame) -> list[str]:
    return [one for one in frame.says if "{" not in one]


def test_every_example_without_a_slot_means_what_it_is_an_example_of() -> None:
    """Two lines that claim the same sentence would leave it open for ever."""
    torn = [
        (says, frame.means, near.means if near else None)
        for frame in frames()
        for says in _plain(frame)
        if (near := _found(says, follows=frame.follows)) is not None and near.frame is not frame
    ]
    assert torn == []


def test_no_example_is_near_to_what_must_not_be_acted_on() -> None:
    held = [one for one in asked() if one.unknown or one.nothing]
    near = {
        text: made.means for one in held for text in one.says if (made := _nearest(text)) is not None and made.means
    }
    assert near == {}
