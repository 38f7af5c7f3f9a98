"""Sessions: somebody who came with a password, and the two tokens they go on with.

The access token is good for minutes. The refresh token is exchanged, once, for two new ones; when it comes a second
time, somebody else has a copy, and the whole session ends.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from typing import Any

import msgspec

from doorward.clock import Clock
from doorward.errors import NotAuthenticated
from doorward.ids import new_id
from doorward.model import Caller
from doorward.rooms.people import People, User
from doorward.rooms.signing import Signer
from doorward.store import accounts as sql
from doorward.store.sqlite import Statement, Store

MOST = 50
"""How many sessions one user has at once; one more ends the oldest."""


LONGEST = 365 * 86_400.0
"""Seconds after which a session ends however often it was renewed."""


class Session(msgspec.Struct, frozen=True):
    id: str
    tenant: str
    user: str
    refresh: str
    """The hash of the one refresh token that is good."""
    created_at: float
    expires_at: float


class Grant(msgspec.Struct, frozen=True, rename="camel"):
    """What a login gives: shown this once, and kept nowhere."""

    access_token: str
    expires_in: int
    refresh_token: str
    refresh_expires_in: int
    tenant: str
    user: str
    token_type: str = "Bearer"  # noqa: S105 - the name that the standard gives it


class Opening(msgspec.Struct, frozen=True):
    """A session as it is about to be stored."""

    session: Session
    statements: list[Statement]
    grant: Grant
    replaced: tuple[str, ...] = ()


class Sessions:
    """Sessions that are not over, in memory and written through."""

    def __init__(self, store: Store, people: People, clock: Clock, signer: Signer) -> None:
        self._store = store
        self._people = people
        self._clock = clock
        self._signer = signer
        self._sessions: dict[str, Session] = {}

    async def load(self) -> None:
        rows = await sql.live_sessions(self._store, self._clock.now())
        self._sessions = {row["id"]: msgspec.convert(row, Session) for row in rows}

    def caller(self, claims: Mapping[str, Any]) -> Caller:
        """Who an access token speaks for. What counts is what the house stored, and the time it was given."""
        session = self._sessions.get(str(claims["jti"]))
        now = self._clock.now()
        if session is None or session.expires_at <= now or not _is_before(now, claims["exp"]):
            raise NotAuthenticated("This access token is not valid: it has expired, or its session is over.")
        user = self._user(session)
        return Caller(user.tenant, user.id, "human", user.access)

    def open(self, user: User, *, access_seconds: float, refresh_seconds: float) -> Opening:
        """A new session, to be stored by whoever asked for it and then put in force with `put`."""
        now = self._clock.now()
        session = Session(new_id(), user.tenant, user.id, "", now, now + refresh_seconds)
        session, grant = self._granted(session, access_seconds)
        mine = sorted((one for one in self._of(user.tenant, user.id)), key=lambda one: one.created_at)
        over = tuple(one.id for one in mine[: max(0, len(mine) + 1 - MOST)])
        insert = sql.insert_session(
            session.id, session.tenant, session.user, session.refresh, session.created_at, session.expires_at
        )
        return Opening(session, [insert, *(sql.revoke_session(id, now) for id in over)], grant, over)

    def exchange(self, text: str, *, access_seconds: float, refresh_seconds: float) -> Opening:
        """The session that a refresh token goes on with."""
        session = self.known(text)
        self._user(session)
        if not hmac.compare_digest(session.refresh, _hash(text)):
            raise UsedTwice(session)
        end = min(self._clock.now() + refresh_seconds, session.created_at + LONGEST)
        later = msgspec.structs.replace(session, expires_at=end)
        renewed, grant = self._granted(later, access_seconds)
        rotate = sql.rotate_session(session.id, session.refresh, renewed.refresh, renewed.expires_at)
        return Opening(renewed, [rotate], grant)

    def known(self, text: str) -> Session:
        """The session that a refresh token of ours belongs to, whether or not the token is its newest."""
        claims = self._signer.claims(text, "refresh")
        session = self._sessions.get(str(claims["jti"]))
        if session is None or session.expires_at <= self._clock.now():
            raise NotAuthenticated("This refresh token is not valid: it has expired, or its session is over.")
        return session

    def put(self, opening: Opening) -> None:
        self._sessions[opening.session.id] = opening.session
        self.forget(*opening.replaced)

    def forget(self, *ids: str) -> None:
        for id in ids:
            self._sessions.pop(id, None)

    def ending(self, tenant: str, user: str) -> Statement:
        """What ends all sessions of a user; they are forgotten with `forget_all` once it is stored."""
        return sql.revoke_sessions(tenant, user, self._clock.now())

    def forget_all(self, tenant: str, user: str) -> int:
        """Returns how many there were."""
        ids = [one.id for one in self._of(tenant, user)]
        self.forget(*ids)
        return len(ids)

    def _of(self, tenant: str, user: str) -> list[Session]:
        return [one for one in self._sessions.values() if (one.tenant, one.user) == (tenant, user)]

    def _user(self, session: Session) -> User:
        user = self._people.get(session.tenant, session.user)
        if user is None or not user.active or user.kind != "human":
            raise NotAuthenticated("This token is not valid: its user may not act any more.")
        return user

    def _granted(self, session: Session, access_seconds: float) -> tuple[Session, Grant]:
        now = self._clock.now()
        who: dict[str, Any] = {"user": session.user, "tenant": session.tenant, "issued": now}
        access = self._signer.sign("access", session.id, expires=now + access_seconds, **who)
        refresh = self._signer.sign(
            "refresh", session.id, expires=session.expires_at, nonce=secrets.token_urlsafe(16), **who
        )
        lasts = round(session.expires_at - now)
        grant = Grant(access, int(access_seconds), refresh, lasts, session.tenant, session.user)
        return msgspec.structs.replace(session, refresh=_hash(refresh)), grant


class UsedTwice(NotAuthenticated):
    """A refresh token came again: somebody has a copy of it."""

    def __init__(self, session: Session) -> None:
        super().__init__("This refresh token was used before, so its session is over; log in again.")
        self.session = session


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _is_before(now: float, claimed: Any) -> bool:
    return isinstance(claimed, int | float) and now < claimed
