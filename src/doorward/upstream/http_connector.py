"""Opens HTTP connections to remote servers, with authorization and address checks."""

from __future__ import annotations

from pathlib import Path

import msgspec

from doorward.core.clock import Clock
from doorward.upstream.authorization import FixedToken, RequestAuthorizer
from doorward.upstream.config import ServerConfig
from doorward.upstream.connection import MessageReceiver, UpstreamConnection
from doorward.upstream.http_client import HttpClient
from doorward.upstream.oauth.authorizer import OAuthAuthorizer, OAuthContext
from doorward.upstream.oauth.login import ShowLoginUrl
from doorward.upstream.oauth.token_store import TokenFile
from doorward.upstream.outbound import OutboundPolicy
from doorward.upstream.streamable_http import StreamableHttpConnection


class HttpConnector(msgspec.Struct, frozen=True, kw_only=True):
    """What the HTTP connections of one Doorward server share."""

    home: Path
    outbound: OutboundPolicy
    clock: Clock
    document: str = ""
    """URL of Doorward's client ID metadata document, for authorization servers that support it."""
    callback_port: int = 0
    person: ShowLoginUrl | None = None
    """Sends a person to a login during a call; None in a running server."""

    async def connect(self, config: ServerConfig, receiver: MessageReceiver) -> UpstreamConnection:
        """Create a connection. Nothing is sent yet."""
        web = self._make_client(config)
        return StreamableHttpConnection(config, receiver, web, self._make_authorizer(config, web))

    async def log_in(self, config: ServerConfig, person: ShowLoginUrl) -> None:
        """Let a person log in to a server, and store the tokens for later calls."""
        web = self._make_client(config)
        try:
            await OAuthAuthorizer(config, web, self._oauth_context(config, person)).log_in()
        finally:
            web.close()

    def log_out(self, config: ServerConfig) -> bool:
        """Delete the stored login; return whether there was a token."""
        return TokenFile(self.home, config.id, config.url).delete()

    def _make_client(self, config: ServerConfig) -> HttpClient:
        token_url = config.auth.token_url if config.auth is not None else ""
        return HttpClient(self.outbound, config.url, *([token_url] if token_url else []))

    def _make_authorizer(self, config: ServerConfig, web: HttpClient) -> RequestAuthorizer:
        if config.auth is not None and config.auth.type == "bearer":
            return FixedToken(config.id, config.auth.token)
        if config.auth is None and any(name.lower() == "authorization" for name in config.headers):
            return FixedToken(config.id)
        return OAuthAuthorizer(config, web, self._oauth_context(config, self.person))

    def _oauth_context(self, config: ServerConfig, person: ShowLoginUrl | None) -> OAuthContext:
        return OAuthContext(
            file=TokenFile(self.home, config.id, config.url),
            clock=self.clock,
            document=self.document,
            port=self.callback_port,
            person=person,
        )
