"""The store of shell sessions; unused ones are deleted after a while.

A session is found by its id together with its tenant and user, so the id of another user's session is useless. Without
an id a new session is created; sessions are never shared. A call and its inner calls share one session object, so the
line sees changes such as `cd` and `export`. Another call that uses the session at the same time has its own object, and
the changes of both are merged at the end.

The keeper reads the sessions of the person it works for, but writes only to copies of its own: an alias or folder that
it left in theirs would affect their next line, in their name and without an approval.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import logging
import re
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from contextvars import ContextVar
from types import MappingProxyType

import msgspec

from doorward.backends.session.memory import Key, Memory
from doorward.backends.session.merging import merged
from doorward.backends.session.secret_values import is_secret, without
from doorward.backends.session.session import Session
from doorward.clock import Clock
from doorward.command import shortened
from doorward.errors import BadParams, DoorwardError, NotFound, NotPermitted
from doorward.model import KEEPER, Caller
from doorward.settings import Sessions as Settings
from doorward.store import shell_sessions
from doorward.store.sqlite import Statement, Store

log = logging.getLogger(__name__)

_ID = re.compile(r"[A-Za-z0-9_-]{8,64}")
Tell = Callable[[str], None]


class Sessions:
    def __init__(
        self, store: Store, clock: Clock, settings: Settings, builtins: Mapping[str, str] | None = None
    ) -> None:
        self._store = store
        self._clock = clock
        self._settings = settings
        self.builtins: Mapping[str, str] = builtins or {}
        """The built-in words of the shell and their commands."""
        self._memory = Memory()
        self._used: dict[Key, _Use] = {}
        """The sessions that calls currently use."""
        self._storing = asyncio.Lock()

    async def open(self, caller: Caller, room: str, id: str = "") -> Session:
        """The caller's session with this id, which must belong to this room; a new one when no id is given."""
        if not id:
            return self._made(caller, room)
        return await self._found(_key(caller, id), room)

    async def look(self, caller: Caller, room: str, id: str) -> Session:
        """The caller's session with this id, for reading only."""
        return await self._found(_key(caller, id, to_use=False), room)

    async def _found(self, key: Key, room: str) -> Session:
        id = key[0]
        session = _here.get().get(key) or await self._stored(key)
        if session is None:
            raise NotFound(
                f"You have no session {shortened(id)}; it may have expired.",
                hint="Omit the session to open a new one; session/list shows yours.",
            )
        if session.room != room:
            there = f"in room {session.room!r}" if session.room else "outside rooms"
            here = f"in room {room!r}" if room else "outside rooms"
            raise NotPermitted(
                f"The session {id} was opened {there} and works only there; this call is {here}.",
                hint="Omit the session to open a new one here.",
                rule="house: a session stays where it was opened",
            )
        return session

    async def save(self, session: Session) -> None:
        """Store a session; one that the running call uses is stored when that call ends."""
        if key_of(session) not in _here.get():
            await self._put(session)

    @contextlib.asynccontextmanager
    async def using(
        self, session: Session, *, stored: bool = True, tell: Tell = lambda _: None
    ) -> AsyncIterator[Session]:
        """Use a session: inner calls find it by its id, and it is stored at the end, also after a failure.

        With `stored=False` it is temporary and nothing is stored. A failure to store does not fail the call; `tell`
        gets a message instead.
        """
        here, key = _here.get(), key_of(session)
        if key in here:
            yield here[key]
            return
        before = copy.deepcopy(session)
        use = self._used.setdefault(key, _Use(session, stored))
        use.users += 1
        use.shared = use.shared or use.users > 1
        token = _here.set({**here, key: session})
        try:
            yield session
        finally:
            _here.reset(token)
            try:
                if use.stored:
                    await self._keep(session, before if use.shared else None, tell)
            finally:
                use.users -= 1
                if not use.users:
                    del self._used[key]

    async def _keep(self, session: Session, before: Session | None, tell: Tell) -> None:
        """Store a session at the end of a call; `before` is its initial state, if others may have stored it since."""
        try:
            async with self._storing:
                now = await self._stored(key_of(session)) if before is not None else None
                await self._put(session if now is None or before is None else merged(now, before, session))
        except DoorwardError as failure:
            log.warning("the session %s could not be stored: %s", session.id, failure.message)
            tell(f"The changes to session {session.id} could not be stored: {failure.message}")

    async def mine(self, caller: Caller, limit: int = 100) -> list[Session]:
        """The sessions of a caller that its credential may reach, the last used first."""
        _, tenant, user, agent = _key(caller, "", to_use=False)
        rows = await shell_sessions.newest(self._store, tenant, user, agent, limit)
        return [one for one in map(self._read, rows) if caller.reaches(one.room)]

    @contextlib.asynccontextmanager
    async def apart(self, session: Session, by: Caller | None = None) -> AsyncIterator[Session]:
        """A temporary copy of a session, for calls that must not change the original.

        `by` is the caller, if it is not the session's owner: the keeper, which may see the history, but not the values
        of secret variables.
        """
        other = msgspec.structs.replace(
            session,
            id=secrets.token_hex(12),
            agent=session.agent if by is None else _key(by, "")[-1],
            env=dict(session.env if by is None else _storable(session)),
            aliases=dict(session.aliases),
            history=[] if by is None else list(session.history),
            talk=[],
            requests=[],
        )
        async with self.using(other, stored=False):
            yield other

    async def end(self, caller: Caller, id: str) -> None:
        """Delete a session of this caller, if its credential may reach the session's room."""
        key = _key(caller, id, to_use=False)
        use = self._used.get(key)
        found = await self._stored(key) or (use.session if use is not None else None)
        if found is None or not caller.reaches(found.room):
            raise NotFound(f"You have no session {shortened(id)}; session/list shows yours.")
        if use is not None:
            use.stored = False
        _, tenant, user, agent = key
        self._memory.forget(key)
        await self._store.write(shell_sessions.delete(tenant, user, agent, id))

    def tidy(self) -> list[Statement]:
        """Delete expired sessions."""
        before = self._clock.now() - self._settings.idle_days * 86_400
        self._memory.tidy(before)
        return [shell_sessions.forget(before)]

    def _made(self, caller: Caller, room: str) -> Session:
        id = secrets.token_hex(12)
        _, tenant, user, agent = _key(caller, id)
        now = self._clock.now()
        return Session(tenant=tenant, user=user, agent=agent, id=id, room=room, created_at=now, used_at=now)

    async def _stored(self, key: Key) -> Session | None:
        id, tenant, user, agent = key
        row = await shell_sessions.get(self._store, tenant, user, agent, id)
        if row is not None and row["used_at"] >= self._clock.now() - self._settings.idle_days * 86_400:
            return self._read(row)
        use = self._used.get(key)  # it may be new and not stored yet
        return copy.deepcopy(use.session) if row is None and use is not None and use.stored else None

    def _read(self, row: Mapping[str, str]) -> Session:
        session = msgspec.json.decode(row["body"], type=Session)
        session.env |= self._memory.of(key_of(session))
        session.lost = [name for name in session.lost if name not in session.env]
        return session

    async def _put(self, session: Session) -> None:
        session.used_at = self._clock.now()
        body = msgspec.json.encode(self._without_secrets(session)).decode()
        id, tenant, user, agent = key_of(session)
        await self._store.write(
            shell_sessions.put(id, tenant, user, agent, body, session.used_at),
            shell_sessions.keep_newest(tenant, user, agent, self._settings.each),
            durable=False,
        )

    def _without_secrets(self, session: Session) -> Session:
        """The session without its secrets, for storing; secret variables stay in memory."""
        secrets, shown = session.secrets, _storable(session)
        hidden = {name: value for name, value in session.env.items() if name not in shown}
        self._memory.keep(key_of(session), hidden, session.used_at)
        return msgspec.structs.replace(
            session,
            env=shown,
            aliases={name: text for name, text in session.aliases.items() if without(text, secrets) == text},
            lost=sorted({*hidden, *session.lost}),
        )


_NONE: Mapping[Key, Session] = MappingProxyType({})
_here: ContextVar[Mapping[Key, Session]] = ContextVar("sessions of the running call", default=_NONE)


class _Use:
    """A session that calls currently use."""

    __slots__ = ("session", "shared", "stored", "users")

    def __init__(self, session: Session, stored: bool) -> None:
        self.session = session
        """The object of the first of these calls."""
        self.stored = stored
        self.users = 0
        self.shared = False
        """Whether several calls used it at the same time."""


def _storable(session: Session) -> dict[str, str]:
    """The variables of a session without secrets."""
    held = session.secrets
    return {name: one for name, one in session.env.items() if not is_secret(name) and without(one, held) == one}


def key_of(session: Session) -> Key:
    return session.id, session.tenant, session.user, session.agent


def _key(caller: Caller, id: str, *, to_use: bool = True) -> Key:
    """The key of a session. For the keeper it is one of its own or, with `to_use=False`, of the person it works for."""
    if id and _ID.fullmatch(id) is None:
        raise BadParams(f"A session id has 8 to 64 letters, digits, - and _; given {shortened(id)}.")
    user, agent = caller.whose, ""
    if not caller.personal and caller.on_behalf_of:
        user, agent = caller.on_behalf_of, caller.id
    if caller.keeper and to_use:
        agent = f"{agent}/{KEEPER}" if agent else KEEPER
    return id, caller.tenant, user, agent
