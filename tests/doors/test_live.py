"""An answer that goes on while the work does, at the level of the protocol."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from doorward.core.model import Outcome
from doorward.doors.http.call_stream import CallStreamResponse, NoticeBuffer, run_while_connected
from doorward.gate.executions.notices import OutputNotice, ProgressNotice, StartedNotice

DONE = Outcome(status="done", code="ok", message="", call="c1", command="x/y")


class Client:
    """The other end of one answer; it hangs up when told to."""

    def __init__(self) -> None:
        self.left = asyncio.Event()
        self.sent: list[Any] = []

    async def receive(self) -> dict[str, Any]:
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        self.sent.append(message)

    @property
    def lines(self) -> list[Any]:
        body = b"".join(message.get("body", b"") for message in self.sent)
        return [json.loads(line) for line in body.splitlines()]


async def answered(work: Callable[..., Any]) -> Client:
    client = Client()
    await CallStreamResponse(work)({"type": "http"}, client.receive, client.send)
    return client


async def test_notices_come_before_the_outcome():
    async def work(watch):
        watch(StartedNotice("c1", "x/y"))
        watch(ProgressNotice(0.5, "half"))
        return DONE

    client = await answered(work)
    assert [line["type"] for line in client.lines] == ["started", "progress", "outcome"]
    assert client.sent[-1]["more_body"] is False


async def test_a_defect_ends_in_a_sentence_and_not_in_silence(caplog):
    async def work(watch):
        raise ZeroDivisionError("inner details")

    client = await answered(work)
    assert [line["type"] for line in client.lines] == ["error"]
    assert client.lines[0]["error"]["code"] == "broken"
    assert "inner details" not in json.dumps(client.lines)
    assert "inner details" in caplog.text


async def test_a_client_that_hangs_up_cancels_the_work():
    ended = asyncio.Event()
    begun = asyncio.Event()

    async def work(watch):
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    client = Client()
    answer = asyncio.create_task(CallStreamResponse(work)({"type": "http"}, client.receive, client.send))
    await begun.wait()
    client.left.set()
    await answer
    assert ended.is_set()
    assert client.lines == []


async def test_work_without_notices_is_cancelled_just_the_same():
    client = Client()
    client.left.set()
    assert await run_while_connected(client.receive, asyncio.Event().wait()) is None


async def test_an_answer_that_is_itself_cancelled_cancels_the_work():
    ended = asyncio.Event()
    begun = asyncio.Event()

    async def work():
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    answer = asyncio.create_task(run_while_connected(Client().receive, work()))
    await begun.wait()
    answer.cancel()
    with pytest.raises(asyncio.CancelledError):
        await answer
    await ended.wait()


async def test_what_nobody_takes_grows_together_and_keeps_its_order():
    feed = NoticeBuffer()
    for notice in (
        OutputNotice("stdout", "a"),
        OutputNotice("stdout", "b"),
        OutputNotice("stderr", "c"),
        ProgressNotice(0.1),
        ProgressNotice(0.2),
        OutputNotice("stdout", "d"),
    ):
        feed.put(notice)
    feed.close()
    lines = [json.loads(line) for line in (await feed.take()).splitlines()]
    assert lines == [
        {"type": "output", "stream": "stdout", "text": "ab"},
        {"type": "output", "stream": "stderr", "text": "c"},
        {"type": "progress", "fraction": 0.2, "message": ""},
        {"type": "output", "stream": "stdout", "text": "d"},
    ]
    assert await feed.take() == b""
