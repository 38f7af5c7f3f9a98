"""A client that sends the same head again is read once: what applications see is what the parser would have found."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import uvicorn

from doorward.config.settings import ServerSettings as Limits
from doorward.core.byte_budget import ByteBudget
from doorward.doors.http.connection import ServerConnection
from doorward.doors.http.host_guard import HostGuard
from doorward.doors.http.request_cycle import send_complete_response
from doorward.doors.http.server import ServerConnections


def post(body: bytes, *fields: str, path: str = "/a") -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", *fields, f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode() + body


CHUNKED = b"POST /a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n0\r\n\r\n"


_TURNS = 12
"""So many turns of the loop are more than any of these requests takes."""


class Wire(asyncio.Transport):
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.closing = False

    def write(self, data: Any) -> None:
        self.written += data

    def is_closing(self) -> bool:
        return self.closing

    def close(self) -> None:
        self.closing = True

    abort = close

    def get_write_buffer_size(self) -> int:
        return 0

    def can_write_eof(self) -> bool:
        return False

    def pause_reading(self) -> None:
        """Nothing comes but what a test brings."""

    resume_reading = pause_reading


class Seen:
    """An application that answers all in one piece and remembers what it was asked."""

    def __init__(self) -> None:
        self.scopes: list[Any] = []
        self.asked: list[tuple[Any, ...]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body += message["body"]
            more = message["more_body"]
        told = {key: value for key, value in scope.items() if key not in ("app", "headers", "left", "state")}
        self.scopes.append(scope)
        self.asked.append((told, list(scope["headers"]), body))
        scope["left"] = "something that the next request must not find"
        assert send_complete_response(send, 200, b"", b"seen") or scope["method"] == "HEAD"


async def seen(*pieces: bytes, app: Any = None) -> tuple[Seen, Wire]:
    """What an application sees of a connection on which these pieces come, one after the other."""
    end, wire = Seen(), Wire()
    config = uvicorn.Config(app(end) if app else end, interface="asgi3", http=ServerConnection, log_config=None)
    config.load()
    state = ServerConnections(Limits(), 10, ByteBudget(10_000, 10_000, 10_000))
    connection = ServerConnection(config=config, server_state=state, app_state={})
    connection.connection_made(wire)
    for piece in pieces:
        if not wire.closing:
            connection.data_received(piece)
        for _ in range(_TURNS):
            await asyncio.sleep(0)
    connection.connection_lost(None)
    assert state.budget.held == 0
    return end, wire


def torn(*pieces: bytes) -> list[bytes]:
    """The same bytes, of which no request comes whole, so that the parser reads each."""
    return [part for piece in pieces for part in (piece[:-1], piece[-1:])]


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param([post(b"one"), post(b"two"), post(b"six")], id="the same head"),
        pytest.param([post(b"one"), post(b"three")], id="another length"),
        pytest.param([post(b"one"), post(b"two", path="/b")], id="another address"),
        pytest.param([post(b"one"), post(b"two", path="/a?b")], id="a query"),
        pytest.param([post(b"one", "X: 1"), post(b"two", "X: 2")], id="another field"),
        pytest.param([post(b"one"), post(b"two") + post(b"six")], id="two at once behind one"),
        pytest.param([post(b"one") + post(b"two"), post(b"six")], id="two at once at first"),
        pytest.param([post(b"one"), post(b"two")[:-1], b"o" + post(b"six")], id="one in pieces"),
        pytest.param([post(b"one"), post(b"two")[:20], post(b"two")[20:]], id="a head in pieces"),
        pytest.param([post(b"one"), b"\r\n" + post(b"two"), post(b"six")], id="a line between"),
        pytest.param([post(b"one"), b"\r\n", post(b"two")], id="a line by itself"),
        pytest.param([post(b"one"), b"\r", post(b"two")], id="half a line by itself"),
        pytest.param([post(b"one"), CHUNKED, post(b"two")], id="chunks in between"),
        pytest.param([post(b"one"), CHUNKED[:-2], post(b"two")], id="chunks without their end"),
        pytest.param([post(b"one"), post(b"three"), post(b"two"), post(b"seven")], id="two lengths by turns"),
        pytest.param([post(b""), post(b"")], id="nothing in it"),
        pytest.param([post(b"\r\n\r\n"), post(b"\r\n\r\n")], id="a body like the end of a head"),
        pytest.param([CHUNKED, CHUNKED.replace(b"one", b"two")], id="chunks"),
        pytest.param([post(b"one", "Expect: 100-continue"), post(b"two", "Expect: 100-continue")], id="expected"),
        pytest.param([post(b"one", "Connection: close"), post(b"two", "Connection: close")], id="the last of all"),
        pytest.param([post(b"one"), post(b"two")[:-3] + b"GET"], id="a body like a request"),
        pytest.param([post(b"one"), b"NOT HTTP\r\n\r\n", post(b"two")], id="no HTTP in between"),
        pytest.param([post(post(b"one")), post(post(b"two"))], id="a request inside another"),
    ],
)
async def test_what_is_seen_is_what_the_parser_finds(pieces: list[bytes]) -> None:
    here, wire = await seen(*pieces)
    there, parsed = await seen(*torn(*pieces))
    assert here.asked == there.asked
    assert wire.closing == parsed.closing
    assert wire.written.count(b"HTTP/1.1 200") == parsed.written.count(b"HTTP/1.1 200")


async def test_the_same_head_is_read_once_and_another_anew() -> None:
    bodies = [b"one", b"two", b"six", b"ten", b"two", b"three", b"seven"]
    end, _ = await seen(*(post(body, *(["X: 1"] if body in (b"six", b"ten") else [])) for body in bodies))
    heads = [scope["headers"] for scope in end.scopes]
    assert heads[0] is heads[1] is heads[4]
    assert heads[2] is heads[3]
    assert heads[5] is heads[6]
    assert len({id(head) for head in heads}) == 3
    assert [body for _, _, body in end.asked] == bodies


async def test_no_more_heads_are_known_than_a_connection_may_cost() -> None:
    fields = [[f"X: {number}"] for number in range(100)]
    end, _ = await seen(*(post(b"one", *one) for one in (*fields, *fields[-1:], *fields[:1])))
    heads = [scope["headers"] for scope in end.scopes]
    assert heads[-2] is heads[-3]
    assert heads[-1] is not heads[0]


async def test_a_guard_that_let_a_head_pass_looks_at_every_other() -> None:
    def guarded(app: Any) -> HostGuard:
        return HostGuard(app, ["localhost"])

    good, bad = post(b"one"), post(b"one").replace(b"localhost", b"evil.host")
    page = post(b"one", "Origin: http://evil.host")
    end, wire = await seen(good, good, bad, bad, page, page, good, app=guarded)
    assert len(end.asked) == 3
    assert wire.written.count(b"HTTP/1.1 421") + wire.written.count(b"HTTP/1.1 403") == 4
