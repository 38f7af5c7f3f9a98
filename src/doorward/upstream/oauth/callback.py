"""The OAuth redirect target: a page on the loopback address that receives one login result."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
from types import TracebackType
from urllib.parse import parse_qsl, urlsplit

from doorward.errors import Unusable

_LARGEST = 16 * 1024
_SLOWEST = 10.0
_AT_ONCE = 16
_PAGE = (
    b"HTTP/1.1 %b\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n"
    b"Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nContent-Security-Policy: default-src 'none'\r\n\r\n%b"
)
_THANKS = b"<!doctype html><title>Doorward</title><p>Thank you. You can close this window and go back to Doorward."
_NOTHING = b"<!doctype html><title>Doorward</title><p>Nothing is expected here."


class Callback:
    """Listens on the loopback address only, while the context is open."""

    def __init__(self, port: int = 0, rather: int = 0) -> None:
        """Listen on `port`; if it is 0, on `rather` if that is free, otherwise on any free port."""
        self._wanted = port
        self._rather = rather
        self._server: asyncio.Server | None = None
        self._state = ""
        self._answer: asyncio.Future[dict[str, str]] | None = None
        self._visitors = 0
        self.redirect = ""
        """The redirect URI."""

    async def __aenter__(self) -> Callback:
        if not self._wanted and self._rather:
            with contextlib.suppress(OSError):
                self._server = await asyncio.start_server(self._visited, "127.0.0.1", self._rather, limit=_LARGEST)
        try:
            if self._server is None:
                self._server = await asyncio.start_server(self._visited, "127.0.0.1", self._wanted, limit=_LARGEST)
        except OSError as error:
            raise Unusable(
                f"Port {self._wanted} for the login callback is not available: {error.strerror}.",
                hint="Set another `callback_port` in [upstream] of doorward.toml; 0 uses any free port.",
            ) from error
        self._port = self._server.sockets[0].getsockname()[1]
        self.redirect = f"http://127.0.0.1:{self._port}/callback"
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    def expect(self, state: str) -> None:
        """Accept only a request with this state from now on."""
        self._state, self._answer = state, asyncio.get_running_loop().create_future()

    async def answer(self, patience: float) -> dict[str, str]:
        """Wait for the login result; raises TimeoutError when none arrives."""
        if self._answer is None:
            raise ValueError("call expect() first")
        async with asyncio.timeout(patience):
            return await self._answer

    async def _visited(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._visitors += 1
        try:
            if self._visitors <= _AT_ONCE:
                async with asyncio.timeout(_SLOWEST):
                    head = await reader.readuntil(b"\r\n\r\n")
                    brought = self._brought(head)
                    status, page = (b"200 OK", _THANKS) if brought else (b"404 Not Found", _NOTHING)
                    writer.write(_PAGE % (status, len(page), page))
                    await writer.drain()
                    if brought and self._answer is not None and not self._answer.done():
                        self._answer.set_result(brought)
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            self._visitors -= 1
            writer.close()

    def _brought(self, head: bytes) -> dict[str, str] | None:
        """The query of a valid callback request: right path, right Host header, right state; otherwise None."""
        first, *fields = head.decode("latin-1").split("\r\n")
        method, _, rest = first.partition(" ")
        target = urlsplit(rest.partition(" ")[0])
        hosts = [line.partition(":")[2].strip() for line in fields if line.lower().startswith("host:")]
        if method != "GET" or target.path != "/callback" or hosts != [f"127.0.0.1:{self._port}"] or not self._state:
            return None
        pairs = parse_qsl(target.query, keep_blank_values=True)
        brought = dict(pairs)
        if len(brought) != len(pairs) or not hmac.compare_digest(
            brought.get("state", "").encode(), self._state.encode()
        ):
            return None
        return brought
