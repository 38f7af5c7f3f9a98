"""The sessions of the shell: stored, each for the one user it belongs to, and forgotten when nobody uses them.

A session is found by its id together with its tenant and user, so the id of somebody else's means nothing. Without an
id there is a new one, and never one that others share. While a session is in use there is one object of it in this
process, so that what an inner call changes (`cd`, `export`) is seen by the line that it stands in.
"""

from __future__ import annotations

import contextlib
import re
import secrets
from collections.abc import AsyncIterator, Mapping

import msgspec

from doorward.backends.session.session import Session
from doorward.clock import Clock
from doorward.command import shortened
from doorward.errors import BadParams, NotFound, NotPermitted
from doorward.model import Caller
from doorward.settings import Sessions as Settings
from doorward.store import shell_sessions
from doorward.store.sqlite import Statement, Store

_ID = re.compile(r"[A-Za-z0-9_-]{8,64}")
_Key = tuple[str, str, str, str]


class Sessions:
    def __init__(
        self, store: Store, clock: Clock, settings: Settings, builtins: Mapping[str, str] | None = None
    ) -> None:
        self._store = store
        self._clock = clock
        self._settings = settings
        self.builtins: Mapping[str, str] = builtins or {}
        """The words of the shell that are commands of the house, and which."""
        self._used: dict[_Key, _Use] = {}
        """The sessions that a call goes on in at this moment."""

    async def open(self, caller: Caller, room: str, id: str = "") -> Session:
        """The session of this caller with this id, where it was opened; a new one when no id is given."""
        if not id:
            return self._made(caller, room)
        key = _key(caller, id)
        use = self._used.get(key)
        session = use.session if use is not None else await self._stored(key)
        if session is None:
            raise NotFound(
                f"There is no session {shortened(id)} of yours; it may have been forgotten.",
                hint="Leave out the session to begin a new one; session/list shows yours.",
            )
        if session.room != room:
            there = f"in room {session.room!r}" if session.room else "outside rooms"
            here = f"in room {room!r}" if room else "outside rooms"
            raise NotPermitted(
                f"The session {id} was opened {there} and goes on only there; this is {here}.",
                hint="Begin a new session here by leaving it out.",
                rule="house: a session stays where it was opened",
            )
        return session

    async def save(self, session: Session) -> None:
        """Store a session; one that a call goes on in is stored when that call is over."""
        if key_of(session) not in self._used:
            await self._put(session)

    @contextlib.asynccontextmanager
    async def using(self, session: Session, *, stored: bool = True) -> AsyncIterator[Session]:
        """Go on in a session: calls inside find it by its id, and it is stored at the end, however that comes.

        With `stored=False` it is of this call alone, and nothing is left of it.
        """
        key = key_of(session)
        use = self._used.get(key)
        if use is None:
            use = self._used[key] = _Use(session, stored)
        use.users += 1
        try:
            yield use.session
        finally:
            use.users -= 1
            if not use.users:
                del self._used[key]
                if use.stored:
                    await self._put(use.session)

    async def mine(self, caller: Caller, limit: int = 100) -> list[Session]:
        """The sessions of a caller, the last used first."""
        _, tenant, user, agent = _key(caller, "")
        rows = await shell_sessions.newest(self._store, tenant, user, agent, limit)
        return [self._read(row) for row in rows]

    @contextlib.asynccontextmanager
    async def apart(self, session: Session) -> AsyncIterator[Session]:
        """A copy of a session for calls that may change it without changing the original."""
        copy = msgspec.structs.replace(
            session,
            id=secrets.token_hex(12),
            env=dict(session.env),
            aliases=dict(session.aliases),
            history=[],
            talk=[],
        )
        async with self.using(copy, stored=False):
            yield copy

    async def end(self, caller: Caller, id: str) -> None:
        """Forget a session of this caller."""
        key = _key(caller, id)
        use = self._used.get(key)
        if use is not None:
            use.stored = False
        _, tenant, user, agent = key
        (gone,) = await self._store.write(shell_sessions.delete(tenant, user, agent, id))
        if not gone and use is None:
            raise NotFound(f"There is no session {shortened(id)} of yours; session/list shows yours.")

    def tidy(self) -> list[Statement]:
        """Forget what nobody used for long."""
        return [shell_sessions.forget(self._clock.now() - self._settings.idle_days * 86_400)]

    def _made(self, caller: Caller, room: str) -> Session:
        id = secrets.token_hex(12)
        _, tenant, user, agent = _key(caller, id)
        now = self._clock.now()
        return Session(tenant=tenant, user=user, agent=agent, id=id, room=room, created_at=now, used_at=now)

    async def _stored(self, key: _Key) -> Session | None:
        id, tenant, user, agent = key
        row = await shell_sessions.get(self._store, tenant, user, agent, id)
        if row is None or row["used_at"] < self._clock.now() - self._settings.idle_days * 86_400:
            return None
        use = self._used.get(key)  # somebody may have begun to use it meanwhile
        return use.session if use is not None else self._read(row)

    @staticmethod
    def _read(row: Mapping[str, str]) -> Session:
        return msgspec.json.decode(row["body"], type=Session)

    async def _put(self, session: Session) -> None:
        session.used_at = self._clock.now()
        body = msgspec.json.encode(session).decode()
        id, tenant, user, agent = key_of(session)
        await self._store.write(
            shell_sessions.put(id, tenant, user, agent, body, session.used_at),
            shell_sessions.keep_newest(tenant, user, agent, self._settings.each),
            durable=False,
        )


class _Use:
    """A session that calls go on in, and how many."""

    __slots__ = ("session", "stored", "users")

    def __init__(self, session: Session, stored: bool) -> None:
        self.session = session
        self.stored = stored
        self.users = 0


def key_of(session: Session) -> _Key:
    return session.id, session.tenant, session.user, session.agent


def _key(caller: Caller, id: str) -> _Key:
    """Whose session is meant. The keeper that thinks for a person goes on in that person's."""
    if id and _ID.fullmatch(id) is None:
        raise BadParams(f"A session is named by 8 to 64 letters, digits, - and _; given {shortened(id)}.")
    if caller.kind == "human" or caller.whose != caller.id:
        return id, caller.tenant, caller.whose, ""
    return id, caller.tenant, caller.on_behalf_of or caller.id, caller.id if caller.on_behalf_of else ""
