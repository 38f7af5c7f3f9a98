"""Readers of bytes from outside: whatever comes, they return or raise the error that they declare."""

from __future__ import annotations

import asyncio
import json
import random
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from doorward.core import strictjson
from doorward.core.errors import BadParams
from doorward.core.wire.frames import WireError, parse_frame
from doorward.core.wire.http1 import BadResponse, ResponseParser
from doorward.core.wire.sse import EventTooLarge, SseParser
from doorward.doors.line.frames import BadLine, LineBuffer, parse_request
from doorward.doors.mcp.stdio import frames, handshake
from doorward.doors.mcp.stdio.relay_state import RelayState
from doorward.upstream import http_endpoint
from listening import get, house, listening, post
from mutation import mutate

ROUNDS = 2_000
INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "fuzz", "version": "1"}}


def message(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


MESSAGES = [
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"one","reason":1.5e3}}',
    b'{"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"caf\xc3\xa9 \\ud83d\\ude00"}}',
    json.dumps(message("initialize", **INITIALIZE)).encode(),
    json.dumps(message("resources/subscribe", uri="doorward://rooms")).encode(),
]


def read_relayed(data: bytes) -> None:
    state = RelayState()
    head = frames.peek(data)
    state.record_sent(head, data)
    state.record_received(head)
    list(state.replay_opening())
    state.take_lost()


def read_line(data: bytes) -> None:
    for line in LineBuffer(10_000).feed(data + b"\n"):
        assert isinstance(line, bytes)
        parse_request(line)


def read_events(data: bytes) -> None:
    parser = SseParser(40)
    for start in range(0, len(data), 7):
        list(parser.feed(data[start : start + 7]))


def read_response(data: bytes) -> None:
    parser = ResponseParser()
    parser.feed(data)
    parser.feed_eof()
    parser.take_body()


def read_upstream_error(data: bytes) -> None:
    http_endpoint.is_answer_to(data, 1)
    http_endpoint.extract_error(data, 1)
    http_endpoint.extract_error_text(data, "application/json")


def read_hello(data: bytes) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        theirs.sendall(data + b"\n")
        asyncio.run(handshake.receive_hello(ours))


READERS: dict[str, tuple[Callable[[bytes], Any], type[Exception] | tuple[()], list[bytes], int]] = {
    "the relay": (read_relayed, (), MESSAGES, ROUNDS),
    "a hello": (read_hello, BadParams, [b'{"room":"general","speakAs":"bot","tools":"all"}'], 50),
    "JSON": (strictjson.loads, strictjson.NotJson, MESSAGES, ROUNDS),
    "MCP": (parse_frame, WireError, MESSAGES, ROUNDS),
    "the line door": (
        read_line,
        BadLine,
        [b'{"id":"1","method":"call_tool","params":{"tool":"x"},"token":"t"}'],
        ROUNDS,
    ),
    "events": (read_events, EventTooLarge, [b'id: 7\nevent: message\nretry: 10\ndata: {"a":1}\n\n: x\n\n'], ROUNDS),
    "a response": (
        read_response,
        BadResponse,
        [
            b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX: y\r\n\r\n",
        ],
        ROUNDS,
    ),
    "an upstream error": (read_upstream_error, (), [*MESSAGES, b'{"error":{"message":"no"},"detail":"x"}'], ROUNDS),
}


@pytest.mark.parametrize("name", READERS)
def test_mutated_bytes_raise_only_the_declared_error_of_their_reader(name: str) -> None:
    read, declared, valid, rounds = READERS[name]
    chance = random.Random(name)
    for text in valid:
        read(text)
    refused = 0
    for _ in range(rounds):
        data = mutate(chance, chance.choice(valid))
        try:
            read(data)
        except declared:
            refused += 1
    assert refused or not declared, "no mutation was refused, so they are too weak"


async def test_mutated_http_requests_get_an_answer_or_a_closed_connection(
    opened: Callable[..., Any], tmp_path: Path
) -> None:
    chance = random.Random(11)
    valid = [
        get("/health"),
        get("/api/events?since=1", "Authorization: Bearer abc"),
        post("/mcp", message("initialize", **INITIALIZE), "Accept: application/json, text/event-stream"),
        post("/api/run", {"command": "room/list", "params": {}}),
        b"POST /api/run HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    ]
    async with opened() as driver, listening(house(driver), tmp_path / "socket") as here:
        for round_ in range(200):
            client = await (here.connect_private() if round_ % 3 == 0 else here.connect())
            await client.send(mutate(chance, chance.choice(valid)))
            client.writer.write_eof()
            answer = await client.rest()
            assert not answer or (answer.startswith(b"HTTP/1.1 ") and answer[9:12] != b"500"), answer
            client.hang_up()
        assert (await here.ask(valid[0])).status == 200
