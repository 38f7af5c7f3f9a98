"""Client identity on the line door: a token or, without one, an address. Limits belong to it, not to a connection."""

from __future__ import annotations

import hashlib
import ipaddress
import os

import msgspec

from doorward.config.settings import LineSettings
from doorward.core.errors import NotAuthenticated, NotPermitted
from doorward.core.model import Caller, Credential
from doorward.doors.line import peer
from doorward.doors.line.frames import BadLine, LineRequest
from doorward.doors.line.tokenless_access import TokenlessAccess
from doorward.gate.gate import Gate


class ClientRooms:
    def __init__(self, gate: Gate, usual: str) -> None:
        self._gate = gate
        self._usual = usual

    def default_room(self, caller: Caller) -> str:
        """The room of a caller that names none."""
        return caller.resolve_room("") or self._usual

    def check(self, caller: Caller, room: str) -> None:
        """Raise an error when the client may not enter the room, instead of offering it no tools."""
        try:
            self._gate.enter(caller, room)
        except NotPermitted as fault:
            raise NotPermitted(
                fault.message,
                rule=fault.rule,
                hint="Use one of your own rooms as `room`, or a token that is valid for this room.",
            ) from fault


DOOR = "line"
_HINT = "Create a token with `doorward token create NAME`. Send it as `token` beside `method` or in initialize."
_OWNER_PROGRAM = Credential(owner=True, speak_as=DOOR, kind="service")
"""A program of the owner's account. It acts on the owner's behalf, with what the room's recipe allows."""


class LineClient(msgspec.Struct, frozen=True):
    credential: Credential
    session: str
    """The key for its limits and its request ids."""
    room: str
    """Empty when a token is given without a room; the token then determines the room."""
    address: str


class PeerIdentity:
    """The identity of the other end of one connection."""

    def __init__(self, settings: LineSettings, openness: TokenlessAccess, host: str) -> None:
        self._settings = settings
        self._access = openness
        self._host = host
        self._token = ""
        self._room = ""
        self.refused = False
        """Whether a token on this connection was invalid, so that no request is accepted."""
        self._refusal_reason = "it connected while a token was required; connect again"
        self._local = LineClient(_OWNER_PROGRAM, f"{DOOR}:{_normalize_host(host)}", settings.room, host)

    def check_account(self, theirs: peer.Address, ours: peer.Address) -> None:
        """Check whether the other end is a process of this account. An unknown process needs a token."""
        account = peer.account(theirs, ours)
        if account is None:
            self._refusal_reason = "the other end is not a visible process of this machine"
        elif account != os.getuid():
            self._refusal_reason = "the other end belongs to another account of this machine"
        else:
            self._refusal_reason = ""

    @property
    def own_session(self) -> str:
        """The session of a program of this account; empty when the other end needs a token."""
        return "" if self._refusal_reason else self._local.session

    def remember(self, client: LineClient) -> None:
        """Use the token and room of initialize for every later request of the connection."""
        self._token = client.credential.token
        self._room = client.room if self._token else ""
        self.refused = False

    def refuse(self) -> None:
        """Refuse the connection after an invalid token, until initialize brings a valid one.

        A client that sends a token must never fall back to acting for the owner without one.
        """
        self.refused = True

    def identify(self, asked: LineRequest, room: str = "") -> LineClient:
        """The client that sent a request, with its credential."""
        if self.refused and not (asked.token and asked.method == "initialize"):
            raise NotAuthenticated(
                "A token on this connection was refused, so no request is accepted. "
                "Send initialize with a valid token, or connect again.",
                hint=_HINT,
            )
        token, room = asked.token or self._token, asked.room or room
        if token:
            if token == self._token:
                room = room or self._room
            mark = hashlib.sha256(token.encode()).hexdigest()[:16]
            return LineClient(Credential(token=token), f"{DOOR}:token:{mark}", room, self._host)
        if room and room != self._settings.room:
            raise BadLine(
                f"Without a token the room must be {self._settings.room!r}; given {room[:80]!r}.",
                asked.id,
                hint=_HINT,
            )
        if not self._access.is_allowed:
            why = f" because {self._access.refusal_reason}" if self._access.refusal_reason else ""
            raise NotAuthenticated(f"The line door requires a token{why}; none was given.", hint=_HINT)
        if self._refusal_reason:
            raise NotAuthenticated(
                f"Only programs of the server's own account may connect without a token: {self._refusal_reason}.",
                hint=_HINT,
            )
        return self._local


def _normalize_host(host: str) -> str:
    """Treat all loopback addresses as one, or a program could be a new client at each of them."""
    return "127.0.0.1" if ipaddress.ip_address(host.partition("%")[0]).is_loopback else host
