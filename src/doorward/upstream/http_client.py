"""HTTP client for remote servers: checks addresses, limits redirects, and sends secrets only to their own origin."""

from __future__ import annotations

import asyncio
import functools
import re
import ssl
from collections.abc import AsyncIterator, Mapping
from urllib.parse import SplitResult, urljoin, urlsplit

from doorward import __version__
from doorward.core.errors import Unreachable
from doorward.core.wire.http1 import ResponseHead
from doorward.upstream.http_link import HttpLink, open_link
from doorward.upstream.outbound import OutboundPolicy

_MAX_REDIRECTS = 3
_MAX_IDLE = 8
"""Idle connections to keep for each origin."""
_FOLLOWED_STATUSES = {
    "GET": frozenset({301, 302, 303, 307, 308}),
    "POST": frozenset({307, 308}),
    "DELETE": frozenset({307, 308}),
}
"""Redirects to follow. A redirect that would turn a POST into a GET is refused."""
_FORWARDABLE = frozenset({"accept", "content-type", "last-event-id", "mcp-protocol-version", "mcp-method", "mcp-name"})
_PARAM_PREFIX = "mcp-param-"
"""Prefix of headers that repeat arguments of the message; they follow redirects like the message itself."""
_PORTS = {"http": 80, "https": 443}
_USER_INFO = re.compile(r"//[^/?#]*@")
Origin = tuple[str, str, int]


class BadUrl(Unreachable):
    """Not a valid URL, or one that is not followed."""

    retry = "after_fix"


def redact_url(url: str) -> str:
    """A URL for messages, without user info and query, which can contain secrets."""
    return _USER_INFO.sub("//", url).partition("?")[0][:200]


@functools.lru_cache(1_024)
def split_url(url: str) -> SplitResult:
    """Split an HTTP URL into its parts; raises BadUrl for anything else."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in _PORTS and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or parts.username is not None or any(ord(letter) <= 32 or ord(letter) == 127 for letter in url):
        raise BadUrl(
            f"{redact_url(url)!r} is not a valid URL; valid: https:// or http:// with a host, and without a user "
            "name or password."
        )
    return parts


@functools.lru_cache(1_024)
def origin(url: str) -> Origin:
    parts = split_url(url)
    return parts.scheme, parts.hostname or "", parts.port or _PORTS[parts.scheme]


@functools.lru_cache(1_024)
def format_origin(where: Origin) -> str:
    scheme, host, port = where
    name = f"[{host}]" if ":" in host else host
    return f"{scheme}://{name}" if port == _PORTS[scheme] else f"{scheme}://{name}:{port}"


class HttpAnswer:
    """A response whose body is still arriving. Read it to its end or release it."""

    def __init__(self, head: ResponseHead, link: HttpLink, web: HttpClient, where: Origin, url: str) -> None:
        self.status = head.status
        self.headers = head.headers
        self.url = url
        """The final URL, after redirects."""
        self.origin = where
        self._link = link
        self._web = web

    @property
    def media_type(self) -> str:
        """The media type without its parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    async def pieces(self) -> AsyncIterator[bytes]:
        while piece := await self._link.read():
            yield piece

    async def read_all(self, limit: int) -> bytes:
        """Read the whole body; raises Unreachable when it is larger than `limit`."""
        body = bytearray()
        try:
            async for piece in self.pieces():
                body += piece
                if len(body) > limit:
                    raise Unreachable(
                        f"The response of {format_origin(self.origin)} is larger than the limit of {limit} bytes."
                    )
        finally:
            self.release()
        return bytes(body)

    def release(self) -> None:
        """Release the connection: it is reused if the response is complete, and closed otherwise."""
        self._web.release_link(self.origin, self._link)


class HttpClient:
    """The connections to one server and to the hosts it refers to. Proxies from the environment are never used."""

    def __init__(self, outbound: OutboundPolicy, *named: str, tls: ssl.SSLContext | None = None) -> None:
        """`named` are the URLs that the operator configured."""
        self._outbound = outbound
        self._named = frozenset(origin(url) for url in named)
        self._unused: dict[Origin, list[HttpLink]] = {}
        self._links: set[HttpLink] = set()
        self._tls = tls

    async def request(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes = b"",
        *,
        private: Mapping[str, str] | None = None,
        follow: bool = True,
    ) -> HttpAnswer:
        """Send a request and return the response, after at most three redirects. Each address is checked.

        Another origin than that of `url` gets only the `headers` that describe the message: no token, key or session.
        `private` headers go only to the origin of `url`. Set `follow` to False when the body itself is secret; then a
        redirect is returned as the response.
        """
        given = origin(url)
        for _ in range(_MAX_REDIRECTS + 1):
            where = origin(url)
            sent = {**headers, **(private or {})} if where == given else _forwardable_headers(headers)
            answer = await self._request_once(method, url, where, sent, body)
            onward = answer.headers.get("location")
            if not follow or not 300 <= answer.status < 400 or answer.status == 304 or onward is None:
                return answer
            answer.release()
            url = _redirect_target(method, answer.status, where, url, onward)
        raise BadUrl(
            f"{format_origin(given)} redirects more than {_MAX_REDIRECTS} times; the last time to {redact_url(url)!r}."
        )

    async def _request_once(
        self, method: str, url: str, where: Origin, headers: Mapping[str, str], body: bytes
    ) -> HttpAnswer:
        parts = split_url(url)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        if not target.isascii():
            raise BadUrl(f"{redact_url(url)!r} contains non-ASCII characters; write them in the form %C3%A9.")
        host = format_origin(where).partition("://")[2]
        link = await self._take_link(where)
        try:
            head = await link.request(
                method,
                target,
                {"Host": host, "User-Agent": f"doorward/{__version__}", "Accept-Encoding": "identity", **headers},
                body,
            )
        except BaseException:
            self._links.discard(link)
            link.close()
            raise
        return HttpAnswer(head, link, self, where, url)

    async def _take_link(self, where: Origin) -> HttpLink:
        unused = self._unused.get(where, [])
        while unused:
            link = unused.pop()
            if link.reusable:
                return link
            self._links.discard(link)
            link.close()
        scheme, host, port = where
        addresses = await self._outbound.resolve(host, port, named=where in self._named)
        if scheme == "https" and self._tls is None:
            self._tls = await asyncio.to_thread(ssl.create_default_context)
        link = await open_link(format_origin(where), host, port, addresses, self._tls if scheme == "https" else None)
        self._links.add(link)
        return link

    def release_link(self, where: Origin, link: HttpLink) -> None:
        unused = self._unused.setdefault(where, [])
        if link in unused:
            return
        if link in self._links and link.reusable and len(unused) < _MAX_IDLE:
            unused.append(link)
        else:
            self._links.discard(link)
            link.close()

    def close(self) -> None:
        """Close every connection at once."""
        links, self._links = self._links, set()
        self._unused.clear()
        for link in links:
            link.close()


def _forwardable_headers(headers: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in headers.items()
        if name.lower() in _FORWARDABLE or name.lower().startswith(_PARAM_PREFIX)
    }


def _redirect_target(method: str, status: int, where: Origin, url: str, onward: str) -> str:
    """The target of a redirect; raises BadUrl when it must not be followed."""
    if status not in _FOLLOWED_STATUSES.get(method, frozenset()):
        raise BadUrl(
            f"{format_origin(where)} answered a {method} with the redirect {status} to {redact_url(onward)!r}, which "
            f"would change the request; valid for {method}: 307 and 308."
        )
    url = urljoin(url, onward).partition("#")[0]
    if where[0] == "https" and origin(url)[0] != "https":
        raise BadUrl(f"{format_origin(where)} redirects to {redact_url(url)!r}; from https only https is followed.")
    return url
