"""The newest events: numbered, bounded, and honest about what is not kept any more."""

from __future__ import annotations

import pytest

from doorward.core.event_buffer import EventBuffer
from doorward.core.events import Bus, RecipeLoaded


def filled(count: int, most: int = 5) -> tuple[Bus, EventBuffer]:
    bus = Bus()
    recent = EventBuffer(bus, most)
    for number in range(1, count + 1):
        bus.publish(RecipeLoaded(tenant="", at=0.0, recipe=str(number)))
    return bus, recent


def names(recent: EventBuffer, after: int) -> tuple[list[str], bool]:
    found, whole = recent.events_after(recent.id(after))
    return [one.event.recipe for one in found], whole  # type: ignore[attr-defined]


def test_what_came_behind_a_place_is_told_as_long_as_it_is_kept() -> None:
    _, recent = filled(8)
    assert names(recent, 8) == ([], True)
    assert names(recent, 6) == (["7", "8"], True)
    assert names(recent, 3) == (["4", "5", "6", "7", "8"], True)
    assert names(recent, 2) == (["4", "5", "6", "7", "8"], False)


def test_nothing_is_missed_where_nothing_happened() -> None:
    _, recent = filled(0)
    assert names(recent, 0) == ([], True)
    assert recent.newest(3) == []


@pytest.mark.parametrize("id", ["", "x", "x-1", "-1", "١", "9" * 40])
def test_a_place_of_another_process_or_none_at_all_is_said_to_be_missed(id: str) -> None:
    _, recent = filled(2)
    found, whole = recent.events_after(id)
    assert (len(found), whole) == (2, False)
    assert recent.events_after(recent.id(3))[1] is False
    assert recent.events_after(recent.id(2).replace("2", "٢"))[1] is False


def test_the_newest_come_oldest_first_and_never_more_than_asked_for() -> None:
    _, recent = filled(8)
    assert [one.number for one in recent.newest(2)] == [7, 8]
    assert [one.number for one in recent.newest(100)] == [4, 5, 6, 7, 8]
    assert recent.newest(0) == []


def test_whoever_follows_is_told_until_they_leave() -> None:
    bus, recent = filled(1)
    told: list[int] = []
    leave = recent.follow(lambda one: told.append(one.number))
    bus.publish(RecipeLoaded(tenant="", at=0.0, recipe="x"))
    leave()
    bus.publish(RecipeLoaded(tenant="", at=0.0, recipe="y"))
    assert told == [2]
