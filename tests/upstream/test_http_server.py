"""A server over HTTP as the house knows it: what its misbehaviour costs, and whom."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from scripted_web import Answer, Asked, Reply, ScriptedWeb, scripted

from doorward.core.clock import Clock
from doorward.core.errors import TimedOut, Unreachable
from doorward.upstream.config import ServerConfig
from doorward.upstream.http_connector import HttpConnector
from doorward.upstream.outbound import OutboundPolicy
from doorward.upstream.server import ServerClient
from waiting import PATIENCE

TOOLS = {"tools": [{"name": "knock", "inputSchema": {"type": "object"}}]}
OLD: dict[str, Any] = {
    "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "old"}},
    "tools/list": TOOLS,
    "tools/call": {"content": [{"type": "text", "text": "Come in."}]},
}
NEW: dict[str, Any] = {
    "server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "resultType": "complete"},
    "tools/list": {**TOOLS, "resultType": "complete"},
    "tools/call": {**OLD["tools/call"], "resultType": "complete"},
}


async def answered(asked: Asked, reply: Reply, results: dict[str, Any], **headers: str) -> None:
    if asked.method != "POST":
        await reply.whole(405)
    elif "id" not in asked.message:
        await reply.whole(202)
    elif asked.message["method"] in results:
        message = {"jsonrpc": "2.0", "id": asked.message["id"], "result": results[asked.message["method"]]}
        await reply.whole(200, message, **headers)
    else:
        await reply.whole(400, b"no idea")


@asynccontextmanager
async def connected(answer: Answer, home: Path) -> AsyncIterator[tuple[ServerClient, ScriptedWeb]]:
    """A server that is ready, or has said why it is not."""
    async with scripted(answer) as web:
        changed = asyncio.Event()
        remote = HttpConnector(home=home, outbound=OutboundPolicy(), clock=Clock())
        entry = ServerConfig(id="far", name="far", transport="http", url=f"{web.root}/mcp")
        server = ServerClient(entry, remote.connect, Clock(), lambda _: changed.set())
        server.start()
        try:
            async with asyncio.timeout(PATIENCE):
                while server.state == "starting":
                    changed.clear()
                    await changed.wait()
            yield server, web
        finally:
            await server.stop()


async def test_a_redirect_to_a_private_address_costs_a_clear_problem_and_nothing_arrives_there(tmp_path: Path) -> None:
    async def never(asked: Asked, reply: Reply) -> None:
        raise AssertionError(asked)

    async with scripted(never) as inner:

        async def redirects(asked: Asked, reply: Reply) -> None:
            await reply.whole(307, Location=f"http://[::ffff:127.0.0.1]:{inner.port}/mcp")

        async with connected(redirects, tmp_path) as (server, _):
            assert server.state == "waiting"
            assert "::ffff:127.0.0.1" in server.problem
            assert "private_addresses" in server.problem
            with pytest.raises(Unreachable, match="::ffff:127"):
                await server.call("knock", {}, None, 5)
    assert inner.connections == 0


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (404, b"gone"),
        (400, b'{"jsonrpc":"2.0","error":{"code":-32000,"message":"No valid session ID provided"},"id":null}'),
        (404, b'{"jsonrpc":"2.0","error":{"code":-32001,"message":"Session not found"},"id":%d}'),
    ],
)
async def test_a_session_that_was_forgotten_is_begun_anew_and_the_call_is_answered(
    tmp_path: Path, status: int, body: bytes
) -> None:
    sessions = ["s-1", "s-2"]

    async def forgets(asked: Asked, reply: Reply) -> None:
        session = asked.headers.get("mcp-session-id")
        if asked.method == "POST" and asked.message["method"] == "tools/call" and session == "s-1":
            await reply.whole(status, body.replace(b"%d", b"%d" % asked.message["id"]))
        elif asked.method == "POST" and asked.message["method"] == "initialize":
            await answered(asked, reply, OLD, Mcp_Session_Id=sessions.pop(0))
        else:
            await answered(asked, reply, OLD)

    async with connected(forgets, tmp_path) as (server, web):
        result = await server.call("knock", {}, None, 10)
        assert result.content == [{"type": "text", "text": "Come in."}]
    calls = [asked for asked in web.asked if asked.method == "POST" and asked.message["method"] == "tools/call"]
    assert [call.headers["mcp-session-id"] for call in calls] == ["s-1", "s-2"]


async def test_a_call_that_is_never_answered_ends_in_time_and_no_other_caller_notices(tmp_path: Path) -> None:
    async def hangs(asked: Asked, reply: Reply) -> None:
        if asked.message["method"] == "tools/call" and asked.message["params"]["arguments"]:
            await asyncio.Event().wait()
        await answered(asked, reply, NEW)

    async with connected(hangs, tmp_path) as (server, web):
        assert (server.state, server.info.protocol) == ("ready", "2026-07-28")
        late = asyncio.ensure_future(server.call("knock", {"slowly": True}, None, 0.2))
        assert (await server.call("knock", {}, None, 10)).content
        with pytest.raises(TimedOut, match=r"within 0\.2 seconds"):
            await late
        async with asyncio.timeout(PATIENCE):
            await web.hung_up.wait()
        assert (await server.call("knock", {}, None, 10)).content


@pytest.mark.parametrize(
    "said",
    [
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9999\r\n\r\n{",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 12\r\n\r\ndata: no\r\n\r\n",
        b"HTTP/1.1 500 Oh\r\nContent-Length: 0\r\n\r\n",
        b"no HTTP at all\r\n\r\n",
        b"",
    ],
)
async def test_garbage_costs_its_caller_one_error_and_the_next_call_is_answered(tmp_path: Path, said: bytes) -> None:
    async def babbles(asked: Asked, reply: Reply) -> None:
        if asked.message["method"] == "tools/call" and asked.message["params"]["arguments"]:
            reply.closes = True
            await reply.raw(said)
        else:
            await answered(asked, reply, NEW)

    async with connected(babbles, tmp_path) as (server, _):
        with pytest.raises(Unreachable):
            await server.call("knock", {"badly": True}, None, 10)
        assert (await server.call("knock", {}, None, 10)).content


async def test_a_refusal_shows_what_the_server_says_and_a_server_that_is_gone_is_noticed_at_once(
    tmp_path: Path,
) -> None:
    gone = asyncio.Event()

    async def refuses(asked: Asked, reply: Reply) -> None:
        if gone.is_set():
            reply.closes = True
            return
        if asked.method == "POST" and asked.message["method"] == "tools/call":
            await reply.whole(400, {"error": {"message": "Too\u200b many\nwishes."}})
        else:
            await answered(asked, reply, OLD, Mcp_Session_Id="s")

    async with connected(refuses, tmp_path) as (server, _):
        with pytest.raises(
            Unreachable, match=r"Server far: .*answered 400, .*It says: Too\\u200b many wishes\."
        ) as caught:
            await server.call("knock", {}, None, 10)
        assert caught.value.retry_after is not None
        assert server.state == "ready"
        gone.set()
        with pytest.raises(Unreachable, match=r"[Ss]erver far"):
            await server.call("knock", {}, None, 10)
        async with asyncio.timeout(PATIENCE):
            while server.state == "ready":  # noqa: ASYNC110 - nothing tells of it
                await asyncio.sleep(0)
        with pytest.raises(Unreachable, match=r"[Ss]erver far.*The next attempt is in \d+ second"):
            await server.call("knock", {}, None, 10)
