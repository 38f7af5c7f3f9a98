"""How soon what is said in a room reaches every browser that looks at it, over the stream that their pages have."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import time
from pathlib import Path
from typing import Any

from bench.serving import Served, served
from bench.sizes import Sizes

_PATIENCE = 30.0
_COOKIE = re.compile(rb"set-cookie: ([^;\r\n]+)", re.IGNORECASE)
_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)


def measure(folder: Path, sizes: Sizes) -> dict[str, float]:
    with served("bench.house_server", folder / "live", 0) as house:
        taken = sorted(asyncio.run(_measured(house, sizes.browsers, sizes.messages)))
    return {"message_half": taken[len(taken) // 2] * 1e3, "message_p95": taken[len(taken) * 95 // 100] * 1e3}


async def _measured(house: Served, browsers: int, messages: int) -> list[float]:
    """Seconds from the moment a message is sent until a page has it, for every message and every page."""
    heard: dict[tuple[int, int], asyncio.Future[float]] = {}
    async with contextlib.AsyncExitStack() as stack:
        person = await _Person.logged_in(house, stack)
        for number in range(browsers):
            reader = await person.stream()
            listening = asyncio.create_task(_listen(reader, number, heard))
            stack.callback(listening.cancel)
        taken = []
        for message in range(messages):
            waited = [asyncio.get_running_loop().create_future() for _ in range(browsers)]
            heard.update(((number, message), one) for number, one in enumerate(waited))
            begun = time.perf_counter()
            await person.say(f"message-{message}-")
            async with asyncio.timeout(_PATIENCE):
                taken += [at - begun for at in await asyncio.gather(*waited)]
    return taken


async def _listen(
    reader: asyncio.StreamReader, number: int, heard: dict[tuple[int, int], asyncio.Future[float]]
) -> None:
    """Note when each message is there. Its text stands in a line of its own, as a page reads it."""
    while line := await reader.readline():
        if found := re.search(rb"message-(\d+)-", line):
            waited = heard.get((number, int(found[1])))
            if waited is not None and not waited.done():
                waited.set_result(time.perf_counter())


class _Person:
    """Somebody who is logged in, with as many pages as they like."""

    def __init__(self, house: Served, stack: contextlib.AsyncExitStack, cookie: str = "", proof: str = "") -> None:
        """Their connections last as long as `stack`."""
        self._house = house
        self._stack = stack
        self._head = f"Host: 127.0.0.1\r\nCookie: {cookie}\r\nDoorward-CSRF: {proof}\r\nSec-Fetch-Site: same-origin\r\n"
        self._saying: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    @classmethod
    async def logged_in(cls, house: Served, stack: contextlib.AsyncExitStack) -> _Person:
        person = cls(house, stack)
        head, body = await person._post("/api/console/login", {"code": house.facts["login"]})
        cookie = _COOKIE.search(head)
        if cookie is None:
            raise RuntimeError(f"a login was to be measured, but it was answered {head!r} {body!r}")
        return cls(house, stack, cookie[1].decode(), json.loads(body)["csrf"])

    async def say(self, text: str) -> None:
        head, body = await self._post(f"/api/rooms/{self._house.facts['room']}/messages", {"text": text})
        if b" 201 " not in head and b" 200 " not in head:
            raise RuntimeError(f"a message was to be measured, but it was answered {head!r} {body!r}")

    async def stream(self) -> asyncio.StreamReader:
        """What a page listens to, from the moment on when it is told everything."""
        reader, writer = await self._connected()
        path = f"/api/console/stream?room={self._house.facts['room']}"
        writer.write(f"GET {path} HTTP/1.1\r\n{self._head}Accept: text/event-stream\r\n\r\n".encode())
        async with asyncio.timeout(_PATIENCE):
            while b"room-ready" not in (line := await reader.readline()):
                if not line:
                    raise RuntimeError("a stream was to be measured, but it ended")
        return reader

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection(*self._house.address, limit=1_000_000)
        self._stack.push_async_callback(_closed, writer)
        return reader, writer

    async def _post(self, path: str, body: dict[str, Any]) -> tuple[bytes, bytes]:
        if self._saying is None:
            self._saying = await self._connected()
        reader, writer = self._saying
        sent = json.dumps(body).encode()
        head = (
            f"POST {path} HTTP/1.1\r\n{self._head}Content-Type: application/json\r\nContent-Length: {len(sent)}\r\n\r\n"
        )
        writer.write(head.encode() + sent)
        answer = await reader.readuntil(b"\r\n\r\n")
        length = _LENGTH.search(answer)
        return answer, await reader.readexactly(int(length[1]) if length else 0)


async def _closed(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()
