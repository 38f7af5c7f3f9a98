"""Being let in by a server through OAuth, with what is kept, with what can be renewed, or with a person's help."""

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
"""Seconds before the end of a token at which a new one is asked for."""


class Means(msgspec.Struct, frozen=True, kw_only=True):
    """What of the house a login stands on."""

    file: TokenFile
    clock: Clock
    document: str = ""
    """The address of a document that says who we are, where an authorization server reads such."""
    port: int = 0
    """Where logins come back to; 0 is any free port."""
    person: Person | None = None
    """Whom to send to a page; None when a server may only be told that somebody has to log in."""


class OAuth:
    """An Authorizer (see `authorizing.Authorizer`) for one server. Requests that are refused together renew once."""

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
        """Whether the operator gave us credentials with which no person is needed."""
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
                return  # somebody else was let in meanwhile, and so are we
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
                    f"The server {self._id!r} wants {asked[:200]!r}, which was asked for already and is not enough.",
                    hint="Ask whoever runs it for the rights, and log in again.",
                )
            if self._alone:
                await self._by_credentials(facts, kept, scope)
            elif self._means.person is not None:
                await self._by_person(facts, kept, scope, self._means.person)
            else:
                await self._save(msgspec.structs.replace(kept, wanted=scope))
                raise NotLetIn(f"The server {self._id!r} wants somebody to log in: doorward servers login {self._id}")

    async def log_in(self) -> None:
        """Have a person log in now, whatever is kept."""
        if self._means.person is None or self._alone:
            raise NotLetIn(f"The server {self._id!r} has credentials of its own, so nobody has to log in.")
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
                    f"The server {self._id!r} does not ask anybody to log in: it answered {answer.status} to whoever "
                    f"shows nothing, and names no authorization server."
                ) from error
            kept = self._at(facts, await self._load())
            asked = challenge.parameters.get("scope", "") or self._scope(facts)
            await self._by_person(facts, kept, _union(_union(kept.scope, kept.wanted), asked), self._means.person)

    # What is known

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
        """What to ask for where the server does not say what it takes: what its entry names, or all that it lists."""
        return (self._auth.scope if self._auth is not None else "") or " ".join(facts.scopes or ())

    def _told(self) -> Facts:
        """What the operator wrote, where that is enough."""
        url = self._auth.token_url if self._auth is not None else ""
        return Facts(resource=self._url, issuer=shown(origin(url)), token_endpoint=url)

    def _at(self, facts: Facts, kept: Kept) -> Kept:
        """What of the kept is good at this authorization server: everything, or nothing."""
        if not kept.issuer or kept.issuer == facts.issuer:
            return kept
        if self._auth is not None and self._auth.client_id:
            raise NotLetIn(
                f"The server {self._id!r} now names the authorization server {facts.issuer[:200]!r}; the credentials "
                f"in its entry are for {kept.issuer[:200]!r} and are not shown to another.",
                hint="If that is meant, change `auth` of its entry in mcp-servers.json and log in again.",
            )
        return Kept()

    def _is_old(self, kept: Kept | None) -> bool:
        if kept is None or kept.tokens is None:
            return True
        return kept.tokens.expires is not None and kept.tokens.expires - _EARLY < self._means.clock.now()

    # Ways to a token

    async def _renewed(self, facts: Facts, kept: Kept) -> Kept | None:
        """Get a new token for an old one; None when that went well, and otherwise what is left to go on with."""
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
            raise NotLetIn(f"The entry of the server {self._id!r} gives no `client_id` for its client credentials.")
        if auth.client_secret and not auth.token_url and origin(facts.token_endpoint) != origin(self._url):
            raise NotLetIn(
                f"The server {self._id!r} wants the secret of its entry to be shown to {facts.token_endpoint[:200]!r};"
                f" without a word of yours it is shown to the server's own address only.",
                hint="If that is right, put this address into `auth` of its entry in mcp-servers.json, as `tokenUrl`.",
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
        """Come back to the port of the last time if it is free, since it is the one that we are registered with."""
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
                f"The authorization server {facts.issuer[:200]!r} does not register clients by itself.",
                hint=f"Register Doorward there, and put `client_id` into `auth` of the entry {self._id!r}.",
            )
        return await register(self._web, facts, redirect)


def _shown(kept: Kept) -> str:
    return f"Bearer {kept.tokens.access}" if kept.tokens is not None else ""


def _union(one: str, other: str) -> str:
    return " ".join(dict.fromkeys([*one.split(), *other.split()]))
