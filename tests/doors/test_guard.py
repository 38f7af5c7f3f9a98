"""Host and Origin on the public address (INCIDENTS on DNS rebinding and crafted Host headers)."""

from __future__ import annotations

import pytest
from starlette.responses import PlainTextResponse

from doorward.doors.guard import HostGuard

ALLOWED = ("127.0.0.1", "localhost", "[::1]")


async def status(*headers: tuple[str, str]) -> int:
    sent = []

    async def send(message):
        sent.append(message)

    async def receive():
        return {"type": "http.request", "body": b"", "more_body": False}

    scope = {
        "type": "http",
        "method": "GET",
        "path": "/health",
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in headers],
    }
    await HostGuard(PlainTextResponse("in"), ALLOWED)(scope, receive, send)
    return sent[0]["status"]


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:8642", "localhost", "LOCALHOST:1", "[::1]", "[::1]:8642"])
async def test_our_own_names_are_taken(host):
    assert await status(("host", host)) == 200


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "evil.example:8642",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "a/?x=",
        "localhost/?x=",
        "localhost#",
        "localhost@evil.example",
        "evil.example@localhost",
        "localhost:port",
        "localhost:999999",
        "127.0.0.2",
        "0.0.0.0",
        "[::ffff:127.0.0.1]",
        "localhost evil",
    ],
)
async def test_other_names_are_refused(host):
    assert await status(("host", host)) == 403


async def test_a_missing_or_doubled_host_is_refused():
    assert await status() == 403
    assert await status(("host", "localhost"), ("host", "evil.example")) == 403


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        ("http://localhost:8642", 200),
        ("http://127.0.0.1", 200),
        ("http://evil.example", 403),
        ("null", 403),
        ("http://localhost.evil.example", 403),
        ("http://localhost/path", 403),
        ("file://", 403),
    ],
)
async def test_pages_of_other_origins_are_refused(origin, expected):
    assert await status(("host", "localhost"), ("origin", origin)) == expected
