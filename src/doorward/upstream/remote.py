"""Opens HTTP connections to remote servers, with authorization and address checks."""

from __future__ import annotations

from pathlib import Path

import msgspec

from doorward.clock import Clock
from doorward.upstream.authorizing import Authorizer, Fixed
from doorward.upstream.config import ServerConfig
from doorward.upstream.connection import Connection, Receiver
from doorward.upstream.http import HttpConnection
from doorward.upstream.oauth.login import Person
from doorward.upstream.oauth.oauth import Means, OAuth
from doorward.upstream.outbound import Outbound
from doorward.upstream.tokens import TokenFile
from doorward.upstream.web import Web


class Remote(msgspec.Struct, frozen=True, kw_only=True):
    """What the HTTP connections of one Doorward server share."""

    home: Path
    outbound: Outbound
    clock: Clock
    document: str = ""
    """URL of Doorward's client ID metadata document, for authorization servers that support it."""
    callback_port: int = 0
    person: Person | None = None
    """Sends a person to a login during a call; None in a running server."""

    async def connect(self, config: ServerConfig, receiver: Receiver) -> Connection:
        """Create a connection. Nothing is sent yet."""
        web = self._web(config)
        return HttpConnection(config, receiver, web, self._authorizer(config, web))

    async def log_in(self, config: ServerConfig, person: Person) -> None:
        """Let a person log in to a server, and store the tokens for later calls."""
        web = self._web(config)
        try:
            await OAuth(config, web, self._means(config, person)).log_in()
        finally:
            web.close()

    def log_out(self, config: ServerConfig) -> bool:
        """Delete the stored login; return whether there was a token."""
        return TokenFile(self.home, config.id, config.url).forget()

    def _web(self, config: ServerConfig) -> Web:
        token_url = config.auth.token_url if config.auth is not None else ""
        return Web(self.outbound, config.url, *([token_url] if token_url else []))

    def _authorizer(self, config: ServerConfig, web: Web) -> Authorizer:
        if config.auth is not None and config.auth.type == "bearer":
            return Fixed(config.id, config.auth.token)
        if config.auth is None and any(name.lower() == "authorization" for name in config.headers):
            return Fixed(config.id)
        return OAuth(config, web, self._means(config, self.person))

    def _means(self, config: ServerConfig, person: Person | None) -> Means:
        return Means(
            file=TokenFile(self.home, config.id, config.url),
            clock=self.clock,
            document=self.document,
            port=self.callback_port,
            person=person,
        )
