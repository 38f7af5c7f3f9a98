"""A host outside the sandbox, on this machine's loopback, and the names of hosts."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest


class Host:
    """It answers each request, and remembers its head."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.port = 0

    @classmethod
    @contextlib.asynccontextmanager
    async def opened(cls) -> AsyncIterator[Host]:
        found = cls()
        async with await asyncio.start_server(found.answer, "127.0.0.1", 0) as server:
            found.port = server.sockets[0].getsockname()[1]
            yield found

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            self.requests.append(head.decode())
            writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nfrom the host\n")
        writer.close()


def answer_names(monkeypatch: pytest.MonkeyPatch, names: Mapping[str, str]) -> None:
    """Resolve the names of a test's hosts, where a machine would ask a name server."""
    resolve = socket.getaddrinfo

    def answer(name: Any, *rest: Any, **more: Any) -> Any:
        return resolve(names.get(name, name), *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", answer)
