"""OAuth authorization for one server: stored tokens, refresh, client credentials or a person's login."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec

from doorward.core.clock import Clock
from doorward.upstream.authorization import Challenge, LoginRequired
from doorward.upstream.config import ServerConfig
from doorward.upstream.http_client import HttpClient, format_origin, origin
from doorward.upstream.oauth.discovery import OAuthMetadata, discover
from doorward.upstream.oauth.grants import TokenRefused, choose_auth_method, register_client, request_token
from doorward.upstream.oauth.login import LoginCallback, ShowLoginUrl, log_in
from doorward.upstream.oauth.token_store import OAuthClient, StoredLogin, TokenFile, hash_identity

_PING = b'{"jsonrpc":"2.0","id":0,"method":"ping"}'
_REFRESH_EARLY = 30.0
"""Seconds before a token's expiry at which a new one is requested."""


class OAuthContext(msgspec.Struct, frozen=True, kw_only=True):
    """What a login needs from the server: token file, clock and callback."""

    file: TokenFile
    clock: Clock
    document: str = ""
    """URL of Doorward's client ID metadata document, for authorization servers that support it."""
    port: int = 0
    """Port of the login callback; 0 is any free port."""
    person: ShowLoginUrl | None = None
    """Sends a person to the login page; None when nobody can log in now."""


class OAuthAuthorizer:
    """An `authorizing.Authorizer` for one server. Requests that are refused at the same time share one refresh."""

    def __init__(self, config: ServerConfig, web: HttpClient, means: OAuthContext) -> None:
        self._id = config.id
        self._url = config.url
        self._auth = config.auth
        self._web = web
        self._context = means
        self._identity = hash_identity(config.auth)
        self._login: StoredLogin | None = None
        self._lock = asyncio.Lock()

    @property
    def _has_credentials(self) -> bool:
        """Whether the entry has client credentials, so that no person is needed."""
        return self._auth is not None and self._auth.type == "client_credentials"

    async def headers(self) -> Mapping[str, str]:
        kept = self._login if self._login is not None else await self._load()
        if self._has_credentials and self._auth is not None and self._auth.token_url and self._is_expired(kept):
            async with self._lock:
                if self._is_expired(self._login):
                    await self._use_credentials(self._entry_metadata(), StoredLogin(), self._auth.scope)
            kept = self._login or kept
        return {"Authorization": _authorization(kept)} if kept.tokens is not None else {}

    async def challenged(self, challenge: Challenge) -> None:
        async with self._lock:
            kept = await self._load()
            if kept.tokens is not None and _authorization(kept) != challenge.sent:
                return  # another request has got a new token meanwhile
            facts = await self._discover(challenge)
            kept = self._login_for(facts, kept)
            asked = challenge.parameters.get("scope", "")
            if not challenge.needs_more_scope:
                asked = asked or self._scope(facts)
                left = await self._refresh(facts, kept)
                if left is None:
                    return
                kept = left
            scope = _join_scopes(kept.scope, asked)
            if challenge.needs_more_scope and kept.tokens is not None and set(scope.split()) <= set(kept.scope.split()):
                raise LoginRequired(
                    f"The server {self._id!r} requires the scope {asked[:200]!r}, which was requested but not granted.",
                    hint="Ask the operator of the server for the permission, and log in again.",
                )
            if self._has_credentials:
                await self._use_credentials(facts, kept, scope)
            elif self._context.person is not None:
                await self._log_in_person(facts, kept, scope, self._context.person)
            else:
                await self._save(msgspec.structs.replace(kept, wanted=scope))
                raise LoginRequired(f"The server {self._id!r} requires a login: doorward servers login {self._id}")

    async def log_in(self) -> None:
        """Let a person log in now, regardless of stored tokens."""
        if self._context.person is None or self._has_credentials:
            raise LoginRequired(f"The server {self._id!r} has credentials in its entry, so no login is needed.")
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        answer = await self._web.request("POST", self._url, headers, _PING)
        answer.release()
        challenge = Challenge(answer.status, answer.headers.get("www-authenticate", ""), "")
        async with self._lock:
            try:
                facts = await self._discover(challenge)
            except LoginRequired as error:
                if answer.status == 401:
                    raise
                raise LoginRequired(
                    f"The server {self._id!r} does not require a login: it answered {answer.status} to a request "
                    f"without a token, and names no authorization server."
                ) from error
            kept = self._login_for(facts, await self._load())
            asked = challenge.parameters.get("scope", "") or self._scope(facts)
            await self._log_in_person(
                facts, kept, _join_scopes(_join_scopes(kept.scope, kept.wanted), asked), self._context.person
            )

    # State

    async def _load(self) -> StoredLogin:
        kept = await asyncio.to_thread(self._context.file.read)
        self._login = kept if kept.identity == self._identity else StoredLogin()
        return self._login

    async def _save(self, kept: StoredLogin) -> None:
        kept = msgspec.structs.replace(kept, identity=self._identity)
        await asyncio.to_thread(self._context.file.write, kept)
        self._login = kept

    async def _discover(self, challenge: Challenge) -> OAuthMetadata:
        if self._has_credentials and self._auth is not None and self._auth.token_url:
            return self._entry_metadata()
        return await discover(self._web, self._url, challenge.parameters.get("resource_metadata", ""))

    def _scope(self, facts: OAuthMetadata) -> str:
        """The scope to request when the challenge names none: the entry's, or all that the server lists."""
        return (self._auth.scope if self._auth is not None else "") or " ".join(facts.scopes or ())

    def _entry_metadata(self) -> OAuthMetadata:
        """Metadata from the operator's entry, when it has a token URL."""
        url = self._auth.token_url if self._auth is not None else ""
        return OAuthMetadata(resource=self._url, issuer=format_origin(origin(url)), token_endpoint=url)

    def _login_for(self, facts: OAuthMetadata, kept: StoredLogin) -> StoredLogin:
        """The stored login if it belongs to this authorization server, otherwise an empty one."""
        if not kept.issuer or kept.issuer == facts.issuer:
            return kept
        if self._auth is not None and self._auth.client_id:
            raise LoginRequired(
                f"The server {self._id!r} now names the authorization server {facts.issuer[:200]!r}; the credentials "
                f"in its entry are for {kept.issuer[:200]!r} and are not sent to another.",
                hint="If the change is intended, update `auth` of its entry in mcp-servers.json and log in again.",
            )
        return StoredLogin()

    def _is_expired(self, kept: StoredLogin | None) -> bool:
        if kept is None or kept.tokens is None:
            return True
        return kept.tokens.expires is not None and kept.tokens.expires - _REFRESH_EARLY < self._context.clock.now()

    # Grants

    async def _refresh(self, facts: OAuthMetadata, kept: StoredLogin) -> StoredLogin | None:
        """Refresh the token; None on success, otherwise the login that is left."""
        if kept.tokens is None or not kept.tokens.refresh or kept.client is None:
            return kept
        try:
            given = await request_token(
                self._web,
                facts,
                kept.client,
                self._context.clock.now(),
                grant_type="refresh_token",
                refresh_token=kept.tokens.refresh,
            )
        except TokenRefused:
            left = msgspec.structs.replace(kept, tokens=None)
            await self._save(left)
            return left
        given = msgspec.structs.replace(given, refresh=given.refresh or kept.tokens.refresh)
        await self._save(msgspec.structs.replace(kept, tokens=given))
        return None

    async def _use_credentials(self, facts: OAuthMetadata, kept: StoredLogin, scope: str) -> None:
        auth = self._auth
        if auth is None or not auth.client_id:
            raise LoginRequired(f"The entry of the server {self._id!r} has no `clientId` for its client credentials.")
        if auth.client_secret and not auth.token_url and origin(facts.token_endpoint) != origin(self._url):
            raise LoginRequired(
                f"The server {self._id!r} asks Doorward to send the client secret to {facts.token_endpoint[:200]!r};"
                f" without your consent it is sent only to the server's own address.",
                hint="If that is right, set this address as `tokenUrl` in `auth` of its entry in mcp-servers.json.",
            )
        client = OAuthClient(auth.client_id, auth.client_secret, choose_auth_method(facts, auth.client_secret))
        form = {"grant_type": "client_credentials", **({"scope": scope} if scope else {})}
        given = await request_token(self._web, facts, client, self._context.clock.now(), **form)
        await self._save(StoredLogin(facts.issuer, None, given, scope))

    async def _log_in_person(self, facts: OAuthMetadata, kept: StoredLogin, scope: str, person: ShowLoginUrl) -> None:
        asked = _join_scopes(scope, "offline_access") if scope and facts.offline else scope
        async with self._make_callback(kept) as callback:
            client = await self._get_client(facts, kept, callback.redirect)
            given = await log_in(self._web, facts, client, asked, callback, person, self._context.clock.now)
        await self._save(StoredLogin(facts.issuer, client, given, scope))

    def _make_callback(self, kept: StoredLogin) -> LoginCallback:
        """Use the last callback port if it is free, because Doorward is registered with it."""
        last = urlsplit(kept.client.redirect).port if kept.client is not None and kept.client.redirect else None
        return LoginCallback(self._context.port, last or 0)

    async def _get_client(self, facts: OAuthMetadata, kept: StoredLogin, redirect: str) -> OAuthClient:
        auth = self._auth
        if auth is not None and auth.client_id:
            return OAuthClient(auth.client_id, auth.client_secret, choose_auth_method(facts, auth.client_secret))
        if facts.reads_documents and self._context.document:
            return OAuthClient(self._context.document)
        if kept.client is not None and kept.client.redirect == redirect:
            return kept.client
        if not facts.registration_endpoint:
            raise LoginRequired(
                f"The authorization server {facts.issuer[:200]!r} does not support dynamic client registration.",
                hint=f"Register Doorward there, and set `clientId` in `auth` of the entry {self._id!r}.",
            )
        return await register_client(self._web, facts, redirect)


def _authorization(kept: StoredLogin) -> str:
    return f"Bearer {kept.tokens.access}" if kept.tokens is not None else ""


def _join_scopes(one: str, other: str) -> str:
    return " ".join(dict.fromkeys([*one.split(), *other.split()]))
