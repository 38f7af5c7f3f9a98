"""Authenticated requests: tokens, login renewal, and retries where they are safe."""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Mapping
from typing import Any

import msgspec

from doorward.client import replies
from doorward.client.address import Address, address, missing, room_for, token_for
from doorward.client.body import encoded, text
from doorward.client.eventstream import SIGN_OF_LIFE, Event
from doorward.client.flows import Alone, Channel, Flow, Next, NoAnswer, Pause, Reply, Send
from doorward.errors import BadParams, Conflict, NotAuthenticated, Unreachable

_LONGEST_WAIT = 10.0
"""Longest `retry_after` in seconds that is waited for; a longer one is raised as an error."""
_FIRST_WAIT = 0.2
_SHORTEST_WAIT = 0.05
_MARGIN = 30.0
"""Seconds before its expiry at which an access token is renewed."""
SILENCE = 60.0
"""Seconds without a heartbeat after which a stream counts as lost."""
_KEY = "Idempotency-Key"


class Login(msgspec.Struct, frozen=True):
    """The tokens of a password login."""

    access: str
    refresh: str
    renew_at: float
    """On the monotonic clock."""

    def __repr__(self) -> str:
        return "<Login>"


_OVER = Login("", "", math.inf)
"""An ended login. The client's own token does not replace it, because that may be another identity."""


class _Grant(msgspec.Struct, frozen=True, rename="camel"):
    """The server's response to a login."""

    access_token: str
    refresh_token: str
    expires_in: float


class Session:
    """Base of all operations: identity, server, room and retries."""

    def __init__(
        self, url: str | None, *, token: str | None, room: str | None, timeout: float, retries: int, plain_http: bool
    ) -> None:
        if retries < 0 or timeout <= 0:
            raise BadParams(
                f"retries must be at least 0 and timeout above 0; given retries={retries}, timeout={timeout:g}."
            )
        self._url: Address = address(url, plain_http=plain_http)
        self._token = token_for(self._url, token)
        self._room = room_for(room)
        self._retries = retries
        self._login: Login | None = None
        self._closed = False

    def __repr__(self) -> str:
        """Without the token, because reprs end up in logs."""
        how = "with a token" if self._token else "with no token"
        who = how if self._login is None else "logged in" if self._login.access else "logged out"
        where = f", room={self._room!r}" if self._room else ""
        return f"<{type(self).__name__} {self._url.url!r}{where}, {who}>"

    def _ask(self, send: Send, until: float | None = None) -> Flow[Reply | Channel]:
        """Send an authenticated request, renewing the access token when needed.

        With `until`, on the monotonic clock, rate limits are waited for until that time, any number of times.
        """
        login = self._login
        if login is not None and time.monotonic() >= login.renew_at:
            yield Alone(self._renew(login))
        used = self._shown()
        answer = yield from self._attempts(_with(send, self._authorization(used)), until)
        login = self._login
        if login is not None and isinstance(answer, Reply) and answer.status == 401:
            if login.access == used:
                yield Alone(self._renew(login))
            answer = yield from self._attempts(_with(send, self._authorization(self._shown())), until)
        return answer

    def _attempts(self, send: Send, until: float | None = None) -> Flow[Reply | Channel]:
        """Send a request, retrying where that is useful and cannot run anything twice."""
        attempt = 0
        while True:
            self._must_be_open()
            try:
                answer: Reply | Channel = yield send
            except NoAnswer as error:
                if attempt == self._retries or not _repeatable(send, error):
                    raise self._unreachable(error) from error
                wait = _FIRST_WAIT * 2**attempt
                attempt += 1
            else:
                asked = replies.retry_after(answer) if isinstance(answer, Reply) else None
                if asked is None or not self._waits_for(asked, attempt, until):
                    return answer
                if until is None:
                    attempt += 1
                wait = max(asked, _SHORTEST_WAIT)
                if _KEY in send.headers:
                    send = _with(send, {_KEY: _new_key()})
            yield Pause(wait)

    def _waits_for(self, seconds: float, attempt: int, until: float | None = None) -> bool:
        """Whether to wait for a rate limit with this `retry_after`."""
        if until is not None:
            return seconds < until - time.monotonic()
        return seconds <= _LONGEST_WAIT and attempt < self._retries

    def _must_be_open(self) -> None:
        if self._closed:
            raise Conflict(
                f"This client of {self._url.url} is closed; nothing was sent.",
                hint="Create a new client, or stay inside its with block.",
            )

    def _get(self, path: str, **query: Any) -> Flow[Any]:
        """Read a resource."""
        known = {name: value for name, value in query.items() if value not in (None, "")}
        return replies.value((yield from self._ask(Send(method="GET", path=path, query=known))))

    def _post(self, path: str, body: Any, *, method: str = "POST", room: str = "") -> Flow[Any]:
        """Change a resource and return the response's value."""
        return replies.value((yield from self._ask(posted(path, body, method=method, room=room))))

    def _delete(self, path: str) -> Flow[Any]:
        """Delete a resource and return the response's value."""
        return replies.value((yield from self._ask(Send(method="DELETE", path=path))))

    def _next(self, channel: Channel) -> Flow[Event | None]:
        """Return the next event that is not a heartbeat; None when the server ended the channel."""
        try:
            event: Event | None = SIGN_OF_LIFE
            while event == SIGN_OF_LIFE:
                event = yield Next(channel)
        except NoAnswer as error:
            raise self._unreachable(error) from error
        return event

    def _in(self, room: str | None) -> str:
        """Return the room to act in: the given one, else the client's. An empty name means outside rooms."""
        return text(self._room if room is None else room, "A room", "general")

    def _renew(self, login: Login) -> Flow[None]:
        """Renew the login. The refresh token works once, so two calls must never renew at the same time."""
        if self._login is not login:
            return
        body = encoded({"refreshToken": login.refresh})
        try:
            answer = yield from self._attempts(Send(method="POST", path="/api/auth/refresh", body=body))
            self._logged_in(answer)
        except NotAuthenticated as error:
            self._login = _OVER
            raise NotAuthenticated(
                f"The login has ended: {error.message}", hint="Log in again: client.login(tenant, user, password)"
            ) from error

    def _logged_in(self, answer: Reply | Channel) -> None:
        grant = replies.read_as(_Grant, replies.value(answer))
        renew_at = time.monotonic() + max(grant.expires_in - _MARGIN, grant.expires_in / 2)
        self._login = Login(grant.access_token, grant.refresh_token, renew_at)

    def _shown(self) -> str:
        return self._login.access if self._login is not None else self._token

    def _authorization(self, token: str) -> dict[str, str]:
        if not token:
            raise missing(self._url)
        return {"Authorization": f"Bearer {token}"}

    def _unreachable(self, error: NoAnswer) -> Unreachable:
        if self._closed:
            return Unreachable(
                f"This client of {self._url.url} was closed before the response arrived.",
                hint="To see whether it ran: doorward audit tail",
            )
        if error.slow:
            return Unreachable(
                f"Doorward at {self._url.url} did not answer in time.",
                hint="To see whether it ran: doorward audit tail. To wait longer, give a longer timeout=….",
            )
        if error.mute:
            return Unreachable(
                f"The server at {self._url.url} did not answer with HTTP: {error.reason}.",
                hint="Use the address that doorward up prints. The line door (port 9000 by default) does not speak "
                "HTTP. To see whether the call ran: doorward audit tail",
            )
        if error.sent:
            return lost(self._url.url, error.reason)
        start = "Start it with: doorward up" if self._url.local else "Check that it is running and the URL is right"
        return Unreachable(
            f"Doorward cannot be reached at {self._url.url}: {error.reason}.",
            hint=f"{start}. For another address, set DOORWARD_URL or use Client(url).",
        )


def posted(path: str, body: Any, *, method: str = "POST", room: str = "") -> Send:
    """Build a request with a body. A POST gets an idempotency key, so that it can be retried safely."""
    key = {_KEY: _new_key()} if method == "POST" else {}
    query = {"room": room} if room else {}
    return Send(method=method, path=path, query=query, headers=key, body=encoded(body))


def lost(url: str, reason: str) -> Unreachable:
    return Unreachable(
        f"The connection to Doorward at {url} was lost before the response arrived: {reason}.",
        hint="To see whether it ran: doorward audit tail",
    )


def _new_key() -> str:
    return secrets.token_urlsafe(18)


def _with(send: Send, headers: Mapping[str, str]) -> Send:
    return msgspec.structs.replace(send, headers={**send.headers, **headers})


def _repeatable(send: Send, error: NoAnswer) -> bool:
    """Whether a retry is safe: the server never got the request, only reads, or knows its idempotency key."""
    return not error.sent or (not error.slow and (send.method == "GET" or _KEY in send.headers))
