"""An HTTP transport that enforces Doorward's rules on requests to providers, whatever the libraries do.

The libraries never see the key: they get a placeholder, which is replaced here, at the last moment and only for the
provider's own address. Headers that they add by themselves (facts of this machine, values from the environment) are
dropped. A response that is a redirect, compressed, not a stream, or too long is rejected.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Literal, cast

import httpx2

from doorward import __version__

KEY_PLACEHOLDER = "doorward-key-goes-here"
"""The placeholder that the libraries get as the key."""
_ALLOWED_HEADERS = frozenset(
    {"host", "content-length", "transfer-encoding", "content-type", "accept", "anthropic-version", "anthropic-beta"}
)
_ACCOUNT_HEADERS = frozenset({"openai-organization", "openai-project"})
"""The OpenAI account, which the library reads from the environment. It is sent to OpenAI only."""
_KEY_HEADERS = frozenset({"authorization", "x-api-key"})
_MAX_ERROR_BODY = 65_536
_EVENT_STREAM = "text/event-stream"


class ResponseRejected(httpx2.TransportError):
    """A rejected response. The message completes the sentence "The provider …"."""

    def __init__(self, fault: Literal["bad_answer", "not_allowed"], message: str) -> None:
        super().__init__(message)
        self.fault = fault


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Sends the requests of one answer to one provider."""

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
        """`heard` is called for every event of a response."""
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
            raise ResponseRejected(
                "not_allowed", "was not asked, because the request would have gone to another address"
            )
        request.headers = self._headers(request.headers)
        response = await self._inner.handle_async_request(request)
        try:
            self._check(response)
        except ResponseRejected:
            await response.aclose()
            raise
        stream = cast(httpx2.AsyncByteStream, response.stream)
        most = self._most if response.status_code == 200 else _MAX_ERROR_BODY
        return httpx2.Response(
            response.status_code,
            headers=response.headers,
            stream=_LimitedBody(stream, most, fails=response.status_code == 200, heard=self._heard),
            extensions=response.extensions,
        )

    async def aclose(self) -> None:
        await self._inner.aclose()

    def _headers(self, given: httpx2.Headers) -> httpx2.Headers:
        kept = {name: value for name, value in given.items() if name in _ALLOWED_HEADERS}
        if self._with_account:
            kept |= {name: value for name, value in given.items() if name in _ACCOUNT_HEADERS}
        if self._key:
            for name in _KEY_HEADERS & set(given):
                if KEY_PLACEHOLDER in given[name]:
                    kept[name] = given[name].replace(KEY_PLACEHOLDER, self._key)
        kept |= {"user-agent": f"doorward/{__version__}", "accept-encoding": "identity", "connection": "close"}
        return httpx2.Headers(kept)

    @staticmethod
    def _check(response: httpx2.Response) -> None:
        if 300 <= response.status_code < 400:
            raise ResponseRejected(
                "not_allowed", "answers with a redirect, which is never followed. Correct its base_url"
            )
        if response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
            raise ResponseRejected("bad_answer", "compresses its answer although it was asked not to")
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if response.status_code == 200 and kind != _EVENT_STREAM:
            raise ResponseRejected(
                "bad_answer", f"answers with {_clean_media_type(kind)} instead of a stream of events"
            )


class _LimitedBody(httpx2.AsyncByteStream):
    """A size-limited response body. A longer one fails or, for an error response, is cut."""

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
                    raise ResponseRejected("bad_answer", "sends more bytes than the limit for one answer")
                return
            self._left -= len(piece)
            yield piece

    async def aclose(self) -> None:
        await self._inner.aclose()


def _clean_media_type(kind: str) -> str:
    """Return a media type for a message, with unexpected characters removed."""
    plain = "".join(letter for letter in kind if letter.isalnum() or letter in "/.+-")[:60]
    return plain or "no content type"
