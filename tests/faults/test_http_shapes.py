"""Requests that two programs could read differently, or that are for somebody else: refused, and nothing runs."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from starlette.routing import BaseRoute, Mount, Route

from doorward.config.settings import ServerSettings as Limits
from doorward.config.settings import Settings
from listening import PATIENCE, Client, Listening, bare, house, listening

HEAD = b"POST /x HTTP/1.1\r\nHost: localhost\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
HIDDEN = b"GET /hidden HTTP/1.1\r\nHost: localhost\r\n\r\n"

SHAPES = {
    "length and chunks": HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + HIDDEN,
    "chunks and length": HEAD + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" + HIDDEN,
    "two lengths": HEAD + b"Content-Length: 2\r\nContent-Length: 40\r\n\r\n{}" + HIDDEN,
    "two equal lengths": HEAD + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
    "a list of lengths": HEAD + b"Content-Length: 2, 2\r\n\r\n{}",
    "a signed length": HEAD + b"Content-Length: +2\r\n\r\n{}",
    "a negative length": HEAD + b"Content-Length: -2\r\n\r\n{}",
    "a length in hex": HEAD + b"Content-Length: 0x2\r\n\r\n{}",
    "an empty length": HEAD + b"Content-Length:\r\n\r\n{}",
    "a length that overflows": HEAD + b"Content-Length: 99999999999999999999\r\n\r\n{}",
    "a folded field": HEAD + b"X: a\r\n b\r\n\r\n",
    "a folded host": b"GET /x HTTP/1.1\r\nX: y\r\n Host: evil.example\r\nHost: localhost\r\n\r\n",
    "a field before the first": b"GET /x HTTP/1.1\r\n Host: localhost\r\n\r\n",
    "bare line feeds": b"GET /x HTTP/1.1\nHost: localhost\n\n",
    "one bare line feed": b"GET /x HTTP/1.1\r\nHost: localhost\nX: y\r\n\r\n",
    "a bare return": b"GET /x HTTP/1.1\r\nHost: localhost\rX: y\r\n\r\n",
    "a NUL in a value": HEAD + b"X: a\x00b\r\n\r\n",
    "a NUL in a name": HEAD + b"X\x00: a\r\n\r\n",
    "a NUL in the target": b"GET /\x00x HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a space before the colon": HEAD + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    "an empty name": HEAD + b": x\r\n\r\n",
    "no colon": HEAD + b"Foo\r\n\r\n",
    "another coding": HEAD + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "chunks inside a coding": HEAD + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    "a coding inside chunks": HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "chunks twice": HEAD + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "two codings": HEAD + b"Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a control character in a coding": HEAD + b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
    "chunks in HTTP/1.0": b"POST /x HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a negative chunk": CHUNKED + b"-1\r\n{}\r\n0\r\n\r\n",
    "a chunk with 0x": CHUNKED + b"0x2\r\n{}\r\n0\r\n\r\n",
    "a chunk that overflows": CHUNKED + b"fffffffffffffffff\r\n{}\r\n0\r\n\r\n",
    "a chunk with a space": CHUNKED + b"2 \r\n{}\r\n0\r\n\r\n",
    "chunks with bare line feeds": CHUNKED + b"2\n{}\n0\n\n",
    "a chunk longer than it says": CHUNKED + b"2\r\n{}xx\r\n0\r\n\r\n" + HIDDEN,
    "another server's address": b"GET http://evil.example/x HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a user in the address": b"GET http://localhost@evil.example/x HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "our address and another host": b"GET http://localhost/x HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    "our address and no host": b"GET http://localhost/x HTTP/1.1\r\n\r\n",
    "another scheme": b"GET gopher://localhost/x HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a tunnel": b"CONNECT evil.example:80 HTTP/1.1\r\nHost: localhost\r\n\r\n" + HIDDEN,
    "a fragment": b"GET /x#y HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "bytes that are no ASCII": b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a space in the target": b"GET /x y HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a small method": b"get /x HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "tabs for spaces": b"GET\t/x\tHTTP/1.1\r\nHost: localhost\r\n\r\n",
    "no version": b"GET /x\r\n\r\n",
    "a version to come": b"GET /x HTTP/2.0\r\nHost: localhost\r\n\r\n",
    "the preface of HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 100,
    "another protocol": b'{"id": 1, "method": "initialize"}\n',
}

HOSTS: tuple[tuple[str, ...], ...] = (
    (),
    ("",),
    ("evil.example",),
    ("a/?x=",),
    ("localhost/?x=",),
    ("localhost", "localhost"),
    ("localhost", "evil.example"),
    ("user@localhost",),
    ("localhost:65536",),
    ("localhost.",),
    ("127.0.0.1.evil.example",),
    ("0.0.0.0",),
    ("[::]",),
    ("[::ffff:127.0.0.1]",),
    ("xn--loclhost-1ya",),
)
ORIGINS = ("null", "file://", "http://evil.example", "https://localhost", "http://localhost:3000", "http://localhost/")


async def told(client: Client, request: bytes) -> tuple[int, str]:
    await client.send(request)
    answer = await client.answer()
    client.hang_up()
    return answer.status, answer.head.lower()


async def test_what_can_be_read_in_two_ways_is_refused_and_reaches_no_application(tmp_path: Path) -> None:
    ran: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        body = b""
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message["body"]
            if not message["more_body"]:
                break
        ran.append(scope["path"])
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    taken = {}
    async with listening(bare(app, Limits()), tmp_path / "socket") as here:
        for name, request in SHAPES.items():
            for connect in (here.connect, here.connect_private):
                status, head = await told(await connect(), request)
                if not (400 <= status < 500 or status in (501, 505)) or "application/problem+json" not in head:
                    taken[name] = head
        status, _ = await told(await here.connect(), HEAD + b"Content-Length: 2\r\n\r\n{}")
    assert taken == {}
    assert (status, ran) == (200, ["/x"])


def addresses() -> list[str]:
    """Those that one can listen on: one's own, all of them, and the same for the newer protocol where there is one."""
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return ["127.0.0.1", "0.0.0.0"]
    return ["127.0.0.1", "0.0.0.0", "::1", "::"]


def paths(routes: Iterable[BaseRoute], prefix: str = "") -> list[str]:
    """One real path for every route that there is, and one that leads nowhere."""
    found = ["/nowhere"] if not prefix else []
    for route in routes:
        if isinstance(route, Mount):
            found += paths(route.routes or [], prefix + route.path) or [f"{prefix}{route.path}/x"]
        elif isinstance(route, Route):
            found.append(prefix + re.sub(r"\{[^}]*\}", "x", route.path))
        else:
            raise AssertionError(f"say here how {route} is reached")
    return found


@pytest.mark.parametrize("host", addresses())
async def test_requests_for_others_and_from_other_pages_reach_no_route(host: str, opened: Callable[..., Any]) -> None:
    """One connection for each route, since a refused request does not end it."""
    async with opened(changes=Settings(server=Limits(host=host))) as driver:
        before = len(await driver.ledger())
        server = house(driver)
        async with listening(server, driver.house.home.socket) as here, asyncio.timeout(PATIENCE):
            assert {"/health", "/metrics", "/nowhere"} <= set(paths(server.router.routes))
            for path in paths(server.router.routes):
                await _refused_everywhere(here, path)
            client = await here.connect()
            await client.send(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert (await client.answer()).status == 200
        assert len(await driver.ledger()) == before


async def _refused_everywhere(here: Listening, path: str) -> None:
    client = await here.connect()
    wrong = [[f"Host: {host}" for host in hosts] for hosts in HOSTS]
    wrong += [["Host: localhost", f"Origin: {origin}"] for origin in ORIGINS]
    wrong += [["Host: localhost", "Origin: http://localhost", "Origin: http://localhost"]]
    for method in ("GET", "POST"):
        for fields in wrong:
            lines = [f"{method} {path} HTTP/1.1", *fields, "Content-Length: 2", "", "{}"]
            await client.send("\r\n".join(lines).encode())
            answer = await client.answer()
            assert answer.status == 403, (method, path, fields, answer)
            assert answer.json["code"] in ("other_host", "other_origin")
    client.hang_up()
