"""OAuth authorization for one server: stored tokens, refresh, client credentials or a person's login."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec

from doorward.clock import Clock
from doorward.upstream.authorizing import Challenge, NotLetIn
from doorward.upstream.config import ServerConfig
from doorward.upstream.oauth.callback import Callback
from doorward.upstream.oauth.discovery import Facts, discover
from doorward.upstream.oauth.grants import Refused, method_for, register, token
from doorward.upstream.oauth.login import Person, log_in
from doorward.upstream.tokens import Client, Kept, TokenFile, identity
from doorward.upstream.web import Web, origin, shown

_PING = b'{"jsonrpc":"2.0","id":0,"method":"ping"}'
_EARLY = 30.0
"""Seconds before a token's expiry at which a new one is requested."""


class Means(msgspec.Struct, frozen=True, kw_only=True):
    """What a login needs from the server: token file, clock and callback."""

    file: TokenFile
    clock: Clock
    document: str = ""
    """URL of Doorward's client ID metadata document, for authorization servers that support it."""
    port: int = 0
    """Port of the login callback; 0 is any free port."""
    person: Person | None = None
    """Sends a person to the login page; None when nobody can log in now."""


class OAuth:
    """An `authorizing.Authorizer` for one server. Requests that are refused at the same time share one refresh."""

    def __init__(self, config: ServerConfig, web: Web, means: Means) -> None:
        self._id = config.id
        self._url = config.url
        self._auth = config.auth
        self._web = web
        self._means = means
        self._identity = identity(config.auth)
        self._kept: Kept | None = None
        self._lock = asyncio.Lock()

    @property
    def _alone(self) -> bool:
        """Whether the entry has client credentials, so that no person is needed."""
        return self._auth is not None and self._auth.type == "client_credentials"

    async def headers(self) -> Mapping[str, str]:
        kept = self._kept if self._kept is not None else await self._load()
        if self._alone and self._auth is not None and self._auth.token_url and self._is_old(kept):
            async with self._lock:
                if self._is_old(self._kept):
                    await self._by_credentials(self._told(), Kept(), self._auth.scope)
            kept = self._kept or kept
        return {"Authorization": _shown(kept)} if kept.tokens is not None else {}

    async def challenged(self, challenge: Challenge) -> None:
        async with self._lock:
            kept = await self._load()
            if kept.tokens is not None and _shown(kept) != challenge.sent:
                return  # another request has got a new token meanwhile
            facts = await self._facts(challenge)
            kept = self._at(facts, kept)
            asked = challenge.parameters.get("scope", "")
            if not challenge.wants_more:
                asked = asked or self._scope(facts)
                left = await self._renewed(facts, kept)
                if left is None:
                    return
                kept = left
            scope = _union(kept.scope, asked)
            if challenge.wants_more and kept.tokens is not None and set(scope.split()) <= set(kept.scope.split()):
                raise NotLetIn(
                    f"The server {self._id!r} requires the scope {asked[:200]!r}, which was requested but not granted.",
                    hint="Ask the operator of the server for the permission, and log in again.",
                )
            if self._alone:
                await self._by_credentials(facts, kept, scope)
            elif self._means.person is not None:
                await self._by_person(facts, kept, scope, self._means.person)
            else:
                await self._save(msgspec.structs.replace(kept, wanted=scope))
                raise NotLetIn(f"The server {self._id!r} requires a login: doorward servers login {self._id}")

    async def log_in(self) -> None:
        """Let a person log in now, regardless of stored tokens."""
        if self._means.person is None or self._alone:
            raise NotLetIn(f"The server {self._id!r} has credentials in its entry, so no login is needed.")
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        answer = await self._web.ask("POST", self._url, headers, _PING)
        answer.release()
        challenge = Challenge(answer.status, answer.headers.get("www-authenticate", ""), "")
        async with self._lock:
            try:
                facts = await self._facts(challenge)
            except NotLetIn as error:
                if answer.status == 401:
                    raise
                raise NotLetIn(
                    f"The server {self._id!r} does not require a login: it answered {answer.status} to a request "
                    f"without a token, and names no authorization server."
                ) from error
            kept = self._at(facts, await self._load())
            asked = challenge.parameters.get("scope", "") or self._scope(facts)
            await self._by_person(facts, kept, _union(_union(kept.scope, kept.wanted), asked), self._means.person)

    # State

    async def _load(self) -> Kept:
        kept = await asyncio.to_thread(self._means.file.read)
        self._kept = kept if kept.identity == self._identity else Kept()
        return self._kept

    async def _save(self, kept: Kept) -> None:
        kept = msgspec.structs.replace(kept, identity=self._identity)
        await asyncio.to_thread(self._means.file.write, kept)
        self._kept = kept

    async def _facts(self, challenge: Challenge) -> Facts:
        if self._alone and self._auth is not None and self._auth.token_url:
            return self._told()
        return await discover(self._web, self._url, challenge.parameters.get("resource_metadata", ""))

    def _scope(self, facts: Facts) -> str:
        """The scope to request when the challenge names none: the entry's, or all that the server lists."""
        return (self._auth.scope if self._auth is not None else "") or " ".join(facts.scopes or ())

    def _told(self) -> Facts:
        """Metadata from the operator's entry, when it has a token URL."""
        url = self._auth.token_url if self._auth is not None else ""
        return Facts(resource=self._url, issuer=shown(origin(url)), token_endpoint=url)

    def _at(self, facts: Facts, kept: Kept) -> Kept:
        """The stored login if it belongs to this authorization server, otherwise an empty one."""
        if not kept.issuer or kept.issuer == facts.issuer:
            return kept
        if self._auth is not None and self._auth.client_id:
            raise NotLetIn(
                f"The server {self._id!r} now names the authorization server {facts.issuer[:200]!r}; the credentials "
                f"in its entry are for {kept.issuer[:200]!r} and are not sent to another.",
                hint="If the change is intended, update `auth` of its entry in mcp-servers.json and log in again.",
            )
        return Kept()

    def _is_old(self, kept: Kept | None) -> bool:
        if kept is None or kept.tokens is None:
            return True
        return kept.tokens.expires is not None and kept.tokens.expires - _EARLY < self._means.clock.now()

    # Grants

    async def _renewed(self, facts: Facts, kept: Kept) -> Kept | None:
        """Refresh the token; None on success, otherwise the login that is left."""
        if kept.tokens is None or not kept.tokens.refresh or kept.client is None:
            return kept
        try:
            given = await token(
                self._web,
                facts,
                kept.client,
                self._means.clock.now(),
                grant_type="refresh_token",
                refresh_token=kept.tokens.refresh,
            )
        except Refused:
            left = msgspec.structs.replace(kept, tokens=None)
            await self._save(left)
            return left
        given = msgspec.structs.replace(given, refresh=given.refresh or kept.tokens.refresh)
        await self._save(msgspec.structs.replace(kept, tokens=given))
        return None

    async def _by_credentials(self, facts: Facts, kept: Kept, scope: str) -> None:
        auth = self._auth
        if auth is None or not auth.client_id:
            raise NotLetIn(f"The entry of the server {self._id!r} has no `clientId` for its client credentials.")
        if auth.client_secret and not auth.token_url and origin(facts.token_endpoint) != origin(self._url):
            raise NotLetIn(
                f"The server {self._id!r} asks Doorward to send the client secret to {facts.token_endpoint[:200]!r};"
                f" without your consent it is sent only to the server's own address.",
                hint="If that is right, set this address as `tokenUrl` in `auth` of its entry in mcp-servers.json.",
            )
        client = Client(auth.client_id, auth.client_secret, method_for(facts, auth.client_secret))
        form = {"grant_type": "client_credentials", **({"scope": scope} if scope else {})}
        given = await token(self._web, facts, client, self._means.clock.now(), **form)
        await self._save(Kept(facts.issuer, None, given, scope))

    async def _by_person(self, facts: Facts, kept: Kept, scope: str, person: Person) -> None:
        asked = _union(scope, "offline_access") if scope and facts.offline else scope
        async with self._callback(kept) as callback:
            client = await self._client(facts, kept, callback.redirect)
            given = await log_in(self._web, facts, client, asked, callback, person, self._means.clock.now)
        await self._save(Kept(facts.issuer, client, given, scope))

    def _callback(self, kept: Kept) -> Callback:
        """Use the last callback port if it is free, because Doorward is registered with it."""
        last = urlsplit(kept.client.redirect).port if kept.client is not None and kept.client.redirect else None
        return Callback(self._means.port, last or 0)

    async def _client(self, facts: Facts, kept: Kept, redirect: str) -> Client:
        auth = self._auth
        if auth is not None and auth.client_id:
            return Client(auth.client_id, auth.client_secret, method_for(facts, auth.client_secret))
        if facts.reads_documents and self._means.document:
            return Client(self._means.document)
        if kept.client is not None and kept.client.redirect == redirect:
            return kept.client
        if not facts.registration_endpoint:
            raise NotLetIn(
                f"The authorization server {facts.issuer[:200]!r} does not support dynamic client registration.",
                hint=f"Register Doorward there, and set `clientId` in `auth` of the entry {self._id!r}.",
            )
        return await register(self._web, facts, redirect)


def _shown(kept: Kept) -> str:
    return f"Bearer {kept.tokens.access}" if kept.tokens is not None else ""


def _union(one: str, other: str) -> str:
    return " ".join(dict.fromkeys([*one.split(), *other.split()]))
