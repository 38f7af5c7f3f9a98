"""Who a line client is: its token or, without one, its address; never its connection, so that limits outlast that."""

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
_HINT = "Make a token with `doorward token create NAME`, and send it as `token` beside `method` or in initialize."
_VOICE = Credential(owner=True, speak_as=DOOR, kind="service")
"""A program of the owner's own account: it gets what the room's recipe gives, on the owner's behalf."""


class Client(msgspec.Struct, frozen=True):
    credential: Credential
    session: str
    """What its limits, and the ids that it gave to its requests, are kept under."""
    room: str
    """Empty when a token is shown and no room is named; then the token says which is meant."""
    address: str


class Visitor:
    """What is known of whoever sits at the other end of one connection."""

    def __init__(self, settings: Line, openness: Openness, host: str) -> None:
        self._settings = settings
        self._openness = openness
        self._host = host
        self._token = ""
        self._room = ""
        self._refused = False
        self._stranger = "it came while everybody needed a token; connect again"
        self._local = Client(_VOICE, f"{DOOR}:{_same(host)}", settings.room, host)

    def look(self, theirs: peer.Address, ours: peer.Address) -> None:
        """Find out whether the other end is a process of this very account; whoever cannot be told is a stranger."""
        account = peer.account(theirs, ours)
        if account is None:
            self._stranger = "the other end is no process of this machine that can be seen"
        elif account != os.getuid():
            self._stranger = "the other end belongs to another account of this machine"
        else:
            self._stranger = ""

    def remember(self, client: Client) -> None:
        """What initialize showed counts for every later request of the connection."""
        self._token = client.credential.token
        self._room = client.room if self._token else ""
        self._refused = False

    def refuse(self) -> None:
        """A token was shown and is not good. Whoever shows one does not mean to speak with the owner's voice, so the
        connection has none from now on, until initialize shows a token that is good."""
        self._refused = True

    def client(self, asked: Asked, room: str = "") -> Client:
        """The client that a request comes from, with what it can show for itself."""
        if self._refused and not (asked.token and asked.method == "initialize"):
            raise NotAuthenticated(
                "A token that this connection showed was refused, so nothing is taken from it; "
                "send initialize with a token that is good, or connect again.",
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
                f"Only a client that shows a token names its room; without one it is {self._settings.room!r}; "
                f"given {room[:80]!r}.",
                asked.id,
                hint=_HINT,
            )
        if not self._openness.is_open:
            why = f", since {self._openness.why_shut}" if self._openness.why_shut else ""
            raise NotAuthenticated(f"This door takes only clients that show a token{why}; none was given.", hint=_HINT)
        if self._stranger:
            raise NotAuthenticated(
                f"Without a token this door takes only programs of its own account: {self._stranger}.", hint=_HINT
            )
        return self._local


def _same(host: str) -> str:
    """All addresses by which a machine speaks to itself are one, or a program could be a new client at each."""
    return "127.0.0.1" if ipaddress.ip_address(host.partition("%")[0]).is_loopback else host
