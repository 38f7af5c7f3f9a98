"""A session with a server: whose answer is whose, what is cancelled, and what a server may say unasked."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from scripted import NEW, SECRET, calling, opened, turns

from doorward.core.errors import TimedOut, Unreachable
from doorward.upstream.calls import CallHooks
from doorward.upstream.connection import NotProcessed
from doorward.upstream.session import ServerError
from json_texts import FORBIDDEN


async def test_answers_find_their_callers_in_whatever_order_they_come() -> None:
    session, wire, _ = await opened()
    tasks = [calling(session, name) for name in "abc"]
    await turns()
    for asked in reversed(wire.sent):
        wire.answer(asked, {"content": asked["params"]["name"]})
    assert [(await task)["content"] for task in tasks] == ["a", "b", "c"]
    assert session.faults == 0
    assert session.pending_calls == []


async def test_a_cancelled_caller_lets_the_server_know_and_its_late_answer_is_no_fault() -> None:
    session, wire, _ = await opened()
    task = calling(session)
    await turns()
    asked = wire.sent[0]
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    told = wire.asked("notifications/cancelled")
    assert [one["params"]["requestId"] for one in told] == [asked["id"]]
    assert session.pending_calls == []
    wire.answer(asked, {})
    assert session.faults == 0
    wire.answer(asked, {})
    assert session.faults == 1


async def test_an_answer_that_comes_while_its_caller_is_being_cancelled_is_no_fault() -> None:
    session, wire, _ = await opened()
    task = calling(session)
    await turns()
    task.cancel()
    wire.answer(wire.sent[0], {})
    with pytest.raises(asyncio.CancelledError):
        await task
    assert session.faults == 0


async def test_an_answer_under_another_id_and_a_second_one_are_faults_and_disturb_nobody() -> None:
    session, wire, heard = await opened()
    first, second = calling(session, "a"), calling(session, "b")
    await turns()
    wire.say({"id": 999, "result": {}})
    wire.say({"id": str(wire.sent[1]["id"]), "result": {}})
    wire.answer(wire.sent[0], {"content": "a"})
    wire.answer(wire.sent[0], {"content": "another"})
    assert (await first)["content"] == "a"
    assert not second.done()
    wire.answer(wire.sent[1], {"content": "b"})
    assert (await second)["content"] == "b"
    assert session.faults == 3
    assert len(heard.notes) == 3


async def test_whoever_is_not_answered_in_time_is_told_so_and_others_wait_on() -> None:
    session, wire, _ = await opened()
    slow, patient = calling(session, within=0.02), calling(session)
    with pytest.raises(TimedOut, match=r"The server it did not answer tools/call within 0\.02 seconds\."):
        await slow
    assert [one["params"]["requestId"] for one in wire.asked("notifications/cancelled")] == [wire.sent[0]["id"]]
    wire.answer(wire.sent[1], {"content": []})
    assert await patient == {"content": []}


async def test_a_shorter_deadline_that_comes_later_is_kept_too() -> None:
    session, _, _ = await opened()
    long = calling(session, within=60.0)
    await turns()
    with pytest.raises(TimedOut):
        await calling(session, within=0.01)
    assert not long.done()
    long.cancel()


async def test_when_the_connection_is_lost_each_caller_gets_an_error_of_its_own_without_secrets() -> None:
    session, wire, heard = await opened()
    tasks = [calling(session) for _ in range(3)]
    await turns()
    wire.receiver.lost(Unreachable(f"It ended with {SECRET} on its lips."))
    errors = await asyncio.gather(*tasks, return_exceptions=True)
    assert {str(error) for error in errors} == {"It ended with [redacted] on its lips."}
    assert len({id(error) for error in errors}) == 3
    assert len(heard.ends) == 1
    with pytest.raises(Unreachable, match="It ended"):
        await calling(session)


async def test_an_error_of_the_server_keeps_its_code_and_loses_secrets_and_hidden_characters() -> None:
    session, wire, _ = await opened()
    task = calling(session)
    await turns()
    wire.fail(wire.sent[0], -32602, f"no \u202e {SECRET}", {"a": 1})
    with pytest.raises(ServerError) as caught:
        await task
    assert caught.value.message == (
        "The server it answered tools/call with an error: no \\u202e [redacted] (code -32602)."
    )
    assert (caught.value.number, caught.value.data) == (-32602, {"a": 1})


async def test_only_one_request_fails_when_its_transport_says_so() -> None:
    session, wire, _ = await opened()
    first, second, third = calling(session), calling(session), calling(session)
    await turns()
    wire.receiver.unanswered(wire.sent[0]["id"], Unreachable("gone"))
    wire.receiver.unanswered(wire.sent[1]["id"], Unreachable("nothing was done"), again=True)
    with pytest.raises(Unreachable, match="gone"):
        await first
    with pytest.raises(NotProcessed, match="nothing was done"):
        await second
    wire.answer(wire.sent[2], {})
    assert await third == {}


async def test_progress_reaches_the_call_that_it_belongs_to() -> None:
    session, wire, _ = await opened()
    told: dict[str, list[Any]] = {"a": [], "b": []}
    tasks = [
        calling(
            session, name, CallHooks(progress=lambda fraction, words, name=name: told[name].append((fraction, words)))
        )
        for name in told
    ]
    await turns()
    tokens = [message["params"]["_meta"]["progressToken"] for message in wire.sent]
    for about in (
        {"progressToken": tokens[1], "progress": 1, "total": 4, "message": "one\u200b"},
        {"progressToken": tokens[0], "progress": 7},
        {"progressToken": tokens[0], "progress": 9, "total": 3},
        {"progressToken": "unknown", "progress": 1},
        {"progress": "much"},
    ):
        wire.say({"method": "notifications/progress", "params": about})
    assert told == {"a": [(None, ""), (1.0, "")], "b": [(0.25, "one\\u200b")]}
    for task in tasks:
        task.cancel()


async def test_a_listener_that_breaks_ends_nothing(caplog: pytest.LogCaptureFixture) -> None:
    session, wire, _ = await opened()

    def breaks(fraction: float | None, words: str) -> None:
        raise RuntimeError("no")

    task = calling(session, hooks=CallHooks(progress=breaks))
    await turns()
    token = wire.sent[0]["params"]["_meta"]["progressToken"]
    wire.say({"method": "notifications/progress", "params": {"progressToken": token, "progress": 1}})
    wire.answer(wire.sent[0], {})
    assert await task == {}
    assert "raised an exception" in caplog.text


async def test_a_log_message_reaches_the_only_call_and_with_several_only_the_log() -> None:
    session, wire, heard = await opened()
    lines: list[tuple[str, str]] = []
    hooks = CallHooks(log=lambda level, line: lines.append((level, line)))
    first = calling(session, hooks=hooks)
    await turns()
    wire.say({"method": "notifications/message", "params": {"level": "warning", "data": {"a": 1}}})
    second = calling(session, hooks=hooks)
    await turns()
    wire.say({"method": "notifications/message", "params": {"level": "warning", "data": "whose?"}})
    wire.say({"method": "notifications/message", "params": {"level": "error", "data": "mine"}}, wire.sent[0]["id"])
    assert lines == [("warning", '{"a":1}'), ("error", "mine")]
    assert heard.notes == [("warning", '{"a":1}'), ("warning", "whose?"), ("error", "mine")]
    first.cancel(), second.cancel()


async def test_changes_and_updates_are_told_and_those_of_another_stream_are_not() -> None:
    session, wire, heard = await opened(NEW)
    stream = session.open_subscription({"notifications": {"toolsListChanged": True}}, lambda refused: None)
    tag = "io.modelcontextprotocol/subscriptionId"
    for number in (stream, stream + 50):
        wire.say({"method": "notifications/tools/list_changed", "params": {"_meta": {tag: number}}})
        wire.say({"method": "notifications/resources/updated", "params": {"uri": "a://b", "_meta": {tag: number}}})
    assert heard.changes == ["tools"]
    assert heard.uris == ["a://b"]


async def test_a_stream_of_changes_ends_by_an_answer_a_refusal_or_a_cancellation() -> None:
    session, wire, _ = await opened(NEW)
    ends: list[tuple[str, bool]] = []
    for name in ("answered", "refused", "cancelled", "hushed"):
        session.open_subscription({"notifications": {}}, lambda refused, name=name: ends.append((name, refused)))
    answered, refused, cancelled, hushed = wire.sent
    wire.answer(answered, {})
    wire.fail(refused, -32601, "no")
    wire.say({"method": "notifications/cancelled", "params": {"requestId": cancelled["id"]}})
    session.close_subscription(hushed["id"])
    await turns()
    assert ends == [("answered", False), ("refused", True), ("cancelled", False)]
    assert wire.asked("notifications/cancelled")[0]["params"]["requestId"] == hushed["id"]


async def test_lines_that_are_no_messages_are_faults_and_a_call_goes_on() -> None:
    session, wire, heard = await opened()
    task = calling(session)
    await turns()
    for line in (b"Server is listening", b'{"level":30,"msg":"hello"}', b"[]", b"7", b"\xff\xfe", b"", b"   "):
        wire.receiver.received(line)
    assert session.faults == 5
    assert not task.done()
    assert heard.ends == []
    wire.answer(wire.sent[0], {})
    assert await task == {}


@pytest.mark.parametrize(
    "line",
    [
        '{"jsonrpc":"2.0","id":%d,"result":"fine"}',
        '{"jsonrpc":"2.0","id":%d,"result":{},"error":{"code":1,"message":"both"}}',
        '{"jsonrpc":"1.0","id":%d,"result":{}}',
        '{"jsonrpc":"2.0","id":%d,"result":{"content":[NaN]}}',
        '{"jsonrpc":"2.0","id":%d,"result":{"a":1,"a":2}}',
        '{"jsonrpc":"2.0","id":%d,"result":',
    ],
)
async def test_an_answer_that_is_none_fails_its_call_at_once(line: str) -> None:
    session, wire, _ = await opened()
    task = calling(session)
    await turns()
    wire.receiver.received((line % wire.sent[0]["id"]).encode())
    with pytest.raises(Unreachable, match="answered tools/call with an invalid response"):
        await task


async def test_a_server_that_writes_nothing_but_nonsense_is_given_up() -> None:
    session, wire, heard = await opened()
    task = calling(session)
    await turns()
    for _ in range(1_000):
        wire.receiver.received(b"la la la")
    with pytest.raises(Unreachable, match="writes lines that are not MCP messages: 'la la la'"):
        await task
    assert len(heard.ends) == 1


async def test_a_late_answer_is_blamed_on_nonsense_of_its_own_time_alone() -> None:
    session, wire, _ = await opened()
    wire.receiver.received(b"la la la")
    with pytest.raises(TimedOut) as early:
        await session.request("tools/call", {}, within=0.01)
    task = asyncio.ensure_future(session.request("tools/call", {}, within=0.01))
    await turns()
    wire.receiver.received(b"la la la")
    with pytest.raises(TimedOut) as meanwhile:
        await task
    assert early.value.message.endswith("did not answer tools/call within 0.01 seconds.")
    assert meanwhile.value.message.endswith(
        "; it wrote lines that are not MCP messages instead, the last one 'la la la'."
    )


async def test_who_talks_without_being_asked_is_read_more_slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    _, wire, _ = await opened()
    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: 1_000.0)
    for _ in range(2_500):
        wire.say({"method": "notifications/message", "params": {"level": "info", "data": "la"}})
    assert len(wire.rests) == 2
    assert all(0 < rest <= 2.0 for rest in wire.rests)


async def test_a_large_message_is_read_aside_and_what_comes_after_it_waits_its_turn() -> None:
    session, wire, _ = await opened()
    first, second = calling(session), calling(session)
    await turns()
    text = "x" * 300_000
    order: list[str] = []
    first.add_done_callback(lambda _: order.append("large"))
    second.add_done_callback(lambda _: order.append("small"))
    wire.answer(wire.sent[0], {"content": text})
    wire.answer(wire.sent[1], {"content": "small"})
    assert not second.done()
    assert wire.rests[0] > 0
    assert (await first)["content"] == text
    assert (await second)["content"] == "small"
    await turns()
    assert order == ["large", "small"]
    assert wire.rests[-1] == 0


async def test_a_large_message_that_is_none_fails_the_only_call() -> None:
    session, wire, _ = await opened()
    task = calling(session)
    await turns()
    wire.receiver.received(b'{"jsonrpc":"2.0","id":1,"result":' + b"[" * 200_000)
    with pytest.raises(Unreachable, match="an invalid response"):
        await task


async def test_a_request_that_cannot_be_sent_leaves_nothing_behind() -> None:
    session, wire, _ = await opened()
    wire.deaf = True
    with pytest.raises(Unreachable, match="does not read"):
        await calling(session)
    assert session.pending_calls == []


async def test_closing_tells_whoever_waits_and_nobody_else() -> None:
    session, wire, heard = await opened()
    task = calling(session)
    await turns()
    await session.close()
    with pytest.raises(Unreachable, match="was closed"):
        await task
    assert wire.closed == 1
    assert heard.ends == []
    assert json.dumps(wire.sent).count("tools/call") == 1


async def test_a_text_that_json_forbids_is_no_message_and_no_answer() -> None:
    session, wire, heard = await opened()
    for text in FORBIDDEN:
        wire.receiver.received(text)
        task = calling(session)
        await turns()
        wire.receiver.received(b'{"jsonrpc":"2.0","id":%d,"result":{"a":%b}}' % (wire.sent[-1]["id"], text))
        with pytest.raises(Unreachable, match="with an invalid response"):
            await task
    assert heard.ends == []
