"""How a request over HTTP shows who asks, and what is done when that was not enough."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Protocol

import msgspec

from doorward.errors import Unreachable

_PARAMETER = re.compile(r'([A-Za-z0-9_-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))')
_ESCAPED = re.compile(r"\\(.)")


class Challenge(msgspec.Struct, frozen=True):
    """A server's no to a request: who is it, and what more may it do."""

    status: int
    header: str
    """`WWW-Authenticate`, as it came."""
    sent: str
    """The `Authorization` that was not good enough; empty when there was none."""

    @property
    def parameters(self) -> dict[str, str]:
        """What the scheme says beside its name; the first of each counts."""
        found: dict[str, str] = {}
        for name, quoted, plain in _PARAMETER.findall(self.header[:8_192]):
            found.setdefault(name.lower(), plain or _ESCAPED.sub(r"\1", quoted))
        return found

    @property
    def wants_more(self) -> bool:
        """Whether the token is good, and only does not reach far enough."""
        return self.status == 403 and self.parameters.get("error") == "insufficient_scope"


class NotLetIn(Unreachable):
    """The server does not know who asks, and only a person can change that."""

    retry = "after_fix"


class Authorizer(Protocol):
    async def headers(self) -> Mapping[str, str]:
        """What to send along, as far as there is something."""

    async def challenged(self, challenge: Challenge) -> None:
        """Do what can be done without a person. It returns when asking again is worth it, and raises otherwise."""


class Fixed:
    """What the operator wrote into the entry of a server, and nothing else."""

    def __init__(self, server: str, token: str = "") -> None:
        self._server = server
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}

    async def headers(self) -> Mapping[str, str]:
        return self._headers

    async def challenged(self, challenge: Challenge) -> None:
        raise NotLetIn(
            f"The server {self._server!r} does not accept the token of its entry: it answered {challenge.status}.",
            hint="Put a valid token into its entry in mcp-servers.json.",
        )
