"""Login sessions, each with an access token and a refresh token.

The access token is valid for minutes. The refresh token is exchanged once for two new ones. If it is used a second
time, somebody has a copy, and the whole session ends.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from typing import Any

import msgspec

from doorward.core.clock import Clock
from doorward.core.errors import NotAuthenticated
from doorward.core.ids import new_id
from doorward.core.model import Caller
from doorward.rooms.accounts.token_signer import TokenSigner
from doorward.rooms.people import People, User
from doorward.store import accounts as sql
from doorward.store.sqlite import Statement, Store

MAX_SESSIONS = 50
"""The most sessions of one user; one more ends the oldest."""


MAX_SECONDS = 365 * 86_400.0
"""The longest lifetime of a session in seconds, however often it is renewed."""


class LoginSession(msgspec.Struct, frozen=True):
    id: str
    tenant: str
    user: str
    refresh: str
    """The hash of the one valid refresh token."""
    created_at: float
    expires_at: float


class LoginGrant(msgspec.Struct, frozen=True, rename="camel"):
    """The tokens of a login. They are shown once and not stored."""

    access_token: str
    expires_in: int
    refresh_token: str
    refresh_expires_in: int
    tenant: str
    user: str
    token_type: str = "Bearer"  # noqa: S105 - the name in the standard


class NewSession(msgspec.Struct, frozen=True):
    """A session to be stored."""

    session: LoginSession
    statements: list[Statement]
    grant: LoginGrant
    replaced: tuple[str, ...] = ()


class LoginSessions:
    """Active sessions, in memory and written through to the store."""

    def __init__(self, store: Store, people: People, clock: Clock, signer: TokenSigner) -> None:
        self._store = store
        self._people = people
        self._clock = clock
        self._signer = signer
        self._sessions: dict[str, LoginSession] = {}

    async def load(self) -> None:
        rows = await sql.live_sessions(self._store, self._clock.now())
        self._sessions = {row["id"]: msgspec.convert(row, LoginSession) for row in rows}

    def caller(self, claims: Mapping[str, Any]) -> Caller:
        """Return the caller of an access token. The stored session counts, not the token's claims."""
        session = self._sessions.get(str(claims["jti"]))
        now = self._clock.now()
        if session is None or session.expires_at <= now or not _is_unexpired(now, claims["exp"]):
            raise NotAuthenticated("This access token is not valid: it has expired, or its session has ended.")
        user = self._require_user(session)
        return Caller(user.tenant, user.id, "human", user.access)

    def create(self, user: User, *, access_seconds: float, refresh_seconds: float) -> NewSession:
        """Create a session. The caller stores its statements and then activates it with `put`."""
        now = self._clock.now()
        session = LoginSession(new_id(), user.tenant, user.id, "", now, now + refresh_seconds)
        session, grant = self._issue_tokens(session, access_seconds)
        mine = sorted((one for one in self._of_user(user.tenant, user.id)), key=lambda one: one.created_at)
        over = tuple(one.id for one in mine[: max(0, len(mine) + 1 - MAX_SESSIONS)])
        insert = sql.insert_session(
            session.id, session.tenant, session.user, session.refresh, session.created_at, session.expires_at
        )
        return NewSession(session, [insert, *(sql.revoke_session(id, now) for id in over)], grant, over)

    def renew(self, text: str, *, access_seconds: float, refresh_seconds: float) -> NewSession:
        """Renew the session of a refresh token."""
        session = self.authenticate(text)
        self._require_user(session)
        if not hmac.compare_digest(session.refresh, _hash(text)):
            raise RefreshTokenReused(session)
        end = min(self._clock.now() + refresh_seconds, session.created_at + MAX_SECONDS)
        later = msgspec.structs.replace(session, expires_at=end)
        renewed, grant = self._issue_tokens(later, access_seconds)
        rotate = sql.rotate_session(session.id, session.refresh, renewed.refresh, renewed.expires_at)
        return NewSession(renewed, [rotate], grant)

    def authenticate(self, text: str) -> LoginSession:
        """Return the session of a refresh token, whether or not the token is its newest."""
        claims = self._signer.verify(text, "refresh")
        session = self._sessions.get(str(claims["jti"]))
        if session is None or session.expires_at <= self._clock.now():
            raise NotAuthenticated("This refresh token is not valid: it has expired, or its session has ended.")
        return session

    def activate(self, opening: NewSession) -> None:
        self._sessions[opening.session.id] = opening.session
        self.forget(*opening.replaced)

    def forget(self, *ids: str) -> None:
        """Forget sessions that have ended."""
        for id in ids:
            self._sessions.pop(id, None)
        if ids:
            self._people.revocations.announce(
                "the end of its login session", lambda credential, _: self._signer.find_id(credential.token) in ids
            )

    def end_statement(self, tenant: str, user: str) -> Statement:
        """Return the statement that ends all sessions of a user. Call `forget_all` once it is stored."""
        return sql.revoke_sessions(tenant, user, self._clock.now())

    def forget_all(self, tenant: str, user: str) -> int:
        """Forget all sessions of a user; return their number."""
        ids = [one.id for one in self._of_user(tenant, user)]
        self.forget(*ids)
        return len(ids)

    def _of_user(self, tenant: str, user: str) -> list[LoginSession]:
        return [one for one in self._sessions.values() if (one.tenant, one.user) == (tenant, user)]

    def _require_user(self, session: LoginSession) -> User:
        user = self._people.get(session.tenant, session.user)
        if user is None or not user.active or user.kind != "human":
            raise NotAuthenticated("This token is not valid: its user is no longer active.")
        return user

    def _issue_tokens(self, session: LoginSession, access_seconds: float) -> tuple[LoginSession, LoginGrant]:
        now = self._clock.now()
        who: dict[str, Any] = {"user": session.user, "tenant": session.tenant, "issued": now}
        access = self._signer.sign("access", session.id, expires=now + access_seconds, **who)
        refresh = self._signer.sign(
            "refresh", session.id, expires=session.expires_at, nonce=secrets.token_urlsafe(16), **who
        )
        lasts = round(session.expires_at - now)
        grant = LoginGrant(access, int(access_seconds), refresh, lasts, session.tenant, session.user)
        return msgspec.structs.replace(session, refresh=_hash(refresh)), grant


class RefreshTokenReused(NotAuthenticated):
    """A refresh token was used twice, so somebody has a copy of it."""

    def __init__(self, session: LoginSession) -> None:
        super().__init__("This refresh token was used before, so its session has ended. Log in again.")
        self.session = session


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _is_unexpired(now: float, claimed: Any) -> bool:
    return isinstance(claimed, int | float) and now < claimed
