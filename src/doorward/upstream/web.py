"""HTTP to servers of others: checked addresses, few redirects, and nothing secret to whom it is not meant for."""

from __future__ import annotations

import asyncio
import functools
import re
import ssl
from collections.abc import AsyncIterator, Mapping
from urllib.parse import SplitResult, urljoin, urlsplit

from doorward import __version__
from doorward.errors import Unreachable
from doorward.upstream.link import Head, Link, connected
from doorward.upstream.outbound import Outbound

_REDIRECTS = 3
_KEPT = 8
"""Unused connections that are kept for each origin."""
_FOLLOWED = {
    "GET": frozenset({301, 302, 303, 307, 308}),
    "POST": frozenset({307, 308}),
    "DELETE": frozenset({307, 308}),
}
"""What is followed. A POST that became a GET would be another request, so such a redirect is refused."""
_FOR_ANYBODY = frozenset({"accept", "content-type", "last-event-id", "mcp-protocol-version", "mcp-method", "mcp-name"})
_REPEATED = "mcp-param-"
"""Headers that begin so repeat arguments of the message, which goes wherever the redirect leads."""
_PORTS = {"http": 80, "https": 443}
_ACCOUNT = re.compile(r"//[^/?#]*@")
Origin = tuple[str, str, int]


class BadAddress(Unreachable):
    """No address of the web, or one that is not followed."""

    retry = "after_fix"


def public(url: str) -> str:
    """An address for sentences: what stands before the host or behind the question mark can be a secret."""
    return _ACCOUNT.sub("//", url).partition("?")[0][:200]


@functools.lru_cache(1_024)
def split(url: str) -> SplitResult:
    """The parts of an address of the web; BadAddress for anything else."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in _PORTS and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or parts.username is not None or any(ord(letter) <= 32 or ord(letter) == 127 for letter in url):
        raise BadAddress(
            f"{public(url)!r} is no address that can be asked; valid are https:// and http:// with a host and no "
            f"name or password before it."
        )
    return parts


@functools.lru_cache(1_024)
def origin(url: str) -> Origin:
    parts = split(url)
    return parts.scheme, parts.hostname or "", parts.port or _PORTS[parts.scheme]


@functools.lru_cache(1_024)
def shown(where: Origin) -> str:
    scheme, host, port = where
    name = f"[{host}]" if ":" in host else host
    return f"{scheme}://{name}" if port == _PORTS[scheme] else f"{scheme}://{name}:{port}"


class Answer:
    """An answer whose body is still on its way. It must be read to its end or released."""

    def __init__(self, head: Head, link: Link, web: Web, where: Origin, url: str) -> None:
        self.status = head.status
        self.headers = head.headers
        self.url = url
        """Where it came from in the end."""
        self.where = where
        self._link = link
        self._web = web

    @property
    def kind(self) -> str:
        """The media type without its parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    async def pieces(self) -> AsyncIterator[bytes]:
        while piece := await self._link.read():
            yield piece

    async def whole(self, limit: int) -> bytes:
        """All of the body; Unreachable when it is larger than `limit`."""
        body = bytearray()
        try:
            async for piece in self.pieces():
                body += piece
                if len(body) > limit:
                    raise Unreachable(
                        f"The answer of {shown(self.where)} is larger than the {limit} bytes that are read of it."
                    )
        finally:
            self.release()
        return bytes(body)

    def release(self) -> None:
        """Done with it: the connection is used again if the whole answer has come, and closed otherwise."""
        self._web.take_back(self.where, self._link)


class Web:
    """The connections to one server, and to those that it refers to. No proxy of the environment is ever used."""

    def __init__(self, outbound: Outbound, *named: str, tls: ssl.SSLContext | None = None) -> None:
        """`named` are the addresses that the operator wrote down."""
        self._outbound = outbound
        self._named = frozenset(origin(url) for url in named)
        self._unused: dict[Origin, list[Link]] = {}
        self._links: set[Link] = set()
        self._tls = tls

    async def ask(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes = b"",
        *,
        private: Mapping[str, str] | None = None,
        follow: bool = True,
    ) -> Answer:
        """The answer to a request, after at most three redirects; each is checked as the first address was.

        Whoever is elsewhere than `url` gets only those of `headers` that say what the message is: no token, no key, no
        session. What is `private` stays with `url` whatever it is called. Where the body itself is a secret, `follow`
        is to be off, and a redirect is the answer.
        """
        given = origin(url)
        for _ in range(_REDIRECTS + 1):
            where = origin(url)
            sent = {**headers, **(private or {})} if where == given else _for_anybody(headers)
            answer = await self._once(method, url, where, sent, body)
            onward = answer.headers.get("location")
            if not follow or not 300 <= answer.status < 400 or answer.status == 304 or onward is None:
                return answer
            answer.release()
            url = _followed(method, answer.status, where, url, onward)
        raise BadAddress(f"{shown(given)} redirects more than {_REDIRECTS} times; the last time to {public(url)!r}.")

    async def _once(self, method: str, url: str, where: Origin, headers: Mapping[str, str], body: bytes) -> Answer:
        parts = split(url)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        if not target.isascii():
            raise BadAddress(f"{public(url)!r} holds characters that an address must write in the form %C3%A9.")
        host = shown(where).partition("://")[2]
        link = await self._link(where)
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
        return Answer(head, link, self, where, url)

    async def _link(self, where: Origin) -> Link:
        unused = self._unused.get(where, [])
        while unused:
            link = unused.pop()
            if link.reusable:
                return link
            self._links.discard(link)
            link.close()
        scheme, host, port = where
        addresses = await self._outbound.addresses(host, port, named=where in self._named)
        if scheme == "https" and self._tls is None:
            self._tls = await asyncio.to_thread(ssl.create_default_context)
        link = await connected(shown(where), host, port, addresses, self._tls if scheme == "https" else None)
        self._links.add(link)
        return link

    def take_back(self, where: Origin, link: Link) -> None:
        unused = self._unused.setdefault(where, [])
        if link in unused:
            return
        if link in self._links and link.reusable and len(unused) < _KEPT:
            unused.append(link)
        else:
            self._links.discard(link)
            link.close()

    def close(self) -> None:
        """End every connection at once."""
        links, self._links = self._links, set()
        self._unused.clear()
        for link in links:
            link.close()


def _for_anybody(headers: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in headers.items()
        if name.lower() in _FOR_ANYBODY or name.lower().startswith(_REPEATED)
    }


def _followed(method: str, status: int, where: Origin, url: str, onward: str) -> str:
    """The address that a redirect leads to, if it is one to follow."""
    if status not in _FOLLOWED.get(method, frozenset()):
        raise BadAddress(
            f"{shown(where)} answered a {method} with the redirect {status} to {public(onward)!r}, which would make it "
            f"another request; valid for {method}: 307 and 308."
        )
    url = urljoin(url, onward).partition("#")[0]
    if where[0] == "https" and origin(url)[0] != "https":
        raise BadAddress(f"{shown(where)} redirects to {public(url)!r}; from https only https is followed.")
    return url
