"""What goes on in a room is told in order, to those who follow it, and forgotten when it is over (R5.4)."""

from __future__ import annotations

import pytest

from doorward.rooms.feed import DraftUpdated, Presence, PresenceChanged, RoomFeed, ThinkingChanged, TypingIndicator
from doorward.rooms.rooms import Room

LAB = Room("local", "lab", "lab", "support")


@pytest.fixture
def live(clock):
    return RoomFeed(clock)


def test_followers_hear_of_their_room_only_and_until_they_leave(live):
    mine, others, rivals = [], [], []
    leave = live.follow("local", "lab", mine.append)
    live.follow("local", "den", others.append)
    live.follow("rival", "lab", rivals.append)
    live.publish_thinking(LAB, "guide", "thinking")
    leave()
    leave()
    live.publish_thinking(LAB, "guide", "idle")
    assert (mine, others, rivals) == ([ThinkingChanged("guide", "thinking")], [], [])


def test_a_follower_that_breaks_harms_nobody_else(live, caplog):
    heard = []
    live.follow("local", "lab", lambda notice: 1 / 0)
    live.follow("local", "lab", heard.append)
    live.publish_typing(LAB, "anna")
    assert heard == [TypingIndicator("anna")]
    assert "a follower of a room failed" in caplog.text


def test_typing_is_told_once_a_second(live, clock):
    heard = []
    live.follow("local", "lab", heard.append)
    for seconds in (0, 0.5, 0.6):
        clock.advance(seconds)
        live.publish_typing(LAB, "anna")
        live.publish_typing(LAB, "ben")
    assert heard == [TypingIndicator("anna"), TypingIndicator("ben"), TypingIndicator("anna"), TypingIndicator("ben")]


def test_who_comes_in_the_middle_is_told_what_lasts(live):
    live.publish_thinking(LAB, "guide", "waiting")
    live.publish_draft(LAB, "d1", "guide", "The pump")
    live.publish_draft(LAB, "d1", "guide", "The pump is")
    assert live.current("local", "lab") == [
        ThinkingChanged("guide", "waiting"),
        DraftUpdated("d1", "guide", "The pump is", False),
    ]
    live.publish_draft(LAB, "d1", "guide", "The pump is fine.", done=True)
    live.publish_thinking(LAB, "guide", "idle")
    assert live.current("local", "lab") == []


def test_a_member_is_here_until_the_last_of_their_pages_is_closed(live):
    presence, heard = Presence(live), []
    live.follow("local", "lab", heard.append)
    page, phone = presence.enter("local", "lab", "anna"), presence.enter("local", "lab", "anna")
    page()
    page()
    assert (presence.present_members("local", "lab"), presence.present_members("rival", "lab")) == ({"anna"}, set())
    phone()
    assert presence.present_members("local", "lab") == set()
    assert heard == [PresenceChanged("anna", True), PresenceChanged("anna", False)]
