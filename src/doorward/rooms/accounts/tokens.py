"""API tokens: issue, check and revoke."""

from __future__ import annotations

import json

import msgspec

from doorward.core.classification import Access
from doorward.core.clock import Clock
from doorward.core.errors import BadParams, NotAuthenticated
from doorward.core.ids import new_id
from doorward.core.model import Caller, Kind
from doorward.rooms.accounts.sessions import LoginSessions
from doorward.rooms.accounts.token_signer import TokenSigner
from doorward.rooms.people import People, User
from doorward.store import users as sql
from doorward.store.sqlite import Statement, Store

MAX_DAYS = 366
_MAX_CACHED = 4_096


class ApiToken(msgspec.Struct, frozen=True):
    """The stored record of a token; the token itself is never stored."""

    id: str
    tenant: str
    user: str
    name: str
    kind: Kind
    access: Access
    rooms: tuple[str, ...] | None
    created_at: float
    expires_at: float
    revoked_at: float | None = None


class ApiTokens:
    """Issues, checks and revokes tokens. The stored record counts, not the token's claims."""

    def __init__(self, store: Store, people: People, clock: Clock, key: bytes) -> None:
        self._store = store
        self._people = people
        self._clock = clock
        self._signer = TokenSigner(key)
        self.sessions = LoginSessions(store, people, clock, self._signer)
        self._tokens: dict[str, ApiToken] = {}
        self._callers: dict[bytes, tuple[ApiToken, User, Caller]] = {}
        """Callers of verified tokens, by token hash. Records of tokens and users are immutable: as long as both objects
        are the same, so is the caller."""

    async def load(self) -> None:
        await self.sessions.load()
        self._tokens = {
            row["id"]: msgspec.convert(
                {**row, "rooms": json.loads(row["rooms"]) if row["rooms"] is not None else None}, ApiToken
            )
            for row in await sql.all_tokens(self._store)
        }

    def get(self, tenant: str, id: str) -> ApiToken | None:
        token = self._tokens.get(id)
        return token if token is not None and token.tenant == tenant else None

    def of_tenant(self, tenant: str) -> list[ApiToken]:
        return [token for token in self._tokens.values() if token.tenant == tenant]

    async def issue(
        self,
        user: User,
        *,
        name: str,
        kind: Kind,
        access: Access,
        rooms: tuple[str, ...] | None,
        days: float,
    ) -> tuple[ApiToken, str]:
        """Create a token for `user`. Its text is returned once and cannot be read again."""
        if access > user.access:
            raise BadParams(
                f"A token cannot have more access than its user: {user.id} has {user.access.label}; given "
                f"{access.label}."
            )
        if not 0 < days <= MAX_DAYS:
            raise BadParams(f"A token is valid for more than 0 and at most {MAX_DAYS} days; given {days:g}.")
        now = self._clock.now()
        token = ApiToken(new_id(), user.tenant, user.id, name, kind, access, rooms, now, now + days * 86_400)
        await self._store.write(
            sql.insert_token(
                token.id,
                token.tenant,
                token.user,
                token.name,
                token.kind,
                int(token.access),
                None if rooms is None else json.dumps(rooms),
                token.created_at,
                token.expires_at,
            ),
            then=lambda: self._put(token),
        )
        text = self._signer.sign(
            "token",
            token.id,
            user=user.id,
            tenant=user.tenant,
            issued=now,
            expires=token.expires_at,
            kind=kind,
            access=access.label,
        )
        return token, text

    async def revoke(self, tenant: str, id: str, *also: Statement) -> None:
        now = self._clock.now()
        revoked = msgspec.structs.replace(self._tokens[id], revoked_at=now)

        def put() -> None:
            self._put(revoked)
            self._people.revocations.announce(
                "the revocation of its token", lambda credential, _: self._signer.find_id(credential.token) == id
            )

        await self._store.write(sql.revoke_token(tenant, id, now), *also, then=put)

    def _put(self, token: ApiToken) -> None:
        self._tokens[token.id] = token

    def authenticate(self, text: str) -> Caller:
        """Return the caller of a token. It must be valid, known and unexpired, and its user active."""
        mark = self._signer.cache_key(text)
        known = self._callers.get(mark)
        if known is not None:
            token, user, caller = known
            if (
                self._tokens.get(token.id) is token
                and token.expires_at > self._clock.now()
                and self._people.get(token.tenant, token.user) is user
            ):
                return caller
            del self._callers[mark]
        return self._authenticate_uncached(text, mark)

    def _authenticate_uncached(self, text: str, mark: bytes) -> Caller:
        claims = self._signer.verify(text, "token", "access")
        if claims["use"] == "access":
            return self.sessions.caller(claims)
        token = self._tokens.get(str(claims["jti"]))
        if token is None or token.revoked_at is not None or token.expires_at <= self._clock.now():
            raise NotAuthenticated("This token is not valid: it is unknown, revoked, or expired.")
        if (claims["tenant"], claims["sub"], claims["exp"]) != (token.tenant, token.user, int(token.expires_at)):
            raise NotAuthenticated("This token is not valid: its claims do not match its record.")
        user = self._people.get(token.tenant, token.user)
        if user is None or not user.active:
            raise NotAuthenticated("This token is not valid: its user is no longer active.")
        access = min(token.access, user.access)
        if token.kind == "human":
            caller = Caller(token.tenant, user.id, "human", access, "", token.rooms)
        else:
            caller = Caller(token.tenant, token.name, token.kind, access, user.id, token.rooms)
        if len(self._callers) >= _MAX_CACHED:
            del self._callers[next(iter(self._callers))]
        self._callers[mark] = token, user, caller
        return caller
