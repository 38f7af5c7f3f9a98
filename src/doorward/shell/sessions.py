"""Shell sessions: stored state, secret variables in memory, and merged changes of parallel calls."""

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
from typing import TypeVar

import msgspec

from doorward.config.settings import SessionSettings as Settings
from doorward.core.clock import Clock
from doorward.core.command import shorten
from doorward.core.errors import BadParams, DoorwardError, NotFound, NotPermitted
from doorward.core.model import KEEPER, Caller
from doorward.shell.secret_values import is_secret, redact_secrets
from doorward.shell.session import MAX_HISTORY, MAX_TALK, ShellSession
from doorward.store import shell_sessions
from doorward.store.sqlite import Statement, Store

SessionKey = tuple[str, str, str, str]
"""The id of a session with its tenant, user and agent."""
_MOST_CHARACTERS = 4_000_000


class SecretVariables:
    """Secret variables by session. When the limit is exceeded, the least recently used sessions are dropped."""

    def __init__(self, most: int = _MOST_CHARACTERS) -> None:
        self._most = most
        self._held: dict[SessionKey, tuple[float, dict[str, str]]] = {}
        self._characters = 0

    def get(self, key: SessionKey) -> Mapping[str, str]:
        return self._held[key][1] if key in self._held else {}

    def put(self, key: SessionKey, values: Mapping[str, str], now: float) -> None:
        """Replace the values of a session."""
        self.forget(key)
        if not values:
            return
        self._held[key] = now, dict(values)
        self._characters += _size(values)
        while self._characters > self._most:
            self.forget(next(iter(self._held)))

    def forget(self, key: SessionKey) -> None:
        if key in self._held:
            self._characters -= _size(self._held.pop(key)[1])

    def drop_unused(self, before: float) -> None:
        """Drop the values of sessions not used since then."""
        for key in [key for key, (used, _) in self._held.items() if used < before]:
            self.forget(key)


def _size(values: Mapping[str, str]) -> int:
    return sum(len(name) + len(value) for name, value in values.items())


T = TypeVar("T")


def merge_sessions(now: ShellSession, before: ShellSession, after: ShellSession) -> ShellSession:
    """Apply to the stored session `now` the changes that a call made from `before` to `after`."""
    plain = ("cwd", "before", "status", "lost")
    changed = {name: getattr(after, name) for name in plain if getattr(after, name) != getattr(before, name)}
    return msgspec.structs.replace(
        now,
        **changed,
        env=_merge_names(now.env, before.env, after.env),
        aliases=_merge_names(now.aliases, before.aliases, after.aliases),
        history=_merge_lines(now.history, before.history, after.history)[-MAX_HISTORY:],
        talk=_merge_lines(now.talk, before.talk, after.talk)[-MAX_TALK:],
        requests=_merge_lines(now.requests, before.requests, after.requests)[-MAX_TALK:],
    )


def _merge_names(now: dict[str, str], before: dict[str, str], after: dict[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in now.items() if name in after or name not in before}
    return kept | {name: value for name, value in after.items() if before.get(name) != value}


def _merge_lines(now: list[T], before: list[T], after: list[T]) -> list[T]:
    """Append the added lines; when lines were removed, the list of this call replaces the stored one."""
    if after[: len(before)] == before:
        return now + after[len(before) :]
    return after


log = logging.getLogger(__name__)

_ID = re.compile(r"[A-Za-z0-9_-]{8,64}")
Notify = Callable[[str], None]


class ShellSessions:
    def __init__(
        self, store: Store, clock: Clock, settings: Settings, builtins: Mapping[str, str] | None = None
    ) -> None:
        self._store = store
        self._clock = clock
        self._settings = settings
        self.builtins: Mapping[str, str] = builtins or {}
        """The built-in words of the shell and their commands."""
        self._secrets = SecretVariables()
        self._uses: dict[SessionKey, _SessionUse] = {}
        """The sessions that calls currently use."""
        self._store_lock = asyncio.Lock()

    async def open(self, caller: Caller, room: str, id: str = "") -> ShellSession:
        """The caller's session with this id, which must belong to this room; a new one when no id is given."""
        if not id:
            return self._create(caller, room)
        return await self._find(_session_key(caller, id), room)

    async def read(self, caller: Caller, room: str, id: str) -> ShellSession:
        """The caller's session with this id, for reading only."""
        return await self._find(_session_key(caller, id, to_use=False), room)

    async def _find(self, key: SessionKey, room: str) -> ShellSession:
        id = key[0]
        session = _current_sessions.get().get(key) or await self._load(key)
        if session is None:
            raise NotFound(
                f"You have no session {shorten(id)}; it may have expired.",
                hint="Omit the session to open a new one; session/list shows yours.",
            )
        if session.room != room:
            there = f"in room {session.room!r}" if session.room else "outside rooms"
            here = f"in room {room!r}" if room else "outside rooms"
            raise NotPermitted(
                f"The session {id} was opened {there} and works only there; this call is {here}.",
                hint="Omit the session to open a new one here.",
                rule="built-in: a session stays where it was opened",
            )
        return session

    async def save(self, session: ShellSession) -> None:
        """Store a session; one that the running call uses is stored when that call ends."""
        if key_of(session) not in _current_sessions.get():
            await self._save(session)

    @contextlib.asynccontextmanager
    async def use(
        self, session: ShellSession, *, stored: bool = True, tell: Notify = lambda _: None
    ) -> AsyncIterator[ShellSession]:
        """Use a session: inner calls find it by its id, and it is stored at the end, also after a failure.

        With `stored=False` it is temporary and nothing is stored. A failure to store does not fail the call; `tell`
        gets a message instead.
        """
        here, key = _current_sessions.get(), key_of(session)
        if key in here:
            yield here[key]
            return
        before = copy.deepcopy(session)
        use = self._uses.setdefault(key, _SessionUse(session, stored))
        use.users += 1
        use.shared = use.shared or use.users > 1
        token = _current_sessions.set({**here, key: session})
        try:
            yield session
        finally:
            _current_sessions.reset(token)
            try:
                if use.stored:
                    await self._store_after_call(session, before if use.shared else None, tell)
            finally:
                use.users -= 1
                if not use.users:
                    del self._uses[key]

    async def _store_after_call(self, session: ShellSession, before: ShellSession | None, tell: Notify) -> None:
        """Store a session at the end of a call; `before` is its initial state, if others may have stored it since."""
        try:
            async with self._store_lock:
                now = await self._load(key_of(session)) if before is not None else None
                await self._save(session if now is None or before is None else merge_sessions(now, before, session))
        except DoorwardError as failure:
            log.warning("the session %s could not be stored: %s", session.id, failure.message)
            tell(f"The changes to session {session.id} could not be stored: {failure.message}")

    async def list_own(self, caller: Caller, limit: int = 100) -> list[ShellSession]:
        """The sessions of a caller that its credential may reach, the last used first."""
        _, tenant, user, agent = _session_key(caller, "", to_use=False)
        rows = await shell_sessions.newest(self._store, tenant, user, agent, limit)
        return [one for one in map(self._decode, rows) if caller.covers_room(one.room)]

    @contextlib.asynccontextmanager
    async def copy_of(self, session: ShellSession, by: Caller | None = None) -> AsyncIterator[ShellSession]:
        """A temporary copy of a session, for calls that must not change the original.

        `by` is the caller, if it is not the session's owner: the keeper, which may see the history, but not the values
        of secret variables.
        """
        other = msgspec.structs.replace(
            session,
            id=secrets.token_hex(12),
            agent=session.agent if by is None else _session_key(by, "")[-1],
            env=dict(session.env if by is None else _storable_variables(session)),
            aliases=dict(session.aliases),
            history=[] if by is None else list(session.history),
            talk=[],
            requests=[],
        )
        async with self.use(other, stored=False):
            yield other

    async def delete(self, caller: Caller, id: str) -> None:
        """Delete a session of this caller, if its credential may reach the session's room."""
        key = _session_key(caller, id, to_use=False)
        use = self._uses.get(key)
        found = await self._load(key) or (use.session if use is not None else None)
        if found is None or not caller.covers_room(found.room):
            raise NotFound(f"You have no session {shorten(id)}; session/list shows yours.")
        if use is not None:
            use.stored = False
        _, tenant, user, agent = key
        self._secrets.forget(key)
        await self._store.write(shell_sessions.delete(tenant, user, agent, id))

    def delete_expired(self) -> list[Statement]:
        """Delete expired sessions."""
        before = self._clock.now() - self._settings.idle_days * 86_400
        self._secrets.drop_unused(before)
        return [shell_sessions.forget(before)]

    def _create(self, caller: Caller, room: str) -> ShellSession:
        id = secrets.token_hex(12)
        _, tenant, user, agent = _session_key(caller, id)
        now = self._clock.now()
        return ShellSession(tenant=tenant, user=user, agent=agent, id=id, room=room, created_at=now, used_at=now)

    async def _load(self, key: SessionKey) -> ShellSession | None:
        id, tenant, user, agent = key
        row = await shell_sessions.get(self._store, tenant, user, agent, id)
        if row is not None and row["used_at"] >= self._clock.now() - self._settings.idle_days * 86_400:
            return self._decode(row)
        use = self._uses.get(key)  # it may be new and not stored yet
        return copy.deepcopy(use.session) if row is None and use is not None and use.stored else None

    def _decode(self, row: Mapping[str, str]) -> ShellSession:
        session = msgspec.json.decode(row["body"], type=ShellSession)
        session.env |= self._secrets.get(key_of(session))
        session.lost = [name for name in session.lost if name not in session.env]
        return session

    async def _save(self, session: ShellSession) -> None:
        session.used_at = self._clock.now()
        body = msgspec.json.encode(self._without_secrets(session)).decode()
        id, tenant, user, agent = key_of(session)
        await self._store.write(
            shell_sessions.put(id, tenant, user, agent, body, session.used_at),
            shell_sessions.keep_newest(tenant, user, agent, self._settings.each),
            durable=False,
        )

    def _without_secrets(self, session: ShellSession) -> ShellSession:
        """The session without its secrets, for storing; secret variables stay in memory."""
        secrets, shown = session.secrets, _storable_variables(session)
        hidden = {name: value for name, value in session.env.items() if name not in shown}
        self._secrets.put(key_of(session), hidden, session.used_at)
        return msgspec.structs.replace(
            session,
            env=shown,
            aliases={name: text for name, text in session.aliases.items() if redact_secrets(text, secrets) == text},
            lost=sorted({*hidden, *session.lost}),
        )


_NO_SESSIONS: Mapping[SessionKey, ShellSession] = MappingProxyType({})
_current_sessions: ContextVar[Mapping[SessionKey, ShellSession]] = ContextVar(
    "sessions of the running call", default=_NO_SESSIONS
)


class _SessionUse:
    """A session that calls currently use."""

    __slots__ = ("session", "shared", "stored", "users")

    def __init__(self, session: ShellSession, stored: bool) -> None:
        self.session = session
        """The object of the first of these calls."""
        self.stored = stored
        self.users = 0
        self.shared = False
        """Whether several calls used it at the same time."""


def _storable_variables(session: ShellSession) -> dict[str, str]:
    """The variables of a session without secrets."""
    held = session.secrets
    return {name: one for name, one in session.env.items() if not is_secret(name) and redact_secrets(one, held) == one}


def key_of(session: ShellSession) -> SessionKey:
    return session.id, session.tenant, session.user, session.agent


def _session_key(caller: Caller, id: str, *, to_use: bool = True) -> SessionKey:
    """The key of a session. For the keeper it is one of its own or, with `to_use=False`, of the person it works for."""
    if id and _ID.fullmatch(id) is None:
        raise BadParams(f"A session id has 8 to 64 letters, digits, - and _; given {shorten(id)}.")
    user, agent = caller.principal, ""
    if not caller.acts_as_person and caller.on_behalf_of:
        user, agent = caller.on_behalf_of, caller.id
    if caller.keeper and to_use:
        agent = f"{agent}/{KEEPER}" if agent else KEEPER
    return id, caller.tenant, user, agent
