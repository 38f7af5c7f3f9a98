"""The connection over Streamable HTTP: sessions of the older era, headers of the newer, refusals and the end."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from http_line import META, NEW, OLD, Ears, answers, line
from scripted_web import Asked, Reply, scripted

from doorward.core.errors import DoorwardError, Unreachable
from doorward.upstream.authorization import FixedToken, LoginRequired
from doorward.upstream.config import ServerConfig
from doorward.upstream.connection import RequestRejected
from doorward.upstream.http_client import HttpClient
from doorward.upstream.outbound import OutboundPolicy
from doorward.upstream.streamable_http import StreamableHttpConnection
from waiting import PATIENCE


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
