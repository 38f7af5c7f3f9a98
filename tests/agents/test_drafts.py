"""An answer shown while it is written."""

from __future__ import annotations

from typing import Any

import pytest

from doorward.agents import drafts
from doorward.agents.drafts import RoomDraft
from doorward.rooms.feed import DraftUpdated, RoomNotice


def shown(driver: Any, monkeypatch: pytest.MonkeyPatch, *so_far: str) -> list[str]:
    """What the room sees of an answer that grows."""
    monkeypatch.setattr(drafts, "_DRAFT_INTERVAL", -1.0)
    notices: list[RoomNotice] = []
    services = driver.house.services
    services.live.follow("local", "general", notices.append)
    drafting = RoomDraft(services.live, services.rooms.require("local", "general"), "guide")
    for text in so_far:
        drafting.update(lambda text=text: text)  # type: ignore[misc]
    return [one.text for one in notices if isinstance(one, DraftUpdated)]


async def test_words_are_shown_as_they_come_and_calls_are_not(driver: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = "I look.\nThen I say.\nEXECUTE: data/list --collection=rooms\nMore."
    seen = shown(driver, monkeypatch, *(whole[:end] for end in range(1, len(whole) + 1)))
    assert seen[-1] == "I look.\nThen I say.\n"
    assert "I look.\nThen" in seen


async def test_an_answer_of_empty_lines_is_followed(driver: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The more there is, the longer each look would take, were every empty line a beginning to look from."""
    empty = "I think.\n" + "\n" * 19_000
    seen = shown(driver, monkeypatch, *(empty + "x" * more for more in range(100)), empty + "\n" * 200_000)
    assert len(seen) == 101
