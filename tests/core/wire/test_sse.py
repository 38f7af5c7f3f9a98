"""Server-sent events are parsed as the HTML standard says, within limits."""

from __future__ import annotations

import pytest

from doorward.core.wire.sse import HEARTBEAT, EventTooLarge, SseEvent, SseParser


def test_an_event_has_the_name_message_and_the_newest_id_of_the_stream() -> None:
    parser = SseParser(100)
    found = list(parser.feed(b"\xef\xbb\xbfid: 7\ndata: a\n\nid: 0\0\ndata: b\n\nevent: end\ndata\n\n"))
    assert found == [SseEvent("message", b"a", "7"), SseEvent("message", b"b", "7"), SseEvent("end", b"", "7")]


def test_an_event_without_data_is_none_and_leaves_its_id_behind() -> None:
    parser = SseParser(100)
    assert list(parser.feed(b"event: end\nid: 8\n\n")) == []
    assert parser.last_id == "8"


def test_data_is_kept_as_bytes() -> None:
    assert list(SseParser(100).feed(b"data: \xff\n\n")) == [SseEvent("message", b"\xff")]


@pytest.mark.parametrize(("retry", "seconds"), [(b"1500", 1.5), (b"999999", 60.0), (b"soon", None)])
def test_a_server_says_when_to_reconnect(retry: bytes, seconds: float | None) -> None:
    parser = SseParser(100)
    assert list(parser.feed(b"retry: " + retry + b"\n\n")) == []
    assert parser.retry_seconds == seconds


def test_the_caller_counts_lines_since_the_events_that_matter_to_it() -> None:
    parser = SseParser(100)
    for event in parser.feed(b":\n:\ndata: a\n\n:\n\n"):
        if event != HEARTBEAT:
            assert parser.idle_lines == 4
            parser.idle_lines = 0
    assert parser.idle_lines == 2


@pytest.mark.parametrize("text", [b"data: " + b"x" * 95, b"data: xxxxxxxxx\n" * 11, b"event: " + b"x" * 95])
def test_an_event_has_a_limit(text: bytes) -> None:
    with pytest.raises(EventTooLarge, match="larger than 100 bytes"):
        list(SseParser(100).feed(text))
