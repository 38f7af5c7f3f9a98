"""What becomes of what a person types into `doorward chat`, when something waits for their answer."""

from __future__ import annotations

import contextlib
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from doorward.cli.chat_room import RoomChat
from doorward.cli.chat_transport import RoomEvent
from doorward.core.clock import to_iso
from doorward.core.model import Outcome

LATER, EARLIER = 60.0, -1.0


class House:
    """A way to a room in which approvals wait, each for so many seconds; keeps what is asked of it."""

    def __init__(self, **waiting: float) -> None:
        self._items = [
            {
                "id": id,
                "room": "general",
                "command": "file/write",
                "state": "pending",
                "expiresAt": to_iso(time.time() + seconds),
            }
            for id, seconds in waiting.items()
        ]
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.archived = False

    async def ask(self, command: str, **params: Any) -> Outcome:
        self.asked.append((command, params))
        results: dict[str, Any] = {
            "room/show": {"members": {"owner": "owner"}, "recipe": "casual-chat", "archived": self.archived},
            "room/messages": {"revision": 0, "items": []},
            "approval/list": {"items": self._items[::-1]},  # the newest first
        }
        shown = [one for one in self._items if one["id"] == params.get("id")]
        result = shown[0] if shown else results.get(command, {})
        return Outcome(call="c", command=command, status="done", code="ok", message="", result=result)


class Keys:
    """Lines that a person types at a terminal."""

    people = True

    def __init__(self, *lines: str) -> None:
        self._lines = lines

    def screen(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    async def lines(self) -> AsyncIterator[str]:
        for line in self._lines:
            yield line

    def refresh(self) -> None:
        pass


async def typed(house: House, *lines: str, people: bool = True) -> tuple[str, dict[str, Any]]:
    """What is asked for when somebody types this in a room where these things wait."""
    chat = RoomChat(house, "general", people=people)  # type: ignore[arg-type]
    await chat.begin(0)
    await chat._handle_stream_event(RoomEvent("room-ready", {}, ""))
    await chat.handle_input(Keys(*lines))
    return house.asked[-1]


@pytest.mark.parametrize(("line", "verb"), [("y", "approve"), ("No", "deny")])
async def test_a_person_at_a_terminal_answers_with_one_letter(line: str, verb: str) -> None:
    assert await typed(House(a1=LATER), line) == (f"approval/{verb}", {"id": "a1"})


@pytest.mark.parametrize("house", [House(), House(a1=EARLIER)])
async def test_where_nothing_waits_any_more_a_y_is_said_in_the_room(house: House) -> None:
    assert await typed(house, "y") == ("room/say", {"name": "general", "text": "y"})


async def test_a_letter_does_not_decide_about_a_call_that_took_the_place_of_another(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The letter may have been meant for the one that expired. A second one can mean only what is left."""
    command, _ = await typed(House(old=EARLIER, new=LATER), "y")
    assert command == "approval/show"
    assert "Another approval was waiting until now; choose one: approve new (file/write)." in capsys.readouterr().err
    assert await typed(House(old=EARLIER, new=LATER), "y", "y") == ("approval/approve", {"id": "new"})


async def test_when_several_things_wait_a_letter_decides_none(capsys: pytest.CaptureFixture[str]) -> None:
    command, _ = await typed(House(a1=LATER, a2=LATER), "y")
    assert command == "approval/show"
    assert "approve a1 (file/write), approve a2 (file/write)" in capsys.readouterr().err


async def test_a_y_that_no_person_typed_is_said_in_the_room() -> None:
    assert await typed(House(a1=LATER), "y", people=False) == ("room/say", {"name": "general", "text": "y"})


class Saying(House):
    """A way to a room in which whatever is said ends like this."""

    def __init__(self, status: Any, **result: Any) -> None:
        super().__init__()
        self._said = Outcome(
            call="c", command="room/say", status=status, code="not_permitted", message="No.", result=result
        )

    async def ask(self, command: str, **params: Any) -> Outcome:
        outcome = await super().ask(command, **params)
        return self._said if command == "room/say" else outcome


@pytest.mark.parametrize(("status", "code"), [("refused", 3), ("failed", 1), ("done", 0)])
async def test_what_could_not_be_said_gives_the_exit_code(status: str, code: int) -> None:
    chat = RoomChat(Saying(status), "general", people=False)  # type: ignore[arg-type]
    await chat._handle_line("hello")
    assert chat.code == code


async def test_why_a_word_decided_nothing_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    await typed(Saying("done", note="No approval is pending in this room."), "approve")
    assert "No approval is pending" in capsys.readouterr().err


async def test_what_a_person_saw_is_marked_as_read_once_for_all_of_it() -> None:
    house = House()
    chat = RoomChat(house, "general", people=True)  # type: ignore[arg-type]
    for position in (4, 5):
        message = {"id": f"m{position}", "sender": "anna", "kind": "human", "text": "hi", "at": to_iso(0)}
        await chat._handle_stream_event(RoomEvent("room-message", {**message, "position": position}, ""))
    await chat.leave()
    assert house.asked == [("room/mark", {"name": "general", "position": 5})]


async def test_who_sits_here_is_not_told_that_they_type() -> None:
    chat = RoomChat(House(), "general", people=True)  # type: ignore[arg-type]
    for member in ("owner", "anna"):
        await chat._handle_stream_event(RoomEvent("room-typing", {"member": member}, ""))
    assert chat.status() == "anna is typing"


async def test_of_a_room_that_is_archived_it_is_said_before_anybody_writes(capsys: pytest.CaptureFixture[str]) -> None:
    house = House()
    house.archived = True
    await RoomChat(house, "general", people=True).begin(0)  # type: ignore[arg-type]
    assert "You are in general (recipe casual-chat). It is archived: you can read it" in capsys.readouterr().out
