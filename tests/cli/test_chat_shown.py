"""How a room looks in a terminal, told from what its stream says."""

from __future__ import annotations

from typing import Any

import click
import pytest

from doorward.cli import chat_view
from doorward.cli.chat_view import RoomView
from doorward.cli.text_wrap import display_width


def told(**changes: Any) -> dict[str, Any]:
    return {
        "id": "m1",
        "room": "general",
        "sender": "anna",
        "kind": "human",
        "text": "hi",
        "at": "2026-11-16T12:00:00Z",
        **changes,
    }


def card(state: str, **changes: Any) -> dict[str, Any]:
    return {"type": "call", "command": "data/list", "params": {"collection": "rooms"}, "state": state, **changes}


def plain(lines: list[str]) -> str:
    return click.unstyle("\n".join(lines))


def test_a_message_stands_beside_its_sender_and_later_lines_below() -> None:
    shown = plain(RoomView().format_message(told(text="one\ntwo")))
    assert shown.endswith("anna: one\n      two")


def test_whose_keeper_speaks_stands_beside_its_name_and_a_personas_asker_does_not() -> None:
    shown = RoomView()
    assert plain(shown.format_message(told(sender="keeper", kind="ai", onBehalfOf="anna"))).endswith(
        "keeper for anna: hi"
    )
    assert plain(shown.format_message(told(id="m2", sender="guide", kind="ai", onBehalfOf="anna"))).endswith(
        " guide: hi"
    )


def test_the_same_message_again_shows_nothing() -> None:
    shown = RoomView()
    assert shown.format_message(told())
    assert shown.format_message(told()) == []


def test_a_change_is_told_as_one() -> None:
    shown = RoomView()
    shown.format_message(told())
    assert "anna: hello" in plain(shown.format_message(told(text="hello")))
    assert "(deleted: hello)" in plain(shown.format_message(told(text="", deletedAt="2026-11-16T12:00:01Z")))


def test_a_call_gets_one_line_for_each_step_and_its_result_at_the_end() -> None:
    shown = RoomView()
    first = plain(shown.format_message(told(text="", attachments=[card("running")])))
    assert first == '      > data/list {"collection":"rooms"}: running'
    assert shown.format_message(told(text="", attachments=[card("running")])) == []
    last = plain(
        shown.format_message(told(text="", attachments=[card("done", code="ok", summary="Found 1\nitem", seconds=2)]))
    )
    assert last.splitlines() == [
        '      > data/list {"collection":"rooms"}: done in 2.0 s',
        "        Found 1",
        "        item",
    ]


def test_a_file_is_named_once() -> None:
    shown = RoomView()
    file = {"type": "file", "id": "f", "name": "a.png", "mediaType": "image/png", "size": 1234}
    assert "[a.png, image/png, 1,234 bytes]" in plain(shown.format_message(told(attachments=[file])))
    assert shown.format_message(told(attachments=[file])) == []


@pytest.mark.parametrize("where", ["sender", "text"])
def test_nothing_that_somebody_says_moves_the_cursor_or_hides(where: str) -> None:
    trick = "\x1b[2J\x1b[2m(\u202eevil"
    shown = "\n".join(RoomView().format_message(told(**{where: trick})))
    assert "\\u001b[2J\\u001b[2m(\\u202eevil" in shown
    assert "\u202e" not in shown


def test_what_waits_for_a_person_is_shown_exactly_with_the_difference() -> None:
    facts = {"id": "a1", "command": "file/write", "caller": "ward", "shown": "file/write x\x07", "difference": "+new"}
    text = plain(chat_view.format_approval(facts, people=True, left=29.7))
    assert "file/write from ward is waiting for your approval." in text
    assert "  file/write x\\u0007" in text
    assert "It would change:\n  +new" in text
    assert "It expires in 30 s. (a1)" in text


def test_that_somebody_decided_is_one_line() -> None:
    assert plain(chat_view.format_decision("file/write", "approved", "anna")) == "anna approved: file/write."
    assert plain(chat_view.format_decision("file/write", "denied", "anna")) == "anna denied: file/write."
    assert plain(chat_view.format_decision("x", "pending", "anna")) == "anna approved, more approvals needed: x."


@pytest.mark.parametrize("columns", [80, 40])
def test_long_lines_are_broken_between_words_and_go_on_below(columns: int) -> None:
    words = " ".join(["some words of a longer story"] * 12)
    shown = RoomView(lambda: columns)
    attached = [card("done", summary=words, seconds=1)]
    lines = plain(shown.format_message(told(text=f"{words}\n    {words}", attachments=attached))).splitlines()
    assert max(map(len, lines)) <= columns
    assert all(line.startswith("      ") for line in lines[1:])
    assert set(" ".join(lines[1:]).split()) <= {
        *words.split(),
        ">",
        "data/list",
        '{"collection":"rooms"}:',
        "done",
        "in",
        "1.0",
        "s",
    }


def test_a_word_without_an_end_and_wide_characters_fit_too() -> None:
    lines = plain(RoomView(lambda: 40).format_message(told(text="x" * 100 + " " + "字" * 50))).splitlines()
    assert "".join(line.strip() for line in lines).count("x") == 100
    assert "".join(lines).count("字") == 50
    assert all(display_width(line) <= 40 for line in lines)


def test_a_call_that_goes_on_after_a_person_agreed_does_not_say_that_it_needs_one() -> None:
    assert plain(
        RoomView().format_message(told(text="", attachments=[card("running", code="approval_needed")]))
    ).endswith(": running")
