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

from doorward import redact
from doorward.clock import Clock
from doorward.errors import BadParams, Conflict, NotAuthenticated, NotPermitted, Refused
from doorward.facts import Access, Tier
from doorward.ids import new_id
from doorward.model import ANONYMOUS
from doorward.record import Entry
from doorward.rooms import passwords
from doorward.rooms.attempts import ACCOUNT, ADDRESS, PAIR, REGISTERING, Attempts
from doorward.rooms.browsers import Browser, Browsers
from doorward.rooms.browsers import Opening as Entrance
from doorward.rooms.passwords import Passwords
from doorward.rooms.people import LOCAL, People, User
from doorward.rooms.sessions import Grant, Opening, Sessions, UsedTwice
from doorward.settings import Rest
from doorward.store import accounts as sql
from doorward.store.sqlite import Statement, Store
from doorward.visible import storable

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_WRONG = "The tenant, the user or the password is wrong."
_encode = msgspec.json.Encoder().encode

T = TypeVar("T")


class Attempt(msgspec.Struct, frozen=True):
    """One attempt to use an account, as it is recorded."""

    does: str
    door: str
    address: str
    tenant: str = ""
    user: str = ""


class Accounts:
    def __init__(
        self, store: Store, people: People, sessions: Sessions, browsers: Browsers, clock: Clock, settings: Rest
    ) -> None:
        self._store = store
        self._people = people
        self._sessions = sessions
        self._browsers = browsers
        self._clock = clock
        self._settings = settings
        self._passwords = Passwords()
        self._attempts = Attempts(clock)
        self._registering = asyncio.Lock()
        self._lifetimes = {
            "access_seconds": settings.access_minutes * 60,
            "refresh_seconds": settings.refresh_days * 86_400,
        }

    async def login(self, attempt: Attempt, password: str) -> Grant:
        """Exchange a password for a session."""
        return await self._recorded(attempt, lambda: self._login(attempt, password))

    async def enter(self, attempt: Attempt, password: str, agent: str, before: Browser | None = None) -> Entrance:
        """Log a browser in with a password. `agent` is its user agent. Its previous session ends."""
        return await self._recorded(attempt, lambda: self._enter(attempt, password, agent, before))

    async def redeem(
        self, attempt: Attempt, code: str, agent: str, before: Browser | None = None, *, instead: bool = False
    ) -> Entrance:
        """Log a browser in with a one-time link. Its previous session ends. If that session belongs to somebody else,
        `instead` must confirm this, because anybody can be made to open a link."""
        return await self._recorded(attempt, lambda: self._redeem(attempt, code, agent, before, instead))

    async def leave(self, attempt: Attempt, browser: Browser) -> None:
        """Log a browser out."""
        await self._recorded(attempt, lambda: self._leave(attempt, browser))

    async def refresh(self, attempt: Attempt, token: str) -> Grant:
        """Exchange a refresh token, once, for a new pair."""
        return await self._recorded(attempt, lambda: self._refresh(attempt, token))

    async def logout(self, attempt: Attempt, token: str) -> None:
        """End the session that a refresh token belongs to."""
        await self._recorded(attempt, lambda: self._logout(attempt, token))

    async def register(self, attempt: Attempt, password: str, *, name: str, passcode: str) -> Grant:
        """Create a tenant with its first user, who has root access in it."""
        async with self._registering:
            return await self._recorded(attempt, lambda: self._register(attempt, password, name, passcode))

    async def invite(self, by: str, tenant: str, seconds: float) -> tuple[str, float]:
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
        passwords.check(new, user.id, user.name, user.tenant)
        kept = await sql.password(self._store, user.tenant, user.id)
        if kept is not None and current is not None:
            key = f"account\0{user.tenant}\0{user.id}"
            self._attempts.count((f"change\0{key}", PAIR), (key, ACCOUNT))
            if not await self._passwords.fits(current, kept):
                raise BadParams("The current password is wrong.", hint="Give it as the parameter `current`.")
            self._attempts.forgive(f"change\0{key}", key)
        hash = await self._passwords.hash(new)
        ended = 0

        def forget() -> None:
            nonlocal ended
            ended = self._forget_all(user.tenant, user.id)

        put = sql.put_password(user.tenant, user.id, hash, self._clock.now())
        await self._store.write(put, *self._ending(user.tenant, user.id), then=forget)
        return ended

    def forgetting(self, tenant: str, user: str) -> tuple[list[Statement], Callable[[], None]]:
        """Return the statements that delete a user's password and sessions, and a function that forgets them in memory.
        They are deleted with the user, because a new user may get the same name."""

        def forget() -> None:
            self._forget_all(tenant, user)

        return [sql.delete_password(tenant, user), *self._ending(tenant, user)], forget

    def _ending(self, tenant: str, user: str) -> list[Statement]:
        return [self._sessions.ending(tenant, user), self._browsers.ending(tenant, user)]

    def _forget_all(self, tenant: str, user: str) -> int:
        return self._sessions.forget_all(tenant, user) + self._browsers.forget_all(tenant, user)

    def tidy(self) -> list[Statement]:
        return [*sql.forget(self._clock.now()), self._browsers.tidy()]

    async def _login(self, attempt: Attempt, password: str) -> Grant:
        user, unchanged = await self._known(attempt, password)
        try:
            return await self._opened(attempt, self._sessions.open(user, **self._lifetimes), unchanged)
        except Conflict as conflict:
            raise NotAuthenticated(_WRONG) from conflict

    async def _enter(self, attempt: Attempt, password: str, agent: str, before: Browser | None) -> Entrance:
        user, unchanged = await self._known(attempt, password)
        try:
            return await self._entered(attempt, self._browsers.open(user, agent, before), unchanged)
        except Conflict as conflict:
            raise NotAuthenticated(_WRONG) from conflict

    async def _redeem(self, attempt: Attempt, code: str, agent: str, before: Browser | None, instead: bool) -> Entrance:
        address = f"address\0{attempt.address}"
        self._attempts.count((address, ADDRESS))
        user = self._browsers.invited(code)
        self._attempts.forgive(address)
        if before is not None and not instead and (before.tenant, before.user) != (user.tenant, user.id):
            raise Conflict(
                f"This browser is logged in as {before.user!r}, but the link is for {user.id!r}.",
                hint="Log in with `instead` to end that session.",
            )
        self._browsers.redeem(code)
        known = msgspec.structs.replace(attempt, tenant=user.tenant, user=user.id)
        return await self._entered(known, self._browsers.open(user, agent, before))

    async def _leave(self, attempt: Attempt, browser: Browser) -> None:
        known = msgspec.structs.replace(attempt, tenant=browser.tenant, user=browser.user)
        await self._browsers.end(
            browser.tenant, browser.user, browser.id, entries=[self._entry(known, "done", "ok", "")]
        )

    async def _entered(self, attempt: Attempt, entrance: Entrance, *also: Statement) -> Entrance:
        entries = [self._entry(attempt, "done", "ok", "")]
        await self._store.write(*entrance.statements, *also, entries=entries, then=lambda: self._browsers.put(entrance))
        return entrance

    async def _known(self, attempt: Attempt, password: str) -> tuple[User, Statement]:
        """Check a password. Return its user and a statement that fails the write if the password changes meanwhile."""
        account = f"account\0{attempt.tenant[:100]}\0{attempt.user[:100]}"
        address = f"address\0{attempt.address}"
        pair = f"{account}\0{address}"
        self._attempts.count((pair, PAIR), (account, ACCOUNT), (address, ADDRESS))
        user = self._people.get(attempt.tenant, attempt.user)
        kept = await sql.password(self._store, user.tenant, user.id) if user is not None else None
        fits = await self._passwords.fits(password[: passwords.LONGEST + 1], kept)
        if not fits or kept is None or user is None or not user.active or user.kind != "human":
            raise NotAuthenticated(_WRONG)
        self._attempts.forgive(account, address)
        self._attempts.clear(pair)
        return user, sql.still_the_password(user.tenant, user.id, kept)

    async def _refresh(self, attempt: Attempt, token: str) -> Grant:
        try:
            opening = self._sessions.exchange(token, **self._lifetimes)
        except UsedTwice as twice:
            await self._end(twice.session.id)
            raise
        session = opening.session
        known = msgspec.structs.replace(attempt, tenant=session.tenant, user=session.user)
        try:
            return await self._opened(known, opening)
        except Conflict as conflict:
            await self._end(session.id)
            raise UsedTwice(session) from conflict

    async def _logout(self, attempt: Attempt, token: str) -> None:
        session = self._sessions.known(token)
        known = msgspec.structs.replace(attempt, tenant=session.tenant, user=session.user)
        revoke = sql.revoke_session(session.id, self._clock.now())
        entries = [self._entry(known, "done", "ok", "")]
        await self._store.write(revoke, entries=entries, then=lambda: self._sessions.forget(session.id))

    async def _register(self, attempt: Attempt, password: str, name: str, passcode: str) -> Grant:
        if self._settings.registration == "closed":
            raise NotPermitted("Registration is closed (the setting rest.registration).", rule="house: closed")
        self._attempts.count((f"register\0{attempt.address}", REGISTERING))
        spent = await self._spent(attempt, passcode) if self._settings.registration == "code" else []
        user = User(attempt.tenant, attempt.user, name or attempt.user, "human", Access.ROOT)
        if attempt.tenant == LOCAL or self._people.of(attempt.tenant):
            raise Conflict(f"The tenant {attempt.tenant!r} exists. Its root users can add users with user/create.")
        self._people.check_new(user)
        passwords.check(password, user.id, user.name, user.tenant)
        hash = await self._passwords.hash(password)
        opening = self._sessions.open(user, **self._lifetimes)
        await self._people.add(
            user,
            sql.put_password(user.tenant, user.id, hash, self._clock.now()),
            *spent,
            *opening.statements,
            entries=[self._entry(attempt, "done", "ok", "")],
        )
        self._sessions.put(opening)
        return opening.grant

    async def _spent(self, attempt: Attempt, passcode: str) -> list[Statement]:
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

    async def _opened(self, attempt: Attempt, opening: Opening, *also: Statement) -> Grant:
        entries = [self._entry(attempt, "done", "ok", "")]
        await self._store.write(*opening.statements, *also, entries=entries, then=lambda: self._sessions.put(opening))
        return opening.grant

    async def _end(self, session: str) -> None:
        self._sessions.forget(session)
        await self._store.write(sql.revoke_session(session, self._clock.now()))

    async def _recorded(self, attempt: Attempt, work: Callable[[], Awaitable[T]]) -> T:
        """Do the work. A refusal is recorded before it is reported."""
        try:
            return await work()
        except Refused as refusal:
            if isinstance(refusal, UsedTwice):
                attempt = msgspec.structs.replace(attempt, tenant=refusal.session.tenant, user=refusal.session.user)
            who = msgspec.structs.replace(attempt, tenant=attempt.tenant if self._people.of(attempt.tenant) else "")
            await self._store.write(entries=[self._entry(who, "refused", refusal.code, refusal.message)])
            raise

    def _entry(self, attempt: Attempt, status: str, code: str, note: str) -> Entry:
        done = status == "done"
        claimed = redact.params({"user": attempt.user, "address": attempt.address}, largest=200)
        return Entry(
            at=self._clock.wall_us(),
            phase="whole",
            call=new_id(),
            tenant=storable(attempt.tenant),
            caller=storable(attempt.user) if done else ANONYMOUS.id,
            kind="human" if done else ANONYMOUS.kind,
            behalf="",
            door=attempt.door,
            room="",
            command=attempt.does,
            tier=Tier.SYSTEM,
            params=storable(_encode(claimed).decode()),
            digest="",
            rule="house: passwords",
            approval="",
            reserved=0.0,
            spent=0.0,
            status=status,
            code=code,
            note=storable(redact.text(note)[:500]),
            duration=0,
        )


def _hash(passcode: str) -> str:
    return hashlib.sha256(passcode.strip().lower().encode("utf-8", "surrogatepass")).hexdigest()
