"""The HTTP endpoint of a server: sends requests with authorization and handles challenges."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from doorward.errors import DoorwardError, Unreachable
from doorward.upstream.authorizing import Authorizer, Challenge
from doorward.upstream.config import ServerConfig
from doorward.upstream.connection import Rejected
from doorward.upstream.web import Answer, Web, origin, shown

_CHALLENGES = 2
"""How often one request is retried with a new authorization."""
_WORDS = re.compile(r"(?:/(?:[a-z._-]{0,24}|v[0-9]{1,2}))*", re.IGNORECASE)
"""A path made of plain words, so that no part of it is a key."""


class Endpoint:
    def __init__(self, config: ServerConfig, web: Web, authorizer: Authorizer) -> None:
        self.where = shown(origin(config.url))
        """The server's origin, for messages. The rest of the URL can contain secrets."""
        self._url = config.url
        self._extra = dict(config.headers)
        self._web = web
        self._authorizer = authorizer

    async def ask(self, method: str, headers: Mapping[str, str], body: bytes = b"") -> Answer:
        """Send a request and return the answer, after any authorization challenges."""
        own = {name.lower() for name in headers}
        extra = {name: value for name, value in self._extra.items() if name.lower() not in own}
        for _ in range(_CHALLENGES + 1):
            shows = await self._authorizer.headers()
            answer = await self._web.ask(method, self._url, headers, body, private={**extra, **shows})
            if answer.status not in (401, 403):
                return answer
            sent = shows.get("Authorization", extra.get("Authorization", ""))
            challenge = Challenge(answer.status, answer.headers.get("www-authenticate", ""), sent)
            if answer.status == 403 and not challenge.wants_more:
                return answer
            answer.release()
            if answer.where != origin(self._url):
                raise Unreachable(f"{self.where} redirects to {shown(answer.where)}, which answered {answer.status}.")
            await self._authorizer.challenged(challenge)
        raise Unreachable(f"{self.where} rejected the authorization {_CHALLENGES + 1} times.")

    def refusal(self, answer: Answer, words: str = "") -> DoorwardError:
        """The error for an answer without an MCP message. `words` is its text instead."""
        says = f" It says: {words}" if words else ""
        if answer.status < 400:
            kind = f"of the type {answer.kind[:80]!r}" if answer.kind else "without a type"
            return Rejected(f"{self.where} answered {answer.status}, {kind}, without an MCP message.")
        if answer.status in (429, 503) or answer.status >= 500:
            after = answer.headers.get("retry-after", "")
            return Unreachable(
                f"{self.where} answered {answer.status}; it is not available now.{says}",
                retry_after=float(after) if after.isdigit() and len(after) < 6 else None,
            )
        path = urlsplit(self._url).path
        at = f" to {path}" if answer.status == 404 and _WORDS.fullmatch(path) else ""
        return Rejected(f"{self.where} answered {answer.status}{at}, without an MCP message.{says}")
