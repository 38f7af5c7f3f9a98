"""The parts of a relay by themselves: lines, the tops of messages, and what is remembered of a session."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorward.doors.mcp.stdio import frames, relay
from doorward.doors.mcp.stdio.frames import LineSplitter
from doorward.doors.mcp.stdio.handshake import Hello
from doorward.doors.mcp.stdio.relay_state import RelayState
from doorward.doors.mcp.stdio.streams import StandardStreams
from waiting import PATIENCE


def frame(method: str = "", id: Any = None, **more: Any) -> bytes:
    whole = {"jsonrpc": "2.0", **({"method": method} if method else {}), **({} if id is None else {"id": id}), **more}
    return json.dumps(whole).encode()


def send(memory: RelayState, *sent: bytes) -> list[bool]:
    return [memory.record_sent(frames.peek(one), one) for one in sent]


def receive(memory: RelayState, *received: bytes) -> list[bool]:
    return [memory.record_received(frames.peek(one)) for one in received]


@given(st.lists(st.binary(max_size=12).filter(lambda line: b"\n" not in line), max_size=8), st.integers(1, 7))
def test_lines_are_the_same_however_the_stream_is_cut(lines: list[bytes], size: int) -> None:
    cutter, stream = LineSplitter(largest=8), b"".join(line + b"\n" for line in lines)
    found = [line for place in range(0, len(stream), size) for line in cutter.feed(stream[place : place + size])]
    assert found == [line if len(line) <= 8 else None for line in lines]
    assert cutter.flush() == []


def test_a_line_without_an_end_is_held_no_further_than_the_limit() -> None:
    cutter = LineSplitter(largest=1_000)
    for _ in range(100):
        assert cutter.feed(b"x" * 999) == []
        assert len(cutter._rest) <= 1_000
    assert cutter.feed(b"\nnext") == [None]
    assert cutter.flush() == [b"next"]


@pytest.mark.parametrize("line", [b"", b"nonsense", b"[]", b"5", b'{"id":{}}', b"\xff", b"[" * 100_000])
def test_the_top_of_what_is_no_message_is_empty(line: bytes) -> None:
    head = frames.peek(line)
    assert (head.method, head.key) == ("", None)


def test_ids_that_only_look_alike_are_different() -> None:
    keys = {frames.peek(frame("ping", id)).key for id in (1, "1", 2, "2")}
    assert len(keys) == 4


@pytest.mark.parametrize("id", [1.5, 1e300, 2**53, "x" * 257])
def test_nobody_waits_for_a_request_that_is_answered_under_no_id(id: Any) -> None:
    memory = RelayState()
    send(memory, frame("ping", id), frame("initialize", id))
    assert not memory.busy
    assert not memory.initialized
    assert memory.take_lost() == ([], [])
    assert not memory.waiting


def test_a_call_is_not_asked_again_and_everything_else_is() -> None:
    memory = RelayState()
    listing, call = frame("tools/list", 1), frame("tools/call", "1")
    send(memory, listing, call, frame("ping", 2))
    receive(memory, frame(id=2, result={}))
    calls, questions = memory.take_lost()
    assert [asked.id for asked in calls] == ["1"]
    assert questions == []
    assert list(memory.waiting) == [listing]
    assert not memory.busy


def test_a_new_house_hears_the_opening_and_the_client_does_not_hear_its_answers() -> None:
    memory = RelayState()
    first, second = frame("initialize", 0, params={}), frame("notifications/initialized")
    level = [frame("logging/setLevel", id, params={"level": "info"}) for id in (1, 2)]
    here, there = (frame("resources/subscribe", id, params={"uri": f"doorward://{id}"}) for id in (3, 4))
    gone = frame("resources/unsubscribe", 5, params={"uri": "doorward://3"})
    send(memory, first, second, *level, here, there, gone)
    assert receive(memory, *(frame(id=id, result={}) for id in range(6))) == [True] * 6
    memory.take_lost()
    assert list(memory.replay_opening()) == [first, second, level[1], there]
    assert receive(memory, frame(id=0, result={}), frame(id=2, result={}), frame(id=4, result={})) == [False] * 3
    assert receive(memory, frame(id=6, result={})) == [True]


def test_an_opening_that_was_not_answered_is_asked_again_only_once() -> None:
    memory = RelayState()
    first = frame("initialize", 0, params={})
    send(memory, first)
    memory.take_lost()
    assert list(memory.replay_opening()) == []
    assert list(memory.waiting) == [first]


def test_an_answer_to_a_house_that_is_gone_reaches_no_other() -> None:
    memory = RelayState()
    receive(memory, frame("elicitation/create", "q1"), frame("elicitation/create", "q2"))
    assert send(memory, frame(id="q1", result={"action": "accept"})) == [True]
    assert memory.take_lost() == ([], ["q2"])
    assert send(memory, frame(id="q2", result={"action": "accept"})) == [False]


def test_a_question_that_was_taken_back_is_not_taken_back_again() -> None:
    memory = RelayState()
    receive(memory, frame("elicitation/create", "q1"), frame("elicitation/create", "q2"))
    receive(memory, frame("notifications/cancelled", params={"requestId": "q1"}))
    assert memory.take_lost() == ([], ["q2"])


def test_a_listening_request_does_not_count_as_work() -> None:
    memory = RelayState()
    send(memory, frame("subscriptions/listen", 1))
    assert not memory.busy
    send(memory, frame("tools/call", 2))
    assert memory.busy


def test_a_call_that_its_client_took_back_is_waited_for_and_told_of_no_more() -> None:
    memory = RelayState()
    send(memory, frame("tools/call", 1), frame("tools/call", "1"), frame("tools/list", 2))
    for id in (1, 2, None, [], 3):
        send(memory, frame("notifications/cancelled", params={"requestId": id}))
    calls, _ = memory.take_lost()
    assert [asked.id for asked in calls] == ["1"]
    assert not memory.waiting


@pytest.mark.parametrize("piped", [True, False])
async def test_what_is_piped_in_is_answered_and_what_a_client_leaves_behind_is_cancelled(
    piped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The house answers only after a client that hangs up would have been given up."""
    monkeypatch.setattr(relay, "_AT_ONCE", PATIENCE if piped else -1.0)
    monkeypatch.setattr(relay, "_LAST_WORDS", 0.01)
    ours, house = socket.socketpair()
    (source, given), (answers, sink) = os.pipe(), os.pipe()
    os.write(given, frame("tools/call", 1) + b"\n")
    os.close(given)

    async def reach(_: Hello) -> socket.socket:
        return ours

    async def slow() -> None:
        reader, writer = await asyncio.open_connection(sock=house)
        asked = [json.loads(await reader.readline())["id"] for _ in range(2)]
        await asyncio.wait([asyncio.ensure_future(reader.read())], timeout=0.05)
        for id in asked:
            writer.write(frame(id=id, result={}) + b"\n")
        writer.close()

    async with asyncio.timeout(PATIENCE):
        answering = asyncio.create_task(slow())
        await relay.Relay(StandardStreams(source, sink), Hello(), reach, asyncio.Event()).run()
        await answering
    said = json.loads(os.read(answers, 65_536))
    assert (said.get("result") == {}, said.get("error", {}).get("code")) == ((True, None) if piped else (False, -32000))
    for descriptor in (source, answers, sink):
        os.close(descriptor)
