"""Browsers of people: the link that lets one in, once, and the session that they then have.

A session has two secrets, made apart from each other. The browser sends the cookie along by itself, to every port of
the machine and so to whatever program listens there; the proof it sends nowhere by itself, since our page keeps it
where pages of this one port alone can read. Neither is good for anything without the other.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Sequence

import msgspec

from doorward.clock import Clock
from doorward.errors import NotAuthenticated, NotFound
from doorward.ids import new_id
from doorward.model import Caller
from doorward.record import Entry
from doorward.rooms.people import People, User
from doorward.settings import Console
from doorward.store import browsers as sql
from doorward.store.sqlite import Statement, Store
from doorward.visible import storable

MOST = 100
"""How many browsers one user is logged in with at once; one more ends the oldest."""
_MOST_LINKS = 20
"""How many unused links one user has; one more makes the oldest worthless."""
_LONGEST = 200
"""No secret of ours is longer, so nothing longer is looked at."""


class Browser(msgspec.Struct, frozen=True):
    """A session of one browser, which speaks for a person as far as that person's access reaches at the time."""

    id: str
    tenant: str
    user: str
    hash: str
    """Of the secret in the cookie."""
    proof: str
    """The hash of what the page shows beside it."""
    agent: str
    """What the browser calls itself, for the person who looks through their sessions."""
    created_at: float
    expires_at: float


class _Link(msgspec.Struct, frozen=True):
    tenant: str
    user: str
    expires_at: float


class Opening(msgspec.Struct, frozen=True):
    """A session as it is about to be stored, with the secret that the cookie carries and the one of the page."""

    browser: Browser
    secret: str
    proof: str
    statements: list[Statement]
    replaced: tuple[str, ...] = ()


class Browsers:
    """Sessions that are not over, in memory and written through. Links are in memory only: another is soon made."""

    def __init__(self, store: Store, people: People, clock: Clock, settings: Console) -> None:
        self._store = store
        self._people = people
        self._clock = clock
        self._settings = settings
        self._browsers: dict[str, Browser] = {}
        """By the hash of their secret."""
        self._links: dict[str, _Link] = {}
        """By the hash of their code; the oldest stands first."""

    async def load(self) -> None:
        rows = await sql.live(self._store, self._clock.now())
        self._browsers = {row["hash"]: msgspec.convert(row, Browser) for row in rows}

    def link(self, tenant: str, user: str) -> str:
        """A code that logs one browser in as this person, once. It is kept nowhere else."""
        self._person(tenant, user)
        mine = [hash for hash, link in self._links.items() if (link.tenant, link.user) == (tenant, user)]
        for hash in mine[: max(0, len(mine) + 1 - _MOST_LINKS)]:
            del self._links[hash]
        code = secrets.token_urlsafe(24)
        self._links[_hash(code)] = _Link(tenant, user, self._clock.now() + self.link_seconds)
        return code

    @property
    def link_seconds(self) -> float:
        return self._settings.link_minutes * 60

    def invited(self, code: str) -> User:
        """Whom a code would let in."""
        link = self._links.get(_hash(code)) if len(code) <= _LONGEST else None
        if link is None or link.expires_at <= self._clock.now():
            raise NotAuthenticated(
                "This link does not let anybody in: it was used, has expired, or is none of this server's.",
                hint="A new one is made with: doorward login",
            )
        return self._person(link.tenant, link.user)

    def redeem(self, code: str) -> User:
        """Whom a code lets in. From then on it is worthless, also when what follows fails."""
        user = self.invited(code)
        del self._links[_hash(code)]
        return user

    def open(self, user: User, agent: str, instead_of: Browser | None = None) -> Opening:
        """A new session, to be stored by whoever asked for it and then put in force with `put`."""
        now, secret, proof = self._clock.now(), secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        end = now + self._settings.session_days * 86_400
        browser = Browser(new_id(), user.tenant, user.id, _hash(secret), _hash(proof), storable(agent[:200]), now, end)
        mine = sorted(self.of(user.tenant, user.id), key=lambda one: one.created_at)
        over = tuple(one.id for one in mine[: max(0, len(mine) + 1 - MOST)])
        if instead_of is not None:
            over += (instead_of.id,)
        insert = sql.insert(
            browser.id, browser.tenant, browser.user, browser.hash, browser.proof, browser.agent, now, end
        )
        return Opening(browser, secret, proof, [insert, *sql.delete(*over)], over)

    def put(self, opening: Opening) -> None:
        self._browsers[opening.browser.hash] = opening.browser
        self._forget(set(opening.replaced))

    def known(self, secret: str, proof: str) -> Browser:
        """The session that a cookie stands for, if its page shows the proof, it is not over and its person may act."""
        browser = self._browsers.get(_hash(secret)) if len(secret) <= _LONGEST else None
        if browser is None or browser.expires_at <= self._clock.now():
            raise NotAuthenticated(
                "This browser is not logged in: its session is over, or was never one of this server's.",
                hint="Open a new link, made with: doorward login",
            )
        if len(proof) > _LONGEST or not hmac.compare_digest(_hash(proof), browser.proof):
            raise NotAuthenticated(
                "This browser has a session, but the page that asks does not show the proof that belongs to it.",
                hint="Only the page that logged in has it. Log in again with a new link, made with: doorward login",
            )
        self._person(browser.tenant, browser.user)
        return browser

    def caller(self, secret: str, proof: str) -> Caller:
        """Who a browser's two secrets speak for, with the access that this person has now."""
        browser = self.known(secret, proof)
        user = self._person(browser.tenant, browser.user)
        return Caller(user.tenant, user.id, "human", user.access)

    def of(self, tenant: str, user: str) -> list[Browser]:
        now = self._clock.now()
        return [
            one for one in self._browsers.values() if (one.tenant, one.user) == (tenant, user) and one.expires_at > now
        ]

    async def end(self, tenant: str, user: str, id: str, *, entries: Sequence[Entry] = ()) -> None:
        """End one session of a user."""
        if not any(one.id == id for one in self.of(tenant, user)):
            raise NotFound(f"You have no session {id[:80]!r}; user/sessions lists them.")
        await self._store.write(*sql.delete(id), entries=entries, then=lambda: self._forget({id}))

    def ending(self, tenant: str, user: str) -> Statement:
        """What ends all sessions of a user; they are forgotten with `forget_all` once it is stored."""
        return sql.delete_of(tenant, user)

    def forget_all(self, tenant: str, user: str) -> int:
        """Returns how many sessions there were. Links that nobody used yet are worthless as well."""
        mine = self.of(tenant, user)
        self._forget({one.id for one in mine})
        self._links = {hash: link for hash, link in self._links.items() if (link.tenant, link.user) != (tenant, user)}
        return len(mine)

    def tidy(self) -> Statement:
        """What makes the store forget sessions that are over; here they are forgotten at once."""
        now = self._clock.now()
        self._forget({one.id for one in self._browsers.values() if one.expires_at <= now})
        self._links = {hash: link for hash, link in self._links.items() if link.expires_at > now}
        return sql.forget(now)

    def _forget(self, ids: set[str]) -> None:
        if ids:
            self._browsers = {hash: one for hash, one in self._browsers.items() if one.id not in ids}

    def _person(self, tenant: str, user: str) -> User:
        found = self._people.get(tenant, user)
        if found is None or not found.active or found.kind != "human":
            raise NotAuthenticated("This person may not act any more.")
        return found


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
