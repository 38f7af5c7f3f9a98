"""Streams of the connection over Streamable HTTP: order, breaks, endless messages and rests."""

from __future__ import annotations

import asyncio

import pytest
from http_line import META, answers, line
from scripted_web import Asked, Reply

from doorward.core.errors import Unreachable
from doorward.core.strictjson import MAX_BYTES
from doorward.upstream.resilience import RateLimit


async def test_messages_of_a_stream_come_in_order_with_the_request_that_they_belong_to() -> None:
    async def server(asked: Asked, reply: Reply) -> None:
        await reply.stream()
        await reply.raw(b"1\r\n:\r\n1\r\n\n\r\n")
        await reply.event({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": 1}})
        await reply.event({"nobody": "reads other events"}, event="other")
        await reply.event({"jsonrpc": "2.0", "id": 7, "result": {"done": True}})
        await reply.end()

    async with line(server) as far:
        message, belongs = await far.ask("tools/call", 7, {"name": "x", **META})
        assert (message["method"], belongs) == ("notifications/progress", 7)
        message, belongs = await far.ears.next()
        assert (message["result"], belongs) == ({"done": True}, 7)
        await far.ask("tools/call", 7, {"name": "x", **META})
    assert far.server.connections == 1


async def test_a_broken_stream_of_the_older_era_is_taken_up_where_it_ended() -> None:
    async def server(asked: Asked, reply: Reply) -> None:
        if asked.method == "GET" and "last-event-id" in asked.headers:
            await reply.stream()
            await reply.event({"jsonrpc": "2.0", "id": 2, "result": {}}, id="e-2")
            await reply.end()
        elif asked.method == "POST" and asked.message["method"] == "tools/call":
            await reply.stream()
            await reply.event(None, id="e-1", retry="0")
            await reply.end()
        else:
            await answers(asked, reply, Mcp_Session_Id="s-1")

    async with line(server) as far:
        await far.greet()
        message, _ = await far.ask("tools/call", 2, {"name": "x"})
        assert message == {"jsonrpc": "2.0", "id": 2, "result": {}}
    (resumed,) = [asked for asked in far.server.asked if "last-event-id" in asked.headers]
    assert (resumed.headers["last-event-id"], resumed.headers["mcp-session-id"]) == ("e-1", "s-1")


@pytest.mark.parametrize("ends", [True, False])
async def test_a_stream_that_ends_without_an_answer_is_an_error_of_that_request_alone(ends: bool) -> None:
    async def server(asked: Asked, reply: Reply) -> None:
        if asked.message["id"] == 1:
            await reply.stream()
            await reply.event(None, id="e-1", retry="0")
            reply.closes = not ends
            if ends:
                await reply.end()
        else:
            await answers(asked, reply)

    async with line(server) as far:
        kind, id, error, again = await far.ask("tools/call", 1, {"name": "x", **META})
        assert (kind, id, again) == ("unanswered", 1, False)
        assert isinstance(error, Unreachable)
        assert (await far.ask("tools/call", 2, {"name": "x", **META}))[0]["id"] == 2


async def test_a_message_that_never_ends_is_cut_off() -> None:
    async def server(asked: Asked, reply: Reply) -> None:
        await reply.stream()
        await reply.raw(b"6\r\ndata: \r\n")
        piece = b"100000\r\n" + b"a" * 0x100000 + b"\r\n"
        while True:
            await reply.raw(piece)

    async with line(server) as far:
        _, _, error, _ = await far.ask("tools/call", 1, {"name": "x", **META})
        assert f"more than {MAX_BYTES} bytes" in error.message
        await far.server.hung_up.wait()


@pytest.mark.parametrize("junk", [b"\n", b":\n", b"event: x\n"])
async def test_lines_that_bring_no_message_cost_their_server_time_and_nobody_else(
    junk: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines, spent, turns = 100_000, [], 0

    def spend(_: RateLimit, size: int, now: float) -> float:
        spent.append(size)
        return 0.0

    async def server(asked: Asked, reply: Reply) -> None:
        await reply.stream()
        await reply.raw(b"%x\r\n%b\r\n" % (lines * len(junk), junk * lines))
        await reply.event()
        await reply.event({"jsonrpc": "2.0", "id": 1, "result": {}})
        await reply.end()

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    monkeypatch.setattr(RateLimit, "spend", spend)
    async with line(server) as far:
        other = asyncio.create_task(others())
        assert (await far.ask("tools/call", 1, {"name": "x", **META}))[1] == 1
        other.cancel()
    assert sum(spent) >= 64 * (lines - 256)
    assert turns >= len(spent) >= lines * len(junk) // 16_384


async def test_a_stream_waits_while_the_session_rests() -> None:
    going_on = asyncio.Event()

    async def server(asked: Asked, reply: Reply) -> None:
        await reply.stream()
        await reply.event({"jsonrpc": "2.0", "method": "notifications/message"})
        await going_on.wait()
        await reply.event({"jsonrpc": "2.0", "id": 1, "result": {}})
        await reply.end()

    async with line(server) as far:
        await far.ask("tools/call", 1, {"name": "x", **META})
        far.connection.rest(3_600)
        going_on.set()
        for _ in range(20):
            await asyncio.sleep(0)
        assert far.ears.heard.empty()
        far.connection.rest(0)
        assert (await far.ears.next())[0]["id"] == 1
