"""Server-sent events to clients that are silent, slow or gone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import Example, Family, NoUndo
from doorward.core.errors import NotPermitted
from doorward.doors.rest import event_streams, sse
from doorward.doors.rest.sse import EventStreamResponse, StreamSlots, encode_event
from waiting import PATIENCE

WHO = ("local", "laptop", "human", "")


class Client:
    """An ASGI client that keeps what it is sent; `reads` says whether it takes anything."""

    def __init__(self, reads: bool = True) -> None:
        self.sent: list[dict[str, Any]] = []
        self.left = asyncio.Event()
        self._reads = reads
        self._more = asyncio.Event()

    async def receive(self) -> dict[str, Any]:
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: dict[str, Any]) -> None:
        self.sent.append(message)
        self._more.set()
        if not self._reads and message["type"] == "http.response.body":
            await asyncio.Event().wait()

    async def until(self, words: bytes) -> None:
        while words not in self.body:
            self._more.clear()
            await self._more.wait()

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.sent)


class Source:
    """Yields one event, then waits; remembers whether it was closed."""

    def __init__(self) -> None:
        self.closed = False

    async def __call__(self) -> AsyncGenerator[bytes, None]:
        try:
            yield encode_event("first", {"n": 1}, "7")
            await asyncio.Event().wait()
        finally:
            self.closed = True


def test_an_event_is_one_frame_whatever_its_text() -> None:
    frame = encode_event("output", {"text": "a\n\ndata: b\r\nevent: c"}, "3")
    lines = frame.decode().splitlines()
    assert lines[:2] == ["event: output", "id: 3"]
    assert json.loads(lines[2].removeprefix("data: ")) == {"text": "a\n\ndata: b\r\nevent: c"}
    assert lines[3:] == [""]


async def test_silence_is_filled_with_comments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "KEEP_ALIVE", 0.001)
    client, source = Client(), Source()
    stream = asyncio.ensure_future(
        EventStreamResponse(source, StreamSlots(1, 1), WHO)({"type": "http"}, client.receive, client.send)
    )
    await client.until(b": waiting")
    client.left.set()
    await stream
    assert client.body.startswith(b"event: first\nid: 7\ndata: {")
    assert source.closed


async def test_a_client_that_takes_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "_LONGEST_STALL", 0.001)
    client, source, places = Client(reads=False), Source(), StreamSlots(1, 1)
    await EventStreamResponse(source, places, WHO)({"type": "http"}, client.receive, client.send)
    assert source.closed
    assert places.refusal(WHO) is None


async def test_a_client_that_leaves_at_once_leaves_nothing_behind() -> None:
    client, source, places = Client(), Source(), StreamSlots(1, 1)
    client.left.set()
    await EventStreamResponse(source, places, WHO)({"type": "http"}, client.receive, client.send)
    assert places.refusal(WHO) is None


async def test_a_stream_that_is_refused_in_the_middle_says_so_at_its_end() -> None:
    async def source() -> AsyncGenerator[bytes, None]:
        yield encode_event("first", {})
        raise NotPermitted("Not any more.")

    client = Client()
    await EventStreamResponse(source, StreamSlots(1, 1), WHO)({"type": "http"}, client.receive, client.send)
    assert b"event: error" in client.body
    assert b'"code":"not_permitted","detail":"Not any more."' in client.body
    assert client.sent[-1]["more_body"] is False


async def test_a_defect_in_a_stream_is_told_without_a_traceback(caplog: pytest.LogCaptureFixture) -> None:
    async def source() -> AsyncGenerator[bytes, None]:
        yield encode_event("first", {})
        raise ZeroDivisionError("secret")

    client = Client()
    await EventStreamResponse(source, StreamSlots(1, 1), WHO)({"type": "http"}, client.receive, client.send)
    assert b'"code":"broken"' in client.body
    assert b"secret" not in client.body
    assert "a stream failed with a defect" in caplog.text


async def test_one_more_stream_than_there_may_be_is_refused() -> None:
    places, client = StreamSlots(0, 1), Client()
    await EventStreamResponse(Source(), places, WHO)({"type": "http"}, client.receive, client.send)
    assert client.sent[0]["status"] == 503
    assert (b"retry-after", b"5") in client.sent[0]["headers"]


async def test_a_client_that_reads_events_too_slowly_is_told_to_come_again(rest: Any) -> None:
    person = await rest.person()
    client = Client()
    holds, held = asyncio.Event(), asyncio.Event()
    send = client.send

    async def slow(message: dict[str, Any]) -> None:
        await send(message)
        if b"event: chat" in message.get("body", b""):
            holds.set()
            await held.wait()

    scope = {
        "type": "http",
        "method": "GET",
        "path": "/api/events",
        "raw_path": b"/api/events",
        "query_string": b"only=chat",
        "headers": [
            (b"host", b"127.0.0.1"),
            (b"authorization", person.headers["authorization"].encode()),
        ],
        "client": None,
        "root_path": "",
        "scheme": "http",
    }
    following = asyncio.ensure_future(rest.app(scope, client.receive, slow))
    await client.until(b"event: ready")
    services = rest.driver.house.services
    general = services.rooms.require("local", "general")
    async with asyncio.timeout(PATIENCE):
        await services.messages.post(general, "owner", "human", "the first message")
        await holds.wait()
        for number in range(600):
            await services.messages.post(general, "owner", "human", f"message {number}")
        held.set()
        await following
    assert client.body.count(b"event: chat") <= 502
    assert b"event: end" in client.body
    assert client.sent[-1]["more_body"] is False


async def test_one_caller_cannot_take_all_places() -> None:
    places, first, second, other = StreamSlots(3, 1), Client(), Client(), Client()
    following = asyncio.ensure_future(
        EventStreamResponse(Source(), places, WHO)({"type": "http"}, first.receive, first.send)
    )
    await first.until(b"event: first")
    await EventStreamResponse(Source(), places, WHO)({"type": "http"}, second.receive, second.send)
    other.left.set()
    somebody = ("local", "somebody", "ai", "owner")
    await EventStreamResponse(Source(), places, somebody)({"type": "http"}, other.receive, other.send)
    first.left.set()
    await following
    assert [one.sent[0]["status"] for one in (first, second, other)] == [200, 503, 200]
    assert b"1 for each caller" in second.body
    assert places.refusal(WHO) is None


@pytest.mark.parametrize("silent", [True, False])
async def test_a_revoked_token_reads_no_more_of_what_a_program_writes(
    opened: Any, rest_of: Any, monkeypatch: pytest.MonkeyPatch, silent: bool
) -> None:
    family, going, go_on = Family("slow", category="test"), asyncio.Event(), asyncio.Event()

    @family.command(
        "writer",
        tier=Tier.CODE,
        effects=Effects.WRITE,
        access=Access.READ,
        safety=Safety.SAFE,
        cost=1,
        timeout=60,
        undo=NoUndo("a test"),
        examples=[Example("go", {})],
    )
    async def writer(ctx: Any) -> dict[str, str]:
        """Write before and after."""
        ctx.execution.write("stdout", b"before")
        going.set()
        await go_on.wait()
        ctx.execution.write("stdout", b"AFTERWARDS")
        return {}

    if silent:
        monkeypatch.setattr(event_streams, "_RECHECK", 0.001)
    async with opened(families=[family]) as driver, rest_of(driver) as rest:
        await driver.owner("room/recipe", name="general", recipe="admin")
        made = await driver.owner("token/create", name="bot", rooms=["general"])
        token = made.result["token"]
        work = asyncio.create_task(driver.ask("slow/writer", token=token, params={}))
        await going.wait()
        (execution,) = [one.id for one in driver.house.services.executions if one.call.command.name == "slow/writer"]
        client = Client()
        scope = {
            "type": "http",
            "method": "GET",
            "path": f"/api/executions/{execution}/stream",
            "query_string": b"room=general",
            "headers": [(b"host", b"127.0.0.1"), (b"authorization", f"Bearer {token}".encode())],
            "root_path": "",
            "scheme": "http",
        }
        following = asyncio.ensure_future(rest.app(scope, client.receive, client.send))
        await client.until(b"before")
        await driver.owner("token/revoke", id=made.result["id"])
        if not silent:
            go_on.set()
        await following
        go_on.set()
        await work
        assert b"AFTERWARDS" not in client.body
        assert b'"code":"not_authenticated"' in client.body
        assert client.sent[-1]["more_body"] is False
