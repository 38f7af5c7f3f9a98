"""Reads a request: its credentials, its body as strict JSON, its query and its Accept header."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Mapping
from typing import Any

from starlette.requests import ClientDisconnect, Request

from doorward import strictjson
from doorward.command import shortened
from doorward.doors import media
from doorward.doors.rest.problems import HttpProblem
from doorward.errors import BadParams
from doorward.model import Credential

LARGEST_BODY = 24 * 1024 * 1024
LONGEST_ARRIVAL = 10.0
"""Seconds in which the whole body must arrive."""
JSON = "application/json"
EVENT_STREAM = "text/event-stream"
_NO_BEARER = "not a bearer token"
"""Placeholder token for another form of Authorization header, so that the gate refuses it."""
_BEARER = re.compile(r"[Bb]earer +(\S+) *")


PROOF = "Doorward-CSRF"
"""The header with the console page's CSRF proof."""
NOT_OUR_PAGE = "not a request of our page"
"""Placeholder token for a cookie sent by another site's page, so that the gate refuses it."""
_OUR_SITES = frozenset({"same-origin", "none"})
_PORT = re.compile(r":([0-9]{1,5})$")
_MOST_COOKIES = 8
"""Cookies of one name that are checked. Browsers send those of the narrowest path first."""


def credentials(request: Request) -> list[Credential]:
    """The credentials of a request: its bearer token, or else the console's cookie with the page's CSRF proof.

    There are several only when the browser sends several cookies of this name, for example because somebody else set
    one for a narrower path. The gate authenticates them.
    """
    given = request.headers.getlist("authorization")
    if not given and (secrets := cookies(request)):
        return [Credential(browser=secret, proof=proof(request)) for secret in secrets]
    match = _BEARER.fullmatch(given[0]) if len(given) == 1 else None
    if given and match is None:
        return [Credential(token=_NO_BEARER)]
    return [Credential(token=match[1] if match else "")]


def is_bearer(shown: Credential) -> bool:
    """Whether the Authorization header, if any, had the form of a bearer token."""
    return shown.token != _NO_BEARER


def cookie_name(request: Request) -> str:
    """The name of the console's cookie. It contains the port, because browsers share cookies between the ports of a
    host, and two servers would overwrite each other's cookie."""
    port = _PORT.search(request.headers.get("host", ""))
    return f"doorward_session_{port[1]}" if port else "doorward_session"


def cookies(request: Request) -> list[str]:
    """The session secrets in the console's cookies."""
    name = cookie_name(request)
    pairs = (part.partition("=") for line in request.headers.getlist("cookie") for part in line.split(";"))
    return [value.strip() for given, _, value in pairs if given.strip() == name and value.strip()][:_MOST_COOKIES]


def proof(request: Request) -> str:
    return request.headers.get(PROOF, "")


def of_our_page(request: Request) -> None:
    """Refuse a request that, as the browser reports, comes from a page of another site."""
    site = request.headers.get("sec-fetch-site", "none")
    if site not in _OUR_SITES:
        raise HttpProblem(
            "not_our_page", f"Only the console's own page may send this request; Sec-Fetch-Site was {site[:20]}."
        )


def address(request: Request) -> str:
    """The client's address."""
    return request.client.host if request.client is not None else ""


def accepts(request: Request, offered: Collection[str]) -> str:
    """The offered format that the client prefers; the first if it has no preference."""
    given = ",".join(request.headers.getlist("accept"))
    if not given.strip():
        return next(iter(offered))
    weights = {one: media.liking(given, one) for one in offered}
    best = max(weights, key=lambda one: weights[one])
    if weights[best] <= 0:
        raise HttpProblem(
            "not_acceptable",
            f"The available formats are {' and '.join(offered)}; the Accept header was {shortened(given)}.",
        )
    return best


async def body(request: Request, most: int = LARGEST_BODY) -> bytes:
    """The whole body, whose Content-Type must be JSON."""
    read = await whole(request, most)
    if read:
        _check_media_type(request)
    return read


async def whole(request: Request, most: int = LARGEST_BODY) -> bytes:
    """The whole body, within the limits on size and time."""
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length[:20]) > most:
        raise _too_large(most, f"the Content-Length was {length[:20]}")
    encoding = request.headers.get("content-encoding", "")
    if media.is_encoded(encoding):
        raise HttpProblem(
            "unsupported_media_type", f"The body must not have a Content-Encoding; given {encoding[:40]!r}."
        )
    read = bytearray()
    try:
        async with asyncio.timeout(LONGEST_ARRIVAL):
            async for chunk in request.stream():
                read += chunk
                if len(read) > most:
                    raise _too_large(most, "it has more")
    except ClientDisconnect as error:
        raise BadParams("The client disconnected before its request was complete.") from error
    except TimeoutError as error:
        raise HttpProblem(
            "too_slow",
            f"The body was incomplete after {LONGEST_ARRIVAL:g} s; got {len(read)} bytes.",
            headers={"Connection": "close"},
        ) from error
    return bytes(read)


def parsed(text: bytes) -> dict[str, Any]:
    """Parse a body as a JSON object. An empty body is an empty object."""
    return object_in(text) if text.strip() else {}


def object_in(text: bytes) -> dict[str, Any]:
    try:
        value = strictjson.loads(text, max_bytes=LARGEST_BODY)
    except strictjson.NotJson as error:
        raise BadParams(f"The body {error.verdict}: {error}.") from error
    if not isinstance(value, dict):
        raise BadParams(f"The body must be a JSON object; given {shortened(value)}.")
    return value


def query(request: Request, known: Collection[str]) -> dict[str, str]:
    """The query parameters by name. Unknown and repeated ones are errors."""
    found: dict[str, str] = {}
    for name, value in request.query_params.multi_items():
        if name not in known:
            valid = ", ".join(sorted(known))
            raise BadParams(f"Unknown query parameter {shortened(name)}; valid: {valid or 'none'}.")
        if name in found:
            raise BadParams(f"The query parameter {shortened(name)} is given twice.")
        found[name] = value
    return found


def number(query: Mapping[str, str], name: str, least: int, most: int, *, default: int) -> int:
    """An integer of the query."""
    given = query.get(name)
    if given is None:
        return default
    if not (given.isascii() and given.isdecimal() and len(given) <= 9 and least <= int(given) <= most):
        raise BadParams(f"The query parameter {name} must be an integer from {least} to {most}; given {given[:80]!r}.")
    return int(given)


def _too_large(most: int, given: str) -> HttpProblem:
    return HttpProblem(
        "too_large", f"The body may have at most {most} bytes; {given}.", headers={"Connection": "close"}
    )


def _check_media_type(request: Request) -> None:
    given = request.headers.get("content-type", "")
    kind = media.plain(given)
    if kind != JSON and not re.fullmatch(r"application/[\w.-]+\+json", kind):
        raise HttpProblem(
            "unsupported_media_type", f"The body must be {JSON}; the Content-Type was {shortened(given)}."
        )
    if not media.is_utf_8(given):
        raise HttpProblem(
            "unsupported_media_type", f"The body must be in UTF-8; the Content-Type was {shortened(given)}."
        )
