"""MCP sessions over HTTP (session era): bound to their caller, limited in number, and dropped when idle."""

from __future__ import annotations

import hmac
import secrets
from collections import Counter, OrderedDict

from doorward.config.settings import McpSettings
from doorward.core.clock import Clock
from doorward.core.errors import NotFound, Overloaded
from doorward.core.model import Caller, Credential
from doorward.doors.mcp.peer import Peer

Principal = tuple[str, str, str, str]


class McpSession:
    __slots__ = ("address", "id", "peer", "principal", "streams", "used")

    def __init__(self, id: str, peer: Peer, principal: Principal, used: float, address: str) -> None:
        self.id = id
        self.peer = peer
        self.address = address
        """The room in the path where it was opened; it is valid only there."""
        self.principal = principal
        self.used = used
        self.streams = 0
        """Open streams for notifications."""

    @property
    def busy(self) -> bool:
        return bool(self.streams or self.peer.running)


class McpSessions:
    """In the order of last use, so that the longest idle session comes first."""

    def __init__(self, settings: McpSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._sessions: OrderedDict[str, McpSession] = OrderedDict()
        self._each: Counter[Principal] = Counter()

    def __len__(self) -> int:
        return len(self._sessions)

    def add(self, peer: Peer, caller: Caller, address: str = "") -> tuple[McpSession, list[McpSession]]:
        """A new session, and the sessions dropped to make room for it. Overloaded drops none."""
        principal = principal_of(caller)
        gone = self._find_expired()
        if self._each[principal] - sum(one.principal == principal for one in gone) >= self._settings.sessions_each:
            gone.append(self._find_idle(principal, gone))
        if len(self._sessions) - len(gone) >= self._settings.sessions:
            gone.append(self._find_idle(None, gone))
        for one in gone:
            self.remove(one)
        session = McpSession(secrets.token_urlsafe(24), peer, principal, self._clock.steady(), address)
        self._sessions[session.id] = session
        self._each[principal] += 1
        return session, gone

    def find(self, id: str, credential: Credential, address: str = "") -> McpSession:
        """The session with this id, if this caller opened it on this path. For others it does not exist."""
        session = self._sessions.get(id)
        known = (
            session is not None
            and session.address == address
            and _is_same_credential(session.peer.credential, credential)
        )
        if session is None or not known or self._is_expired(session):
            raise NotFound("There is no such session, or it has ended. Send `initialize` again.")
        session.used = self._clock.steady()
        self._sessions.move_to_end(id)
        return session

    def remove(self, session: McpSession) -> None:
        if self._sessions.pop(session.id, None) is not None:
            self._each[session.principal] -= 1
            if not self._each[session.principal]:
                del self._each[session.principal]

    def _is_expired(self, session: McpSession) -> bool:
        return not session.busy and session.used <= self._clock.steady() - self._settings.session_seconds

    def _find_expired(self) -> list[McpSession]:
        """Sessions that were idle for too long. They come first, with busy ones among them."""
        old = []
        for session in self._sessions.values():
            if session.used > self._clock.steady() - self._settings.session_seconds:
                break
            if not session.busy:
                old.append(session)
        return old

    def _find_idle(self, principal: Principal | None, gone: list[McpSession]) -> McpSession:
        """The longest idle session of this principal, or of all, that is not in `gone`."""
        going = set(gone)
        for session in self._sessions.values():
            if not session.busy and session not in going and principal in (None, session.principal):
                return session
        raise Overloaded("All MCP sessions are in use.", hint="End one with DELETE.", retry_after=1.0)


def principal_of(caller: Caller) -> Principal:
    return (caller.tenant, caller.id, caller.kind, caller.on_behalf_of)


def _is_same_credential(one: Credential, other: Credential) -> bool:
    if one.token or other.token:
        return hmac.compare_digest(one.token.encode(), other.token.encode())
    return one == other
