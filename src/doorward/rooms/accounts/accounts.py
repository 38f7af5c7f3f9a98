"""Accounts: register a tenant, log in, refresh, log out. Every attempt is recorded.

A login has no caller yet, so these are not commands. As with commands, nothing is answered unless its record is
stored, and changes are stored in the same write.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec

from doorward.config.settings import RestSettings
from doorward.core import redact
from doorward.core.classification import Access, Tier
from doorward.core.clock import Clock
from doorward.core.errors import BadParams, Conflict, NotAuthenticated, NotPermitted, Refused
from doorward.core.escape_invisible import to_storable
from doorward.core.ids import new_id
from doorward.core.model import ANONYMOUS
from doorward.rooms.accounts import passwords
from doorward.rooms.accounts.attempt_limits import (
    ACCOUNT_LIMIT,
    ADDRESS_LIMIT,
    ATTACKED_LIMIT,
    PAIR_LIMIT,
    REGISTRATION_LIMIT,
    AttemptLimiter,
)
from doorward.rooms.accounts.browser_sessions import BrowserSession, BrowserSessions
from doorward.rooms.accounts.browser_sessions import NewBrowserSession as Entrance
from doorward.rooms.accounts.passwords import PasswordHasher
from doorward.rooms.accounts.sessions import LoginGrant, LoginSessions, NewSession, RefreshTokenReused
from doorward.rooms.people import LOCAL, People, User
from doorward.store import accounts as sql
from doorward.store.ledger.anonymous_refusals import AnonymousRefusals
from doorward.store.ledger.record import Entry
from doorward.store.sqlite import Statement, Store

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_WRONG_CREDENTIALS = "The tenant, the user or the password is wrong."
_encode = msgspec.json.Encoder().encode

T = TypeVar("T")


class AccountAttempt(msgspec.Struct, frozen=True):
    """One attempt to use an account, as it is recorded."""

    does: str
    door: str
    address: str
    tenant: str = ""
    user: str = ""


class Accounts:
    def __init__(
        self,
        store: Store,
        anonymous: AnonymousRefusals,
        people: People,
        sessions: LoginSessions,
        browsers: BrowserSessions,
        clock: Clock,
        settings: RestSettings,
    ) -> None:
        self._store = store
        self._anonymous = anonymous
        self._people = people
        self._sessions = sessions
        self._browsers = browsers
        self._clock = clock
        self._settings = settings
        self._passwords = PasswordHasher()
        self._limiter = AttemptLimiter(clock)
        self._registering = asyncio.Lock()
        self._lifetimes = {
            "access_seconds": settings.access_minutes * 60,
            "refresh_seconds": settings.refresh_days * 86_400,
        }

    async def login(self, attempt: AccountAttempt, password: str) -> LoginGrant:
        """Exchange a password for a session."""
        return await self._record_refusals(attempt, lambda: self._login(attempt, password))

    async def login_browser(
        self, attempt: AccountAttempt, password: str, agent: str, before: BrowserSession | None = None
    ) -> Entrance:
        """Log a browser in with a password. `agent` is its user agent. Its previous session ends."""
        return await self._record_refusals(attempt, lambda: self._login_browser(attempt, password, agent, before))

    async def redeem_link(
        self,
        attempt: AccountAttempt,
        code: str,
        agent: str,
        before: BrowserSession | None = None,
        *,
        instead: bool = False,
    ) -> Entrance:
        """Log a browser in with a one-time link. Its previous session ends. If that session belongs to somebody else,
        `instead` must confirm this, because anybody can be made to open a link."""
        return await self._record_refusals(attempt, lambda: self._redeem_link(attempt, code, agent, before, instead))

    async def logout_browser(self, attempt: AccountAttempt, browser: BrowserSession) -> None:
        """Log a browser out."""
        await self._record_refusals(attempt, lambda: self._logout_browser(attempt, browser))

    async def refresh(self, attempt: AccountAttempt, token: str) -> LoginGrant:
        """Exchange a refresh token, once, for a new pair."""
        return await self._record_refusals(attempt, lambda: self._refresh(attempt, token))

    async def logout(self, attempt: AccountAttempt, token: str) -> None:
        """End the session that a refresh token belongs to."""
        await self._record_refusals(attempt, lambda: self._logout(attempt, token))

    async def register(self, attempt: AccountAttempt, password: str, *, name: str, passcode: str) -> LoginGrant:
        """Create a tenant with its first user, who has root access in it."""
        async with self._registering:
            return await self._record_refusals(attempt, lambda: self._register(attempt, password, name, passcode))

    async def create_invitation(self, by: str, tenant: str, seconds: float) -> tuple[str, float]:
        """Return a one-time passcode for registering a tenant, and its expiry."""
        letters = "".join(secrets.choice(_ALPHABET) for _ in range(20))
        passcode = "-".join(letters[start : start + 4] for start in range(0, 20, 4))
        now = self._clock.now()
        await self._store.write(sql.insert_invitation(_hash(passcode), tenant, by, now, now + seconds))
        return passcode, now + seconds

    async def set_password(self, user: User, new: str, *, current: str | None) -> int:
        """Set a user's password and end all their sessions. `current` is None if an administrator sets it.

        Returns the number of ended sessions.
        """
        if user.kind != "human":
            raise BadParams(f"Only people have passwords. {user.id!r} is a {user.kind}.")
        passwords.check_password(new, user.id, user.name, user.tenant)
        kept = await sql.password(self._store, user.tenant, user.id)
        if kept is not None and current is not None:
            key = f"account\0{user.tenant}\0{user.id}"
            self._limiter.count((f"change\0{key}", PAIR_LIMIT))
            if not await self._passwords.verify(current, kept):
                raise BadParams("The current password is wrong.", hint="Give it as the parameter `current`.")
            self._limiter.uncount(f"change\0{key}")
        hash = await self._passwords.hash(new)
        ended = 0

        def forget() -> None:
            nonlocal ended
            ended = self._forget_all(user.tenant, user.id)

        put = sql.put_password(user.tenant, user.id, hash, self._clock.now())
        await self._store.write(put, *self._end_statements(user.tenant, user.id), then=forget)
        return ended

    def deletion_statements(self, tenant: str, user: str) -> tuple[list[Statement], Callable[[], None]]:
        """Return the statements that delete a user's password and sessions, and a function that forgets them in memory.
        They are deleted with the user, because a new user may get the same name."""

        def forget() -> None:
            self._forget_all(tenant, user)

        return [sql.delete_password(tenant, user), *self._end_statements(tenant, user)], forget

    def _end_statements(self, tenant: str, user: str) -> list[Statement]:
        return [self._sessions.end_statement(tenant, user), self._browsers.end_statement(tenant, user)]

    def _forget_all(self, tenant: str, user: str) -> int:
        return self._sessions.forget_all(tenant, user) + self._browsers.forget_all(tenant, user)

    def cleanup_statements(self) -> list[Statement]:
        return [*sql.forget(self._clock.now()), self._browsers.cleanup_statement()]

    async def _login(self, attempt: AccountAttempt, password: str) -> LoginGrant:
        user, unchanged = await self._check_password(attempt, password)
        try:
            return await self._store_session(attempt, self._sessions.create(user, **self._lifetimes), unchanged)
        except Conflict as conflict:
            raise NotAuthenticated(_WRONG_CREDENTIALS) from conflict

    async def _login_browser(
        self, attempt: AccountAttempt, password: str, agent: str, before: BrowserSession | None
    ) -> Entrance:
        user, unchanged = await self._check_password(attempt, password)
        try:
            return await self._store_browser_session(attempt, self._browsers.create(user, agent, before), unchanged)
        except Conflict as conflict:
            raise NotAuthenticated(_WRONG_CREDENTIALS) from conflict

    async def _redeem_link(
        self, attempt: AccountAttempt, code: str, agent: str, before: BrowserSession | None, instead: bool
    ) -> Entrance:
        address = f"address\0{attempt.address}"
        try:
            user = self._browsers.check_link(code)
        except NotAuthenticated:
            self._limiter.count((address, ADDRESS_LIMIT))  # a valid link works whatever others tried from the address
            raise
        if before is not None and not instead and (before.tenant, before.user) != (user.tenant, user.id):
            raise Conflict(
                f"This browser is logged in as {before.user!r}, but the link is for {user.id!r}.",
                hint="Log in with `instead` to end that session.",
            )
        self._browsers.use_link(code)
        known = msgspec.structs.replace(attempt, tenant=user.tenant, user=user.id)
        return await self._store_browser_session(known, self._browsers.create(user, agent, before))

    async def _logout_browser(self, attempt: AccountAttempt, browser: BrowserSession) -> None:
        known = msgspec.structs.replace(attempt, tenant=browser.tenant, user=browser.user)
        await self._browsers.end(
            browser.tenant, browser.user, browser.id, entries=[self._entry(known, "done", "ok", "")]
        )

    async def _store_browser_session(self, attempt: AccountAttempt, entrance: Entrance, *also: Statement) -> Entrance:
        entries = [self._entry(attempt, "done", "ok", "")]
        await self._store.write(
            *entrance.statements, *also, entries=entries, then=lambda: self._browsers.activate(entrance)
        )
        return entrance

    async def _check_password(self, attempt: AccountAttempt, password: str) -> tuple[User, Statement]:
        """Check a password. Return its user and a statement that fails the write if the password changes meanwhile."""
        account = f"account\0{attempt.tenant[:100]}\0{attempt.user[:100]}"
        address = f"address\0{attempt.address}"
        pair = f"{account}\0{address}"
        attacked = self._limiter.is_reached(account, ACCOUNT_LIMIT)
        self._limiter.count((pair, ATTACKED_LIMIT if attacked else PAIR_LIMIT), (address, ADDRESS_LIMIT))
        self._limiter.add(account)
        user = self._people.get(attempt.tenant, attempt.user)
        kept = await sql.password(self._store, user.tenant, user.id) if user is not None else None
        fits = await self._passwords.verify(password[: passwords.MAX_LENGTH + 1], kept)
        if not fits or kept is None or user is None or not user.active or user.kind != "human":
            raise NotAuthenticated(_WRONG_CREDENTIALS)
        self._limiter.uncount(account, address)
        self._limiter.clear(pair)
        return user, sql.require_same_password(user.tenant, user.id, kept)

    async def _refresh(self, attempt: AccountAttempt, token: str) -> LoginGrant:
        try:
            opening = self._sessions.renew(token, **self._lifetimes)
        except RefreshTokenReused as twice:
            await self._end_session(twice.session.id)
            raise
        session = opening.session
        known = msgspec.structs.replace(attempt, tenant=session.tenant, user=session.user)
        try:
            return await self._store_session(known, opening)
        except Conflict as conflict:
            await self._end_session(session.id)
            raise RefreshTokenReused(session) from conflict

    async def _logout(self, attempt: AccountAttempt, token: str) -> None:
        session = self._sessions.authenticate(token)
        known = msgspec.structs.replace(attempt, tenant=session.tenant, user=session.user)
        revoke = sql.revoke_session(session.id, self._clock.now())
        entries = [self._entry(known, "done", "ok", "")]
        await self._store.write(revoke, entries=entries, then=lambda: self._sessions.forget(session.id))

    async def _register(self, attempt: AccountAttempt, password: str, name: str, passcode: str) -> LoginGrant:
        if self._settings.registration == "closed":
            raise NotPermitted(
                "Registration is closed (the setting rest.registration).", rule="built-in: registration is closed"
            )
        self._limiter.count((f"register\0{attempt.address}", REGISTRATION_LIMIT))
        spent = await self._use_invitation(attempt, passcode) if self._settings.registration == "code" else []
        user = User(attempt.tenant, attempt.user, name or attempt.user, "human", Access.ROOT)
        if attempt.tenant == LOCAL or self._people.of_tenant(attempt.tenant):
            raise Conflict(f"The tenant {attempt.tenant!r} exists. Its root users can add users with user/create.")
        self._people.check_new(user)
        passwords.check_password(password, user.id, user.name, user.tenant)
        hash = await self._passwords.hash(password)
        opening = self._sessions.create(user, **self._lifetimes)
        await self._people.add(
            user,
            sql.put_password(user.tenant, user.id, hash, self._clock.now()),
            *spent,
            *opening.statements,
            entries=[self._entry(attempt, "done", "ok", "")],
        )
        self._sessions.activate(opening)
        return opening.grant

    async def _use_invitation(self, attempt: AccountAttempt, passcode: str) -> list[Statement]:
        """Return the statement that uses up an invitation, if the passcode is valid for that tenant."""
        hash, now = _hash(passcode), self._clock.now()
        found = await sql.invitation(self._store, hash)
        good = found is not None and found["used_at"] is None and found["expires_at"] > now
        if found is None or not good or found["tenant"] not in ("", attempt.tenant):
            raise NotAuthenticated(
                "The passcode is not valid: it is unknown, used, expired, or for another tenant.",
                hint="The owner of this server creates one with: doorward token invite",
            )
        return [sql.use_invitation(hash, now)]

    async def _store_session(self, attempt: AccountAttempt, opening: NewSession, *also: Statement) -> LoginGrant:
        entries = [self._entry(attempt, "done", "ok", "")]
        await self._store.write(
            *opening.statements, *also, entries=entries, then=lambda: self._sessions.activate(opening)
        )
        return opening.grant

    async def _end_session(self, session: str) -> None:
        self._sessions.forget(session)
        await self._store.write(sql.revoke_session(session, self._clock.now()))

    async def _record_refusals(self, attempt: AccountAttempt, work: Callable[[], Awaitable[T]]) -> T:
        """Do the work. A refusal is recorded before it is reported."""
        try:
            return await work()
        except Refused as refusal:
            if isinstance(refusal, RefreshTokenReused):
                attempt = msgspec.structs.replace(attempt, tenant=refusal.session.tenant, user=refusal.session.user)
            who = msgspec.structs.replace(
                attempt, tenant=attempt.tenant if self._people.of_tenant(attempt.tenant) else ""
            )
            entry = self._entry(who, "refused", refusal.code, refusal.message)
            await self._anonymous.record(entry, attempt.address, attempt.does)
            raise

    def _entry(self, attempt: AccountAttempt, status: str, code: str, note: str) -> Entry:
        done = status == "done"
        claimed = redact.params({"user": attempt.user, "address": attempt.address}, largest=200)
        return Entry(
            at=self._clock.wall_us(),
            phase="whole",
            call=new_id(),
            tenant=to_storable(attempt.tenant),
            caller=to_storable(attempt.user) if done else ANONYMOUS.id,
            kind="human" if done else ANONYMOUS.kind,
            behalf="",
            door=attempt.door,
            room="",
            command=attempt.does,
            tier=Tier.SYSTEM,
            params=to_storable(_encode(claimed).decode()),
            digest="",
            rule="built-in: password attempts",
            approval="",
            reserved=0.0,
            spent=0.0,
            status=status,
            code=code,
            note=to_storable(redact.text(note)[:500]),
            duration=0,
        )


def _hash(passcode: str) -> str:
    return hashlib.sha256(passcode.strip().lower().encode("utf-8", "surrogatepass")).hexdigest()
