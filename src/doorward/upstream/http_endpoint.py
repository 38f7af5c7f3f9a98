"""The HTTP endpoint of a server: sends requests with authorization and handles challenges."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from doorward.core.errors import DoorwardError, Unreachable
from doorward.core.strictjson import DECODE_ERRORS
from doorward.core.wire import http
from doorward.core.wire.codes import HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION, WITH_SESSIONS
from doorward.core.wire.frames import failure
from doorward.core.wire.meta import VERSION
from doorward.upstream.authorization import Challenge, RequestAuthorizer
from doorward.upstream.config import ServerConfig
from doorward.upstream.connection import RequestRejected
from doorward.upstream.http_client import HttpAnswer, HttpClient, format_origin, origin

_MAX_ERROR_TEXT = 300
_NEWER_ERRORS = frozenset({HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION})


class _MessageError(msgspec.Struct):
    code: int
    message: str = ""
    data: Any = None


class _MessageTop(msgspec.Struct):
    id: str | int | None = None
    method: str | None = None
    error: _MessageError | None = None


class _ErrorTexts(msgspec.Struct):
    """Fields in which web services put the reason of an error."""

    error: Any = None
    message: Any = None
    detail: Any = None


_loose = msgspec.json.Decoder(_ErrorTexts)
_top = msgspec.json.Decoder(_MessageTop)


def declared_version(params: Mapping[str, Any] | None) -> str:
    """The protocol version in a request's `_meta`; empty for versions with sessions."""
    meta = (params or {}).get("_meta")
    version = meta.get(VERSION) if isinstance(meta, Mapping) else None
    return version if isinstance(version, str) and version not in WITH_SESSIONS else ""


def is_answer_to(message: bytes, id: int) -> bool:
    try:
        top = _top.decode(message)
    except DECODE_ERRORS:
        return False
    return top.method is None and top.id == id


def extract_error(body: bytes, id: int) -> bytes | None:
    """The JSON-RPC error in an HTTP error response, as the response to this request; None when there is none.

    A server that refuses before it reads the request does not know the id. Error codes of the newer version are
    accepted without it, because they distinguish newer servers from older ones.
    """
    try:
        top = _top.decode(body)
    except DECODE_ERRORS:
        return None
    if top.error is None or top.method is not None:
        return None
    if top.id == id:
        return body.strip()
    if top.id is None and top.error.code in _NEWER_ERRORS:
        return failure(id, top.error.code, top.error.message, top.error.data)
    return None


def extract_error_text(body: bytes, kind: str) -> str:
    """The human-readable text of an error response; empty when there is none."""
    if kind == "application/json":
        try:
            found = _loose.decode(body)
        except DECODE_ERRORS:
            return ""
        inner = found.error.get("message") if isinstance(found.error, dict) else found.error
        text = next((one for one in (inner, found.message, found.detail) if isinstance(one, str)), "")
    elif kind == "text/plain":
        text = body[: 4 * _MAX_ERROR_TEXT].decode("utf-8", "replace")
    else:
        return ""
    line = " ".join(text.split())
    return line if len(line) <= _MAX_ERROR_TEXT else f"{line[:_MAX_ERROR_TEXT]}…"


HEADER_KEY = "x-mcp-header"
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}")
_TYPES = ("string", "integer", "boolean")
_SAFE = 2**53
HeaderParams = Mapping[str, tuple[str, ...]]


def find_header_params(schema: Mapping[str, Any]) -> HeaderParams:
    """Find the header names and the argument paths of their values; raises ValueError for an invalid schema."""
    found: dict[str, tuple[str, ...]] = {}
    seen: set[str] = set()
    for path, part in _iterate_properties(schema, ()):
        if HEADER_KEY not in part:
            continue
        name, where = part[HEADER_KEY], ".".join(path)
        if not isinstance(name, str) or not _TOKEN.fullmatch(name):
            raise ValueError(f"`{HEADER_KEY}` of {where!r} must be a valid header name; given {name!r:.80}")
        if part.get("type") not in _TYPES:
            raise ValueError(
                f"`{HEADER_KEY}` of {where!r} requires the type {', '.join(_TYPES)}; given {part.get('type')!r:.80}"
            )
        if name.lower() in seen:
            raise ValueError(f"`{HEADER_KEY}` must be unique for each parameter; {name!r} is given twice")
        seen.add(name.lower())
        found[name] = path
    if _count_header_keys(schema) != len(found):
        raise ValueError(f"`{HEADER_KEY}` is valid only in parameters that are reached through `properties` alone")
    return found


def make_param_headers(wanted: HeaderParams, arguments: Any) -> dict[str, str]:
    """The headers for these arguments. Absent and null values have none."""
    return {
        f"Mcp-Param-{name}": text
        for name, path in wanted.items()
        if (text := _format_value(_get_at(arguments, path))) is not None
    }


def _iterate_properties(schema: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    inside = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(inside, Mapping):
        return
    for name, part in inside.items():
        if isinstance(part, dict):
            yield (*path, name), part
            yield from _iterate_properties(part, (*path, name))


def _count_header_keys(part: Any, named: bool = False) -> int:
    """Count `x-mcp-header` keys anywhere. Directly under `properties` it would be a parameter name."""
    if isinstance(part, Mapping):
        here = int(not named and HEADER_KEY in part)
        return here + sum(
            _count_header_keys(value, named=key == "properties" and not named) for key, value in part.items()
        )
    if isinstance(part, list):
        return sum(_count_header_keys(value) for value in part)
    return 0


def _get_at(value: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def _format_value(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int):
        return str(value) if -_SAFE < value < _SAFE else None
    return http.encode_header(value) if isinstance(value, str) else None


_MAX_CHALLENGES = 2
"""How often one request is retried with a new authorization."""
_PLAIN_PATH = re.compile(r"(?:/(?:[a-z._-]{0,24}|v[0-9]{1,2}))*", re.IGNORECASE)
"""A path made of plain words, so that no part of it is a key."""


class ServerEndpoint:
    def __init__(self, config: ServerConfig, web: HttpClient, authorizer: RequestAuthorizer) -> None:
        self.origin = format_origin(origin(config.url))
        """The server's origin, for messages. The rest of the URL can contain secrets."""
        self._url = config.url
        self._extra = dict(config.headers)
        self._web = web
        self._authorizer = authorizer

    async def request(self, method: str, headers: Mapping[str, str], body: bytes = b"") -> HttpAnswer:
        """Send a request and return the answer, after any authorization challenges."""
        own = {name.lower() for name in headers}
        extra = {name: value for name, value in self._extra.items() if name.lower() not in own}
        for _ in range(_MAX_CHALLENGES + 1):
            shows = await self._authorizer.headers()
            answer = await self._web.request(method, self._url, headers, body, private={**extra, **shows})
            if answer.status not in (401, 403):
                return answer
            sent = shows.get("Authorization", extra.get("Authorization", ""))
            challenge = Challenge(answer.status, answer.headers.get("www-authenticate", ""), sent)
            if answer.status == 403 and not challenge.needs_more_scope:
                return answer
            answer.release()
            if answer.origin != origin(self._url):
                raise Unreachable(
                    f"{self.origin} redirects to {format_origin(answer.origin)}, which answered {answer.status}."
                )
            await self._authorizer.challenged(challenge)
        raise Unreachable(f"{self.origin} rejected the authorization {_MAX_CHALLENGES + 1} times.")

    def make_error(self, answer: HttpAnswer, words: str = "") -> DoorwardError:
        """The error for an answer without an MCP message. `words` is its text instead."""
        says = f" It says: {words}" if words else ""
        if answer.status < 400:
            kind = f"of the type {answer.media_type[:80]!r}" if answer.media_type else "without a type"
            return RequestRejected(f"{self.origin} answered {answer.status}, {kind}, without an MCP message.")
        if answer.status in (429, 503) or answer.status >= 500:
            after = answer.headers.get("retry-after", "")
            return Unreachable(
                f"{self.origin} answered {answer.status}; it is not available now.{says}",
                retry_after=float(after) if after.isdigit() and len(after) < 6 else None,
            )
        path = urlsplit(self._url).path
        at = f" to {path}" if answer.status == 404 and _PLAIN_PATH.fullmatch(path) else ""
        return RequestRejected(f"{self.origin} answered {answer.status}{at}, without an MCP message.{says}")
