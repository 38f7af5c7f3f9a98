"""Authorization of HTTP requests to servers, and the handling of challenges."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Protocol

import msgspec

from doorward.core.errors import Unreachable

_PARAMETER = re.compile(r'([A-Za-z0-9_-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))')
_ESCAPED = re.compile(r"\\(.)")


class Challenge(msgspec.Struct, frozen=True):
    """A server's 401 or 403 response to a request."""

    status: int
    header: str
    """The `WWW-Authenticate` header as received."""
    sent: str
    """The `Authorization` header that was rejected; empty when there was none."""

    @property
    def parameters(self) -> dict[str, str]:
        """The parameters of the challenge. When one is repeated, the first counts."""
        found: dict[str, str] = {}
        for name, quoted, plain in _PARAMETER.findall(self.header[:8_192]):
            found.setdefault(name.lower(), plain or _ESCAPED.sub(r"\1", quoted))
        return found

    @property
    def needs_more_scope(self) -> bool:
        """Whether the token is valid but its scope is insufficient."""
        return self.status == 403 and self.parameters.get("error") == "insufficient_scope"


class LoginRequired(Unreachable):
    """The server requires a login that only a person can do."""

    retry = "after_fix"


class RequestAuthorizer(Protocol):
    async def headers(self) -> Mapping[str, str]:
        """The headers that authorize a request; empty when there are none."""

    async def challenged(self, challenge: Challenge) -> None:
        """Handle a challenge without a person. Returns when a retry may succeed, and raises otherwise."""


class FixedToken:
    """Sends the token from the server's entry, and nothing else."""

    def __init__(self, server: str, token: str = "") -> None:
        self._server = server
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}

    async def headers(self) -> Mapping[str, str]:
        return self._headers

    async def challenged(self, challenge: Challenge) -> None:
        raise LoginRequired(
            f"The server {self._server!r} rejected the token in its entry: it answered {challenge.status}.",
            hint="Put a valid token into its entry in mcp-servers.json.",
        )
