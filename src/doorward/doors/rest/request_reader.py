"""Reads a request: its credentials, its body as strict JSON, its query and its Accept header."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Mapping
from typing import Any

from starlette.requests import ClientDisconnect, Request

from doorward.core import strictjson
from doorward.core.command import shorten
from doorward.core.errors import BadParams
from doorward.core.model import Credential
from doorward.doors.http import headers
from doorward.doors.http.problems import HttpProblem

MAX_BODY_BYTES = 24 * 1024 * 1024
LONGEST_ARRIVAL = 10.0
"""Seconds in which the whole body must arrive."""
JSON = "application/json"
EVENT_STREAM = "text/event-stream"
_INVALID_BEARER = "not a bearer token"
"""Placeholder token for another form of Authorization header, so that the gate refuses it."""
_BEARER = re.compile(r"[Bb]earer +(\S+) *")


CSRF_HEADER = "Doorward-CSRF"
"""The header with the console page's CSRF proof."""
FOREIGN_PAGE = "not a request of our page"
"""Placeholder token for a cookie sent by another site's page, so that the gate refuses it."""
_SAME_SITES = frozenset({"same-origin", "none"})
_PORT = re.compile(r":([0-9]{1,5})$")
_MAX_COOKIES = 8
"""Cookies of one name that are checked. Browsers send those of the narrowest path first."""


def read_credentials(request: Request) -> list[Credential]:
    """The credentials of a request: its bearer token, or else the console's cookie with the page's CSRF proof.

    There are several only when the browser sends several cookies of this name, for example because somebody else set
    one for a narrower path. The gate authenticates them.
    """
    given = request.headers.getlist("authorization")
    if not given and (secrets := read_session_cookies(request)):
        return [Credential(browser=secret, proof=read_csrf_proof(request)) for secret in secrets]
    match = _BEARER.fullmatch(given[0]) if len(given) == 1 else None
    if given and match is None:
        return [Credential(token=_INVALID_BEARER)]
    return [Credential(token=match[1] if match else "")]


def is_bearer(shown: Credential) -> bool:
    """Whether the Authorization header, if any, had the form of a bearer token."""
    return shown.token != _INVALID_BEARER


def cookie_name(request: Request) -> str:
    """The name of the console's cookie. It contains the port, because browsers share cookies between the ports of a
    host, and two servers would overwrite each other's cookie."""
    port = _PORT.search(request.headers.get("host", ""))
    return f"doorward_session_{port[1]}" if port else "doorward_session"


def read_session_cookies(request: Request) -> list[str]:
    """The session secrets in the console's cookies."""
    name = cookie_name(request)
    pairs = (part.partition("=") for line in request.headers.getlist("cookie") for part in line.split(";"))
    return [value.strip() for given, _, value in pairs if given.strip() == name and value.strip()][:_MAX_COOKIES]


def read_csrf_proof(request: Request) -> str:
    return request.headers.get(CSRF_HEADER, "")


def check_same_site(request: Request) -> None:
    """Refuse a request that, as the browser reports, comes from a page of another site."""
    site = request.headers.get("sec-fetch-site", "none")
    if site not in _SAME_SITES:
        raise HttpProblem(
            "not_our_page", f"Only the console's own page may send this request; Sec-Fetch-Site was {site[:20]}."
        )


def client_address(request: Request) -> str:
    """The client's address."""
    return request.client.host if request.client is not None else ""


def negotiate_format(request: Request, offered: Collection[str]) -> str:
    """The offered format that the client prefers; the first if it has no preference."""
    given = ",".join(request.headers.getlist("accept"))
    if not given.strip():
        return next(iter(offered))
    weights = {one: headers.accept_quality(given, one) for one in offered}
    best = max(weights, key=lambda one: weights[one])
    if weights[best] <= 0:
        raise HttpProblem(
            "not_acceptable",
            f"The available formats are {' and '.join(offered)}; the Accept header was {shorten(given)}.",
        )
    return best


async def read_json_body(request: Request, most: int = MAX_BODY_BYTES) -> bytes:
    """The whole body, whose Content-Type must be JSON."""
    read = await read_body(request, most)
    if read:
        _check_media_type(request)
    return read


async def read_body(request: Request, most: int = MAX_BODY_BYTES) -> bytes:
    """The whole body, within the limits on size and time."""
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length[:20]) > most:
        raise _too_large(most, f"the Content-Length was {length[:20]}")
    encoding = request.headers.get("content-encoding", "")
    if headers.is_encoded(encoding):
        raise HttpProblem(
            "unsupported_media_type", f"The body must not have a Content-Encoding; given {encoding[:40]!r}."
        )
    read = bytearray()
    complete = False
    try:
        async with asyncio.timeout(LONGEST_ARRIVAL):
            async for chunk in request.stream():
                read += chunk
                if len(read) > most:
                    raise _too_large(most, "it has more")
        complete = True
    except ClientDisconnect as error:
        raise BadParams("The client disconnected before its request was complete.") from error
    except TimeoutError as error:
        raise HttpProblem(
            "too_slow",
            f"The body was incomplete after {LONGEST_ARRIVAL:g} s; got {len(read)} bytes.",
            headers={"Connection": "close"},
        ) from error
    finally:
        if not complete:
            read.clear()  # the error holds on to this frame until the next garbage collection
    return bytes(read)


def parse_optional_object(text: bytes) -> dict[str, Any]:
    """Parse a body as a JSON object. An empty body is an empty object."""
    return parse_object(text) if text.strip() else {}


def parse_object(text: bytes) -> dict[str, Any]:
    try:
        value = strictjson.loads(text, max_bytes=MAX_BODY_BYTES)
    except strictjson.NotJson as error:
        raise BadParams(f"The body {error.verdict}: {error}.") from error
    if not isinstance(value, dict):
        raise BadParams(f"The body must be a JSON object; given {shorten(value)}.")
    return value


def read_query(request: Request, known: Collection[str]) -> dict[str, str]:
    """The query parameters by name. Unknown and repeated ones are errors."""
    found: dict[str, str] = {}
    for name, value in request.query_params.multi_items():
        if name not in known:
            valid = ", ".join(sorted(known))
            raise BadParams(f"Unknown query parameter {shorten(name)}; valid: {valid or 'none'}.")
        if name in found:
            raise BadParams(f"The query parameter {shorten(name)} is given twice.")
        found[name] = value
    return found


def read_integer(query: Mapping[str, str], name: str, least: int, most: int, *, default: int) -> int:
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
    kind = headers.media_type(given)
    if kind != JSON and not re.fullmatch(r"application/[\w.-]+\+json", kind):
        raise HttpProblem("unsupported_media_type", f"The body must be {JSON}; the Content-Type was {shorten(given)}.")
    if not headers.is_utf_8(given):
        raise HttpProblem(
            "unsupported_media_type", f"The body must be in UTF-8; the Content-Type was {shorten(given)}."
        )
