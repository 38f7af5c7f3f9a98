"""What goes to a provider and comes back, under our own rules, whatever the libraries above would have done.

The libraries never see the key: they are given a word that stands for it, and the key takes its place here, at the last
moment and only towards the provider's own address. What they add of their own accord (facts of this machine, what they
found in the environment) stays here. An answer that is a redirect, compressed, no stream, or too long ends here too.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Literal, cast

import httpx2

from doorward import __version__

STAND_IN = "doorward-key-goes-here"
"""What the libraries are told the key is."""
_FORWARDED = frozenset(
    {"host", "content-length", "transfer-encoding", "content-type", "accept", "anthropic-version", "anthropic-beta"}
)
_ACCOUNT = frozenset({"openai-organization", "openai-project"})
"""Which account at OpenAI is meant; the library reads it from the environment, and it is nobody else's business."""
_CREDENTIALS = frozenset({"authorization", "x-api-key"})
_LARGEST_PROBLEM = 65_536
_EVENTS = "text/event-stream"


class Unfit(httpx2.TransportError):
    """An answer that is not read any further. The message is the end of a sentence about the provider."""

    def __init__(self, fault: Literal["bad_answer", "not_allowed"], message: str) -> None:
        super().__init__(message)
        self.fault = fault


class Guarded(httpx2.AsyncBaseTransport):
    """Carries the requests of one answer to one provider."""

    def __init__(
        self,
        inner: httpx2.AsyncBaseTransport,
        *,
        address: str,
        key: str,
        most_bytes: int,
        with_account: bool,
        heard: Callable[[], None] | None = None,
    ) -> None:
        """`heard` is told of every event of an answer, whatever is in it."""
        self._inner = inner
        self._url = httpx2.URL(address)
        self._key = key
        self._most = most_bytes
        self._with_account = with_account
        self._heard = heard

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if (request.url.scheme, request.url.host, request.url.port) != (
            self._url.scheme,
            self._url.host,
            self._url.port,
        ):
            raise Unfit("not_allowed", "was not asked, since the request would have gone to another address")
        request.headers = self._headers(request.headers)
        response = await self._inner.handle_async_request(request)
        try:
            self._check(response)
        except Unfit:
            await response.aclose()
            raise
        stream = cast(httpx2.AsyncByteStream, response.stream)
        most = self._most if response.status_code == 200 else _LARGEST_PROBLEM
        return httpx2.Response(
            response.status_code,
            headers=response.headers,
            stream=_Measured(stream, most, fails=response.status_code == 200, heard=self._heard),
            extensions=response.extensions,
        )

    async def aclose(self) -> None:
        await self._inner.aclose()

    def _headers(self, given: httpx2.Headers) -> httpx2.Headers:
        kept = {name: value for name, value in given.items() if name in _FORWARDED}
        if self._with_account:
            kept |= {name: value for name, value in given.items() if name in _ACCOUNT}
        if self._key:
            for name in _CREDENTIALS & set(given):
                if STAND_IN in given[name]:
                    kept[name] = given[name].replace(STAND_IN, self._key)
        kept |= {"user-agent": f"doorward/{__version__}", "accept-encoding": "identity", "connection": "close"}
        return httpx2.Headers(kept)

    @staticmethod
    def _check(response: httpx2.Response) -> None:
        if 300 <= response.status_code < 400:
            raise Unfit("not_allowed", "answers with a redirect, which is never followed; correct its base_url")
        if response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
            raise Unfit("bad_answer", "compresses its answer, though it was asked not to")
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if response.status_code == 200 and kind != _EVENTS:
            raise Unfit("bad_answer", f"answers with {_type(kind)} instead of a stream of events")


class _Measured(httpx2.AsyncByteStream):
    """A body of which only so much is read. One that is too long fails, or just ends when it is only a problem."""

    def __init__(
        self, inner: httpx2.AsyncByteStream, most: int, *, fails: bool, heard: Callable[[], None] | None
    ) -> None:
        self._inner = inner
        self._left = most
        self._fails = fails
        self._heard = heard

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._inner:
            if self._heard is not None and b"data:" in piece:
                self._heard()
            if len(piece) > self._left:
                yield piece[: self._left]
                if self._fails:
                    raise Unfit("bad_answer", "sends more bytes than are read of one answer")
                return
            self._left -= len(piece)
            yield piece

    async def aclose(self) -> None:
        await self._inner.aclose()


def _type(kind: str) -> str:
    """A media type for a sentence, as far as it is one."""
    plain = "".join(letter for letter in kind if letter.isalnum() or letter in "/.+-")[:60]
    return plain or "nothing that says what it is"
