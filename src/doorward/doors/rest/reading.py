"""What a request brings: its token, its body as strict JSON, its query, and what it accepts for an answer."""

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
"""Seconds in which the whole body of a request must have come."""
JSON = "application/json"
EVENT_STREAM = "text/event-stream"
_NO_BEARER = "not a bearer token"
"""Stands for whatever else an Authorization header holds, so that the gate refuses it."""
_BEARER = re.compile(r"[Bb]earer +(\S+) *")


PROOF = "Doorward-CSRF"
"""The header in which the console's page shows what only it can know."""
NOT_OUR_PAGE = "not a request of our page"
"""Stands for a cookie that another site's page sent along, so that the gate refuses it."""
_OUR_SITES = frozenset({"same-origin", "none"})
_PORT = re.compile(r":([0-9]{1,5})$")
_MOST_COOKIES = 8
"""So many of one name are looked at; browsers send those of the narrowest path first."""


def credentials(request: Request) -> list[Credential]:
    """What may vouch for a request: the bearer token, from the one header that carries it, or else the console's
    cookie and the page's proof. Who it speaks for is for the gate to say.

    There are several only where the browser sends several cookies of the console's name, as when somebody else put one
    there for a narrower path.
    """
    given = request.headers.getlist("authorization")
    if not given and (secrets := cookies(request)):
        return [Credential(browser=secret, proof=proof(request)) for secret in secrets]
    match = _BEARER.fullmatch(given[0]) if len(given) == 1 else None
    if given and match is None:
        return [Credential(token=_NO_BEARER)]
    return [Credential(token=match[1] if match else "")]


def is_bearer(shown: Credential) -> bool:
    """Whether what vouches for a request, if anything does, is of the form that is taken here."""
    return shown.token != _NO_BEARER


def cookie_name(request: Request) -> str:
    """The name of the console's cookie. Browsers keep cookies by host alone, so two houses on one host, on two ports,
    would take each other's place without the port in it."""
    port = _PORT.search(request.headers.get("host", ""))
    return f"doorward_session_{port[1]}" if port else "doorward_session"


def cookies(request: Request) -> list[str]:
    """The secrets in cookies of the console's name."""
    name = cookie_name(request)
    pairs = (part.partition("=") for line in request.headers.getlist("cookie") for part in line.split(";"))
    return [value.strip() for given, _, value in pairs if given.strip() == name and value.strip()][:_MOST_COOKIES]


def proof(request: Request) -> str:
    return request.headers.get(PROOF, "")


def of_our_page(request: Request) -> None:
    """Refuse what a browser says another site's page asks for."""
    site = request.headers.get("sec-fetch-site", "none")
    if site not in _OUR_SITES:
        raise HttpProblem("not_our_page", f"Only the console's own page asks for this; the request is {site[:20]}.")


def address(request: Request) -> str:
    """Where it came from, as far as the connection tells."""
    return request.client.host if request.client is not None else ""


def accepts(request: Request, offered: Collection[str]) -> str:
    """The format, of those offered, that this client likes best; the first where it does not care."""
    given = ",".join(request.headers.getlist("accept"))
    if not given.strip():
        return next(iter(offered))
    weights = {one: media.liking(given, one) for one in offered}
    best = max(weights, key=lambda one: weights[one])
    if weights[best] <= 0:
        raise HttpProblem(
            "not_acceptable", f"This answers with {' or '.join(offered)}; the Accept header was {shortened(given)}."
        )
    return best


async def body(request: Request, most: int = LARGEST_BODY) -> bytes:
    """The whole body, which must say that it is JSON."""
    read = await whole(request, most)
    if read:
        _check_media_type(request)
    return read


async def whole(request: Request, most: int = LARGEST_BODY) -> bytes:
    """The whole body, read no further than its limit and waited for no longer than it may take."""
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length[:20]) > most:
        raise _too_large(most, f"{length[:20]} bytes were announced")
    encoding = request.headers.get("content-encoding", "")
    if media.is_encoded(encoding):
        raise HttpProblem(
            "unsupported_media_type", f"A body is sent as it is, without a Content-Encoding; given {encoding[:40]!r}."
        )
    read = bytearray()
    try:
        async with asyncio.timeout(LONGEST_ARRIVAL):
            async for chunk in request.stream():
                read += chunk
                if len(read) > most:
                    raise _too_large(most, "more came")
    except ClientDisconnect as error:
        raise BadParams("The caller hung up before its request had come whole.") from error
    except TimeoutError as error:
        raise HttpProblem(
            "too_slow",
            f"The request did not arrive whole within {LONGEST_ARRIVAL:g} s; {len(read)} bytes came.",
            headers={"Connection": "close"},
        ) from error
    return bytes(read)


def parsed(text: bytes) -> dict[str, Any]:
    """A body as the object it must be; none at all is an empty one."""
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
    """The query by name: each of those known, and none twice."""
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
    """A whole number of the query."""
    given = query.get(name)
    if given is None:
        return default
    if not (given.isascii() and given.isdecimal() and len(given) <= 9 and least <= int(given) <= most):
        raise BadParams(f"The query parameter {name} is a whole number from {least} to {most}; given {given[:80]!r}.")
    return int(given)


def _too_large(most: int, given: str) -> HttpProblem:
    return HttpProblem(
        "too_large", f"This request holds at most {most} bytes; {given}.", headers={"Connection": "close"}
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
