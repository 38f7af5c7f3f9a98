"""Browser sessions, and the one-time links that open them.

A session has two independent secrets. The browser sends the cookie automatically to every port of the host, and so to
any program that listens there. It never sends the proof automatically: our page keeps it in storage that only pages of
this port can read. Neither works without the other.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Sequence

import msgspec

from doorward.config.settings import ConsoleSettings
from doorward.core.clock import Clock
from doorward.core.errors import NotAuthenticated, NotFound
from doorward.core.escape_invisible import to_storable
from doorward.core.ids import new_id
from doorward.core.model import Caller
from doorward.rooms.people import People, User
from doorward.store import browser_sessions as sql
from doorward.store.ledger.record import Entry
from doorward.store.sqlite import Statement, Store

MAX_SESSIONS = 100
"""The most browser sessions of one user; one more ends the oldest."""
_MAX_LINKS = 20
"""The most unused links of one user; one more invalidates the oldest."""
_MAX_SECRET = 200
"""The longest secret; longer input is rejected unread."""


class BrowserSession(msgspec.Struct, frozen=True):
    """A session of one browser. It acts for a person with that person's current access."""

    id: str
    tenant: str
    user: str
    hash: str
    """The hash of the cookie's secret."""
    proof: str
    """The hash of the page's proof."""
    agent: str
    """The user agent, shown in the list of sessions."""
    created_at: float
    expires_at: float


class _LoginLink(msgspec.Struct, frozen=True):
    tenant: str
    user: str
    expires_at: float


class NewBrowserSession(msgspec.Struct, frozen=True):
    """A session to be stored, with the secrets of the cookie and of the page."""

    browser: BrowserSession
    secret: str
    proof: str
    statements: list[Statement]
    replaced: tuple[str, ...] = ()


class BrowserSessions:
    """Active sessions, in memory and written through to the store. Links are in memory only."""

    def __init__(self, store: Store, people: People, clock: Clock, settings: ConsoleSettings) -> None:
        self._store = store
        self._people = people
        self._clock = clock
        self._settings = settings
        self._browsers: dict[str, BrowserSession] = {}
        """By the hash of the secret."""
        self._links: dict[str, _LoginLink] = {}
        """By the hash of the code, oldest first."""

    async def load(self) -> None:
        rows = await sql.live_sessions(self._store, self._clock.now())
        self._browsers = {row["hash"]: msgspec.convert(row, BrowserSession) for row in rows}

    def create_link(self, tenant: str, user: str) -> str:
        """Create a one-time code that logs a browser in as this person. Only its hash is kept."""
        self._require_user(tenant, user)
        mine = [hash for hash, link in self._links.items() if (link.tenant, link.user) == (tenant, user)]
        for hash in mine[: max(0, len(mine) + 1 - _MAX_LINKS)]:
            del self._links[hash]
        code = secrets.token_urlsafe(24)
        self._links[_hash(code)] = _LoginLink(tenant, user, self._clock.now() + self.link_seconds)
        return code

    @property
    def link_seconds(self) -> float:
        return self._settings.link_minutes * 60

    def check_link(self, code: str) -> User:
        """Return the user that a code logs in, without using it."""
        link = self._links.get(_hash(code)) if len(code) <= _MAX_SECRET else None
        if link is None or link.expires_at <= self._clock.now():
            raise NotAuthenticated(
                "This login link is not valid: it was used, has expired, or is not from this server.",
                hint="Create a new link with: doorward login",
            )
        return self._require_user(link.tenant, link.user)

    def use_link(self, code: str) -> User:
        """Use a code and return its user. The code is used up even if the login fails later."""
        user = self.check_link(code)
        del self._links[_hash(code)]
        return user

    def create(self, user: User, agent: str, instead_of: BrowserSession | None = None) -> NewBrowserSession:
        """Create a session. The caller stores its statements and then activates it with `put`."""
        now, secret, proof = self._clock.now(), secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        end = now + self._settings.session_days * 86_400
        browser = BrowserSession(
            new_id(), user.tenant, user.id, _hash(secret), _hash(proof), to_storable(agent[:200]), now, end
        )
        mine = sorted(self.of_user(user.tenant, user.id), key=lambda one: one.created_at)
        over = tuple(one.id for one in mine[: max(0, len(mine) + 1 - MAX_SESSIONS)])
        if instead_of is not None:
            over += (instead_of.id,)
        insert = sql.insert(
            browser.id, browser.tenant, browser.user, browser.hash, browser.proof, browser.agent, now, end
        )
        return NewBrowserSession(browser, secret, proof, [insert, *sql.delete(*over)], over)

    def activate(self, opening: NewBrowserSession) -> None:
        self._browsers[opening.browser.hash] = opening.browser
        self._end_now(set(opening.replaced))

    def authenticate(self, secret: str, proof: str) -> BrowserSession:
        """Return the active session of a cookie and its proof."""
        browser = self._browsers.get(_hash(secret)) if len(secret) <= _MAX_SECRET else None
        if browser is None or browser.expires_at <= self._clock.now():
            raise NotAuthenticated(
                "This browser is not logged in: its session has ended, or is not from this server.",
                hint="Open a new link, created with: doorward login",
            )
        if len(proof) > _MAX_SECRET or not hmac.compare_digest(_hash(proof), browser.proof):
            raise NotAuthenticated(
                "This browser has a session, but the request does not include the session's proof.",
                hint="Only the page that logged in has it. Log in again with a new link, created with: doorward login",
            )
        self._require_user(browser.tenant, browser.user)
        return browser

    def caller(self, secret: str, proof: str) -> Caller:
        """Return the caller of a browser's two secrets, with the person's current access."""
        browser = self.authenticate(secret, proof)
        user = self._require_user(browser.tenant, browser.user)
        return Caller(user.tenant, user.id, "human", user.access)

    def of_user(self, tenant: str, user: str) -> list[BrowserSession]:
        now = self._clock.now()
        return [
            one for one in self._browsers.values() if (one.tenant, one.user) == (tenant, user) and one.expires_at > now
        ]

    async def end(self, tenant: str, user: str, id: str, *, entries: Sequence[Entry] = ()) -> None:
        """End one session of a user."""
        if not any(one.id == id for one in self.of_user(tenant, user)):
            raise NotFound(f"You have no session {id[:80]!r}. user/sessions lists your sessions.")
        await self._store.write(*sql.delete(id), entries=entries, then=lambda: self._end_now({id}))

    def end_statement(self, tenant: str, user: str) -> Statement:
        """Return the statement that ends all sessions of a user. Call `forget_all` once it is stored."""
        return sql.delete_of(tenant, user)

    def forget_all(self, tenant: str, user: str) -> int:
        """Forget all sessions and unused links of a user; return the number of sessions."""
        mine = self.of_user(tenant, user)
        self._end_now({one.id for one in mine})
        self._links = {hash: link for hash, link in self._links.items() if (link.tenant, link.user) != (tenant, user)}
        return len(mine)

    def cleanup_statement(self) -> Statement:
        """Forget ended sessions in memory, and return the statement that deletes them from the store."""
        now = self._clock.now()
        self._forget({one.id for one in self._browsers.values() if one.expires_at <= now})
        self._links = {hash: link for hash, link in self._links.items() if link.expires_at > now}
        return sql.forget(now)

    def _end_now(self, ids: set[str]) -> None:
        """Forget sessions before their time, and announce their end."""
        ended = {hash for hash, one in self._browsers.items() if one.id in ids}
        self._forget(ids)
        if ended:
            self._people.revocations.announce(
                "the end of its browser session",
                lambda credential, _: bool(credential.browser) and _hash(credential.browser) in ended,
            )

    def _forget(self, ids: set[str]) -> None:
        if ids:
            self._browsers = {hash: one for hash, one in self._browsers.items() if one.id not in ids}

    def _require_user(self, tenant: str, user: str) -> User:
        found = self._people.get(tenant, user)
        if found is None or not found.active or found.kind != "human":
            raise NotAuthenticated("This user is no longer active.")
        return found


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
