"""Client identity on the line door: a token or, without one, an address. Limits belong to it, not to a connection."""

from __future__ import annotations

import hashlib
import ipaddress
import os

import msgspec

from doorward.doors.line import peer
from doorward.doors.line.frames import Asked, BadLine
from doorward.doors.line.openness import Openness
from doorward.errors import NotAuthenticated
from doorward.model import Credential
from doorward.settings import Line

DOOR = "line"
_HINT = "Create a token with `doorward token create NAME`. Send it as `token` beside `method` or in initialize."
_VOICE = Credential(owner=True, speak_as=DOOR, kind="service")
"""A program of the owner's account. It acts on the owner's behalf, with what the room's recipe allows."""


class Client(msgspec.Struct, frozen=True):
    credential: Credential
    session: str
    """The key for its limits and its request ids."""
    room: str
    """Empty when a token is given without a room; the token then determines the room."""
    address: str


class Visitor:
    """The identity of the other end of one connection."""

    def __init__(self, settings: Line, openness: Openness, host: str) -> None:
        self._settings = settings
        self._openness = openness
        self._host = host
        self._token = ""
        self._room = ""
        self._refused = False
        self._stranger = "it connected while a token was required; connect again"
        self._local = Client(_VOICE, f"{DOOR}:{_same(host)}", settings.room, host)

    def look(self, theirs: peer.Address, ours: peer.Address) -> None:
        """Check whether the other end is a process of this account. An unknown process needs a token."""
        account = peer.account(theirs, ours)
        if account is None:
            self._stranger = "the other end is not a visible process of this machine"
        elif account != os.getuid():
            self._stranger = "the other end belongs to another account of this machine"
        else:
            self._stranger = ""

    def remember(self, client: Client) -> None:
        """Use the token and room of initialize for every later request of the connection."""
        self._token = client.credential.token
        self._room = client.room if self._token else ""
        self._refused = False

    def refuse(self) -> None:
        """Refuse the connection after an invalid token, until initialize brings a valid one.

        A client that sends a token must never fall back to acting for the owner without one.
        """
        self._refused = True

    def client(self, asked: Asked, room: str = "") -> Client:
        """The client that sent a request, with its credential."""
        if self._refused and not (asked.token and asked.method == "initialize"):
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
            return Client(Credential(token=token), f"{DOOR}:token:{mark}", room, self._host)
        if room and room != self._settings.room:
            raise BadLine(
                f"Without a token the room must be {self._settings.room!r}; given {room[:80]!r}.",
                asked.id,
                hint=_HINT,
            )
        if not self._openness.is_open:
            why = f" because {self._openness.why_shut}" if self._openness.why_shut else ""
            raise NotAuthenticated(f"The line door requires a token{why}; none was given.", hint=_HINT)
        if self._stranger:
            raise NotAuthenticated(
                f"Only programs of the server's own account may connect without a token: {self._stranger}.", hint=_HINT
            )
        return self._local


def _same(host: str) -> str:
    """Treat all loopback addresses as one, or a program could be a new client at each of them."""
    return "127.0.0.1" if ipaddress.ip_address(host.partition("%")[0]).is_loopback else host
