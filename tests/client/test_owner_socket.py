"""Requests over the owner's socket: what is sent, and what becomes of the answers of a server that breaks off."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys

import pytest

from doorward.client import owner_socket
from doorward.client.effects import NoResponse, Reply, Send
from doorward.core.wire.sse import HEARTBEAT, SseEvent

LINES = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\na\nb\r\n3\r\nc\nd\r\n"
EVENTS = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n:\n\nevent: a\nid: 1\ndata: {}\n\n"


def answering(answer: bytes) -> tuple[socket.socket, socket.socket]:
    """A connected socket whose peer has answered and closes its side, and that peer."""
    ours, theirs = socket.socketpair()
    theirs.sendall(answer)
    theirs.shutdown(socket.SHUT_WR)
    return ours, theirs


async def test_a_request_carries_no_token_and_gets_the_whole_response() -> None:
    ours, theirs = answering(b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}")
    send = Send(method="POST", path="/api/run", query={"room": "a b/c", "x": None}, body=b"{}")
    assert await owner_socket.request(ours, send) == Reply(404, {"content-length": "2"}, b"{}")
    with theirs:
        assert theirs.recv(4_096).decode().split("\r\n") == [
            "POST /api/run?room=a+b%2Fc HTTP/1.1",
            "Host: doorward",
            "Connection: close",
            "Accept: application/json",
            "Content-Type: application/json",
            "Content-Length: 2",
            "",
            "{}",
        ]


async def test_lines_come_until_the_server_closes_the_connection() -> None:
    ours, theirs = answering(LINES)
    with theirs:
        async with owner_socket.open_response(ours, Send(method="GET", path="/")) as response:
            assert [line async for line in response.lines()] == [b"a", b"bc", b"d"]


async def test_events_come_with_heartbeats() -> None:
    ours, theirs = answering(EVENTS)
    with theirs:
        async with owner_socket.open_response(ours, Send(method="GET", path="/", listen=True)) as response:
            assert response.is_event_stream
            assert [event async for event in response.events()] == [HEARTBEAT, SseEvent("a", b"{}", "1")]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"", "it closed the connection before its response was complete"),
        (LINES, "it closed the connection before its response was complete"),
        (b"something else", "its response is not HTTP/1.1"),
    ],
)
async def test_half_a_response_is_none(answer: bytes, reason: str) -> None:
    ours, theirs = answering(answer)
    with theirs, pytest.raises(NoResponse) as caught:
        await owner_socket.request(ours, Send(method="GET", path="/"))
    assert (caught.value.reason, caught.value.sent) == (reason, True)


async def test_whoever_stops_reading_closes_the_connection() -> None:
    ours, theirs = answering(LINES)
    with theirs:
        async with owner_socket.open_response(ours, Send(method="GET", path="/")):
            theirs.recv(4_096)
        assert await asyncio.to_thread(theirs.recv, 1) == b""


def test_a_command_loads_no_http_library() -> None:
    code = "import sys, doorward.cli.run, doorward.cli.shell; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"httpx2", "http.client"} & set(loaded)
