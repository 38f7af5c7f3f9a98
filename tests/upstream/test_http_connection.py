"""The connection over Streamable HTTP: sessions of the older era, headers of the newer, and streams that break off."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from scripted_web import Answer, Asked, Reply, ScriptedWeb, scripted

from doorward.core.errors import DoorwardError, Unreachable
from doorward.core.strictjson import MAX_BYTES
from doorward.upstream.authorization import FixedToken, LoginRequired
from doorward.upstream.config import ServerConfig
from doorward.upstream.connection import RequestRejected
from doorward.upstream.http_client import HttpClient
from doorward.upstream.outbound import OutboundPolicy
from doorward.upstream.resilience import RateLimit
from doorward.upstream.streamable_http import StreamableHttpConnection
from waiting import PATIENCE

OLD, NEW = "2025-11-25", "2026-07-28"
META = {"_meta": {"io.modelcontextprotocol/protocolVersion": NEW}}


class Ears:
    """Hears what a connection delivers, in order."""

    def __init__(self) -> None:
        self.heard: asyncio.Queue[tuple[Any, ...]] = asyncio.Queue()
        self.notes: list[str] = []

    def received(self, frame: bytes, answering: int | None = None) -> None:
        self.heard.put_nowait((json.loads(frame), answering))

    def unanswered(self, id: int, error: DoorwardError, *, again: bool = False) -> None:
        self.heard.put_nowait(("unanswered", id, error, again))

    def lost(self, error: DoorwardError, *, again: bool = False) -> None:
        self.heard.put_nowait(("lost", error, again))

    def noted(self, line: str) -> None:
        self.notes.append(line)

    async def next(self) -> Any:
        async with asyncio.timeout(PATIENCE):
            return await self.heard.get()


class Line:
    """A connection to a scripted server, and what came of it."""

    def __init__(self, server: ScriptedWeb, connection: StreamableHttpConnection, ears: Ears) -> None:
        self.server = server
        self.connection = connection
        self.ears = ears

    def send(self, method: str, id: int | None = None, params: Mapping[str, Any] | None = None) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params or {}}
        frame = json.dumps({**message, "id": id} if id is not None else message).encode()
        self.connection.send(frame, id=id, method=method, params=params)

    async def ask(self, method: str, id: int, params: Mapping[str, Any] | None = None) -> Any:
        self.send(method, id, params)
        return await self.ears.next()

    async def greet(self) -> None:
        """The handshake of the older era."""
        await self.ask("initialize", 1)
        self.connection.agreed(OLD)
        self.send("notifications/initialized")


@asynccontextmanager
async def line(answer: Answer, **config: Any) -> AsyncIterator[Line]:
    async with scripted(answer) as server:
        entry = ServerConfig(id="far", name="far", transport="http", url=f"{server.root}/mcp", **config)
        ears = Ears()
        connection = StreamableHttpConnection(entry, ears, HttpClient(OutboundPolicy(), entry.url), FixedToken("far"))
        try:
            yield Line(server, connection, ears)
        finally:
            await connection.close()


async def answers(asked: Asked, reply: Reply, **headers: str) -> None:
    """A server that has no stream of its own, and answers every request."""
    if asked.method == "POST" and "id" in asked.message:
        await reply.whole(200, {"jsonrpc": "2.0", "id": asked.message["id"], "result": {}}, **headers)
    else:
        await reply.whole(202 if asked.method == "POST" else 405)


async def test_a_session_is_named_in_every_later_request_and_ended_at_the_end() -> None:
    async def server(asked: Asked, reply: Reply) -> None:
        await answers(asked, reply, Mcp_Session_Id="s-1")

    async with line(server, headers={"X-Api-Key": "k"}) as far:
        await far.greet()
        await far.ask("tools/list", 2)
    first, *rest = far.server.asked
    assert first.message["method"] == "initialize"
    assert not {"mcp-session-id", "mcp-protocol-version", "mcp-method"} & set(first.headers)
    assert first.headers["accept"] == "application/json, text/event-stream"
    assert {asked.method for asked in rest} == {"POST", "GET", "DELETE"}
    for asked in rest:
        assert asked.headers["mcp-session-id"] == "s-1"
        assert asked.headers["mcp-protocol-version"] == OLD
    assert far.server.asked[-1].method == "DELETE"
    assert {asked.headers["x-api-key"] for asked in far.server.asked} == {"k"}


async def test_no_request_overtakes_the_end_of_the_handshake() -> None:
    order: list[str] = []

    async def server(asked: Asked, reply: Reply) -> None:
        if asked.method == "POST":
            order.append(f"{asked.message['method']} begins")
            await asyncio.sleep(0)
            order.append(f"{asked.message['method']} ends")
        await answers(asked, reply)

    async with line(server) as far:
        await far.greet()
        await far.ask("tools/list", 2)
    assert order.index("notifications/initialized ends") < order.index("tools/list begins")


async def test_a_session_that_the_server_forgot_means_that_a_new_connection_is_worth_trying() -> None:
    async def server(asked: Asked, reply: Reply) -> None:
        if asked.method == "POST" and asked.message["method"] == "tools/call":
            await reply.whole(404, {"jsonrpc": "2.0", "id": None, "error": {"code": -32001, "message": "no session"}})
        else:
            await answers(asked, reply, Mcp_Session_Id="s-1")

    async with line(server) as far:
        await far.greet()
        kind, id, error, again = await far.ask("tools/call", 2, {"name": "x"})
        assert (kind, id, again) == ("unanswered", 2, True)
        assert isinstance(error, Unreachable)
        assert (await far.ears.next())[::2] == ("lost", True)
    assert "DELETE" not in {asked.method for asked in far.server.asked}, "what is forgotten need not be ended"


async def test_the_newer_era_says_in_headers_what_the_request_says_and_keeps_no_session() -> None:
    async def server(asked: Asked, reply: Reply) -> None:
        await answers(asked, reply, Mcp_Session_Id="ignored")

    async with line(server) as far:
        far.connection.agreed(NEW)
        tools, problems = far.connection.admit(
            [
                {"name": "good", "inputSchema": {"properties": {"a": {"properties": {"b": _marked("B")}}}}},
                {"name": "plain", "inputSchema": {}},
                {"name": "bad", "inputSchema": {"properties": {"a": _marked("no spaces")}}},
                {"name": "hidden", "inputSchema": {"anyOf": [{"properties": {"a": _marked("A")}}]}},
            ]
        )
        assert [tool["name"] for tool in tools] == ["good", "plain"]
        assert [problem.split("'")[1] for problem in problems] == ["bad", "hidden"]
        await far.ask("tools/call", 1, {"name": "good", "arguments": {"a": {"b": "é\n"}}, **META})
        await far.ask("resources/read", 2, {"uri": "file:///ö", **META})
        await far.ask("tools/call", 3, {"name": "good", "arguments": {}, **META})
    call, read, without = far.server.asked
    assert call.headers["mcp-protocol-version"] == NEW
    assert call.headers["mcp-method"] == "tools/call"
    assert call.headers["mcp-name"] == "good"
    assert call.headers["mcp-param-b"] == "=?base64?w6kK?="
    assert read.headers["mcp-name"] == "=?base64?ZmlsZTovLy/Dtg==?="
    assert "mcp-param-b" not in without.headers
    assert not any("mcp-session-id" in asked.headers for asked in far.server.asked)


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


async def test_a_dropped_request_of_the_newer_era_is_cancelled_by_hanging_up() -> None:
    begun = asyncio.Event()

    async def server(asked: Asked, reply: Reply) -> None:
        await reply.stream()
        begun.set()
        await asyncio.Event().wait()

    async with line(server) as far:
        far.send("tools/call", 1, {"name": "x", **META})
        await begun.wait()
        far.connection.drop(1, b'{"jsonrpc":"2.0","method":"notifications/cancelled"}')
        async with asyncio.timeout(PATIENCE):
            await far.server.hung_up.wait()
        assert far.ears.heard.empty()
    assert len(far.server.asked) == 1, "nothing but the end of the stream says that it is over"


async def test_a_dropped_request_of_the_older_era_is_cancelled_by_a_message() -> None:
    begun, told = asyncio.Event(), asyncio.Event()

    async def server(asked: Asked, reply: Reply) -> None:
        if asked.method == "POST" and asked.message["method"] == "tools/call":
            begun.set()
            await asyncio.Event().wait()
        if asked.method == "POST" and asked.message["method"] == "notifications/cancelled":
            told.set()
        await answers(asked, reply)

    async with line(server) as far:
        await far.greet()
        far.send("tools/call", 2, {"name": "x"})
        await begun.wait()
        far.connection.drop(2, b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}')
        async with asyncio.timeout(PATIENCE):
            await told.wait()


async def test_an_error_of_the_protocol_in_a_refusal_is_the_answer() -> None:
    errors: dict[int, dict[str, Any]] = {
        1: {"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "no such method"}},
        2: {"jsonrpc": "2.0", "id": None, "error": {"code": -32022, "message": "no", "data": {"supported": [NEW]}}},
    }

    async def server(asked: Asked, reply: Reply) -> None:
        await reply.whole(404 if asked.message["id"] == 1 else 400, errors[asked.message["id"]])

    async with line(server) as far:
        assert await far.ask("what", 1, META) == (errors[1], 1)
        assert await far.ask("what", 2, META) == ({**errors[2], "id": 2}, 2)


@pytest.mark.parametrize(
    ("status", "headers", "kind", "after"),
    [
        (400, {}, RequestRejected, None),
        (404, {}, RequestRejected, None),
        (405, {}, RequestRejected, None),
        (202, {}, RequestRejected, None),
        (200, {"Content_Type": "text/html"}, RequestRejected, None),
        (503, {"Retry_After": "7"}, Unreachable, 7.0),
        (429, {"Retry_After": "soon"}, Unreachable, None),
        (500, {}, Unreachable, None),
    ],
)
async def test_a_refusal_without_a_message_is_one_error_for_its_request(
    status: int, headers: dict[str, str], kind: type[DoorwardError], after: float | None
) -> None:
    async def server(asked: Asked, reply: Reply) -> None:
        await reply.whole(status, b"<p>who are you", **headers)

    async with line(server) as far:
        told, id, error, _ = await far.ask("server/discover", 1, META)
    assert (told, id, type(error), error.retry_after) == ("unanswered", 1, kind, after)
    assert str(status) in error.message
    assert (status == 404) is ("answered 404 to /mcp," in error.message), "a wrong path is what one looks for then"
    assert (status == 202) is ("answered 202, without a type, without" in error.message)
    assert "who are you" not in error.message, "what a stranger writes is for the log of the server alone"


async def test_a_token_that_is_refused_is_said_without_showing_it() -> None:
    async def server(asked: Asked, reply: Reply) -> None:
        await reply.whole(401, WWW_Authenticate='Bearer error="invalid_token"')

    async with scripted(server) as web:
        entry = ServerConfig(id="far", name="far", transport="http", url=web.root)
        ears = Ears()
        connection = StreamableHttpConnection(
            entry, ears, HttpClient(OutboundPolicy(), entry.url), FixedToken("far", "s3cret-token")
        )
        connection.send(b"{}", id=1, method="ping", params=META)
        _, _, error, _ = await ears.next()
        await connection.close()
    assert isinstance(error, LoginRequired)
    assert "s3cret-token" not in error.message + error.hint
    assert web.asked[0].headers["authorization"] == "Bearer s3cret-token"
    assert len(web.asked) == 1


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


async def test_closing_leaves_nothing_behind_and_nothing_is_sent_any_more() -> None:
    begun = asyncio.Event()

    async def server(asked: Asked, reply: Reply) -> None:
        begun.set()
        await asyncio.Event().wait()

    async with line(server) as far:
        far.send("tools/call", 1, {"name": "x", **META})
        await begun.wait()
        await far.connection.close()
        await far.connection.close()
        await far.server.hung_up.wait()
        with pytest.raises(Unreachable, match="has ended"):
            far.send("tools/call", 2, META)
        assert far.ears.heard.empty()


def _marked(name: str) -> dict[str, str]:
    return {"type": "string", "x-mcp-header": name}
