"""Fetches the small JSON documents of OAuth: metadata, registrations, tokens."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from doorward import strictjson
from doorward.errors import Unreachable
from doorward.upstream.web import Web, origin, shown

_PATIENCE = 30.0
_LARGEST = 1024 * 1024


async def fetch(
    web: Web, method: str, url: str, headers: Mapping[str, str] | None = None, body: bytes = b""
) -> tuple[int, dict[str, Any] | None]:
    """Return the status and the JSON object of the answer, None when it is not an object. Raises Unreachable.

    A POST contains codes and secrets, so redirects are followed only for GET.
    """
    try:
        async with asyncio.timeout(_PATIENCE):
            shows = {"Accept": "application/json", **(headers or {})}
            answer = await web.ask(method, url, shows, body, follow=method == "GET")
            try:
                text = await answer.whole(_LARGEST)
            finally:
                answer.release()
    except TimeoutError as error:
        raise Unreachable(f"{shown(origin(url))} did not answer within {_PATIENCE:g} seconds.") from error
    try:
        value = strictjson.loads(text, max_bytes=_LARGEST)
    except strictjson.NotJson:
        return answer.status, None
    return answer.status, value if isinstance(value, dict) else None
