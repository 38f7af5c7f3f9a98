"""The sessions of the shell: stored, each for the one user it belongs to, and forgotten when nobody uses them.

A session is found by its id together with its tenant and user, so the id of somebody else's means nothing. Without an
id there is a new one, and never one that others share. While a call goes on in a session there is one object of it for
that call and those inside it, so that what one of these changes (`cd`, `export`) is seen by the line that it stands in;
another call that goes on in it at the same time has its own, and what both changed is put together in the end.

The keeper looks at the sessions of whoever it thinks for, and goes on in copies of its own: what it left in one of
theirs (an alias, a folder) would be taken up by their next line, in their name and without anybody being asked.
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

from doorward.backends.session.memory import Key as _Key
from doorward.backends.session.memory import Memory
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
        """The words of the shell that are commands of the house, and which."""
        self._memory = Memory()
        self._used: dict[_Key, _Use] = {}
        """The sessions that a call goes on in at this moment."""
        self._storing = asyncio.Lock()

    async def open(self, caller: Caller, room: str, id: str = "") -> Session:
        """The session of this caller with this id, where it was opened; a new one when no id is given."""
        if not id:
            return self._made(caller, room)
        return await self._found(_key(caller, id), room)

    async def look(self, caller: Caller, room: str, id: str) -> Session:
        """The session of this caller with this id, to be looked at and not to be changed."""
        return await self._found(_key(caller, id, to_use=False), room)

    async def _found(self, key: _Key, room: str) -> Session:
        id = key[0]
        session = _here.get().get(key) or await self._stored(key)
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
        if key_of(session) not in _here.get():
            await self._put(session)

    @contextlib.asynccontextmanager
    async def using(
        self, session: Session, *, stored: bool = True, tell: Tell = lambda _: None
    ) -> AsyncIterator[Session]:
        """Go on in a session: calls inside find it by its id, and it is stored at the end, however that comes.

        With `stored=False` it is of this call alone, and nothing is left of it. What was done counts even if it cannot
        be stored then: `tell` is told of that.
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
        """Store a session at the end of a call; `before` is how that found it, if others may have stored it since."""
        try:
            async with self._storing:
                now = await self._stored(key_of(session)) if before is not None else None
                await self._put(session if now is None or before is None else merged(now, before, session))
        except DoorwardError as failure:
            log.warning("the session %s could not be stored: %s", session.id, failure.message)
            tell(f"What the session {session.id} remembers of this could not be stored: {failure.message}")

    async def mine(self, caller: Caller, limit: int = 100) -> list[Session]:
        """The sessions of a caller, where its credential is good for, the last used first."""
        _, tenant, user, agent = _key(caller, "", to_use=False)
        rows = await shell_sessions.newest(self._store, tenant, user, agent, limit)
        return [one for one in map(self._read, rows) if caller.reaches(one.room)]

    @contextlib.asynccontextmanager
    async def apart(self, session: Session, by: Caller | None = None) -> AsyncIterator[Session]:
        """A copy of a session for calls that may change it without changing the original.

        `by` is who makes those calls, if not whoever the session belongs to: the keeper, which may see its history, but
        not the values of variables that hold secrets.
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
        """Forget a session of this caller, if its credential is good for where that was opened."""
        key = _key(caller, id, to_use=False)
        use = self._used.get(key)
        found = await self._stored(key) or (use.session if use is not None else None)
        if found is None or not caller.reaches(found.room):
            raise NotFound(f"There is no session {shortened(id)} of yours; session/list shows yours.")
        if use is not None:
            use.stored = False
        _, tenant, user, agent = key
        self._memory.forget(key)
        await self._store.write(shell_sessions.delete(tenant, user, agent, id))

    def tidy(self) -> list[Statement]:
        """Forget what nobody used for long."""
        before = self._clock.now() - self._settings.idle_days * 86_400
        self._memory.tidy(before)
        return [shell_sessions.forget(before)]

    def _made(self, caller: Caller, room: str) -> Session:
        id = secrets.token_hex(12)
        _, tenant, user, agent = _key(caller, id)
        now = self._clock.now()
        return Session(tenant=tenant, user=user, agent=agent, id=id, room=room, created_at=now, used_at=now)

    async def _stored(self, key: _Key) -> Session | None:
        id, tenant, user, agent = key
        row = await shell_sessions.get(self._store, tenant, user, agent, id)
        if row is not None and row["used_at"] >= self._clock.now() - self._settings.idle_days * 86_400:
            return self._read(row)
        use = self._used.get(key)  # somebody may have just begun it
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
        """A session as it may be stored; variables that hold secrets stay in the memory of this process."""
        secrets, shown = session.secrets, _storable(session)
        hidden = {name: value for name, value in session.env.items() if name not in shown}
        self._memory.keep(key_of(session), hidden, session.used_at)
        return msgspec.structs.replace(
            session,
            env=shown,
            aliases={name: text for name, text in session.aliases.items() if without(text, secrets) == text},
            lost=sorted({*hidden, *session.lost}),
        )


_NONE: Mapping[_Key, Session] = MappingProxyType({})
_here: ContextVar[Mapping[_Key, Session]] = ContextVar("the sessions that the running call goes on in", default=_NONE)


class _Use:
    """A session that calls go on in at this moment."""

    __slots__ = ("session", "shared", "stored", "users")

    def __init__(self, session: Session, stored: bool) -> None:
        self.session = session
        """As the first of them has it."""
        self.stored = stored
        self.users = 0
        self.shared = False
        """Whether there was more than one at once."""


def _storable(session: Session) -> dict[str, str]:
    """The variables of a session that hold no secret."""
    held = session.secrets
    return {name: one for name, one in session.env.items() if not is_secret(name) and without(one, held) == one}


def key_of(session: Session) -> _Key:
    return session.id, session.tenant, session.user, session.agent


def _key(caller: Caller, id: str, *, to_use: bool = True) -> _Key:
    """Whose session is meant: for the keeper one of its own or, where it does not use it, of whoever it thinks for."""
    if id and _ID.fullmatch(id) is None:
        raise BadParams(f"A session is named by 8 to 64 letters, digits, - and _; given {shortened(id)}.")
    user, agent = caller.whose, ""
    if not caller.personal and caller.on_behalf_of:
        user, agent = caller.on_behalf_of, caller.id
    if caller.keeper and to_use:
        agent = f"{agent}/{KEEPER}" if agent else KEEPER
    return id, caller.tenant, user, agent
