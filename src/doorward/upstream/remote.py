"""Servers elsewhere: how a connection to one over HTTP is made, with everything that it has to keep to."""

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
    """What connections over HTTP share in one house."""

    home: Path
    outbound: Outbound
    clock: Clock
    document: str = ""
    """The address of a document about this house, for authorization servers that read such."""
    callback_port: int = 0
    person: Person | None = None
    """Whom to send to a login in the middle of a call; nobody, in a house."""

    async def connect(self, config: ServerConfig, receiver: Receiver) -> Connection:
        """Nothing is sent yet: over HTTP every message finds its own way."""
        web = self._web(config)
        return HttpConnection(config, receiver, web, self._authorizer(config, web))

    async def log_in(self, config: ServerConfig, person: Person) -> None:
        """Have a person log in to a server; what they get is kept for the calls to come."""
        web = self._web(config)
        try:
            await OAuth(config, web, self._means(config, person)).log_in()
        finally:
            web.close()

    def log_out(self, config: ServerConfig) -> bool:
        """Forget what a login brought; whether there was a token among it."""
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
