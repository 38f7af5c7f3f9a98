"""Authenticated requests: tokens, login renewal, and retries where they are safe."""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Mapping
from typing import Any

import msgspec

from doorward.client import responses
from doorward.client.address import ServerAddress, missing_token_error, resolve_address, resolve_room, resolve_token
from doorward.client.effects import EventChannel, Flow, NextEvent, NoResponse, Pause, Reply, Send, WithLock
from doorward.client.encoding import encode_body, require_text
from doorward.core.errors import BadParams, Conflict, NotAuthenticated, Unreachable
from doorward.core.wire.sse import HEARTBEAT, SseEvent

_MAX_RETRY_AFTER = 10.0
"""Longest `retry_after` in seconds that is waited for; a longer one is raised as an error."""
_FIRST_WAIT = 0.2
_SHORTEST_WAIT = 0.05
_RENEW_MARGIN = 30.0
"""Seconds before its expiry at which an access token is renewed."""
STREAM_TIMEOUT = 60.0
"""Seconds without a heartbeat after which a stream counts as lost."""
_IDEMPOTENCY_HEADER = "Idempotency-Key"


class Login(msgspec.Struct, frozen=True):
    """The tokens of a password login."""

    access: str
    refresh: str
    renew_at: float
    """On the monotonic clock."""

    def __repr__(self) -> str:
        return "<Login>"


_ENDED_LOGIN = Login("", "", math.inf)
"""An ended login. The client's own token does not replace it, because that may be another identity."""


class _Grant(msgspec.Struct, frozen=True, rename="camel"):
    """The server's response to a login."""

    access_token: str
    refresh_token: str
    expires_in: float


class ClientSession:
    """Base of all operations: identity, server, room and retries."""

    def __init__(
        self, url: str | None, *, token: str | None, room: str | None, timeout: float, retries: int, plain_http: bool
    ) -> None:
        if retries < 0 or timeout <= 0:
            raise BadParams(
                f"retries must be at least 0 and timeout above 0; given retries={retries}, timeout={timeout:g}."
            )
        self._url: ServerAddress = resolve_address(url, plain_http=plain_http)
        self._token = resolve_token(self._url, token)
        self._room = resolve_room(room)
        self._retries = retries
        self._login: Login | None = None
        self._closed = False

    def __repr__(self) -> str:
        """Without the token, because reprs end up in logs."""
        how = "with a token" if self._token else "with no token"
        who = how if self._login is None else "logged in" if self._login.access else "logged out"
        where = f", room={self._room!r}" if self._room else ""
        return f"<{type(self).__name__} {self._url.url!r}{where}, {who}>"

    def _ask(self, send: Send, until: float | None = None) -> Flow[Reply | EventChannel]:
        """Send an authenticated request, renewing the access token when needed.

        With `until`, on the monotonic clock, rate limits are waited for until that time, any number of times.
        """
        login = self._login
        if login is not None and time.monotonic() >= login.renew_at:
            yield WithLock(self._renew(login))
        used = self._current_token()
        answer = yield from self._send_with_retries(_add_headers(send, self._authorization(used)), until)
        login = self._login
        if login is not None and isinstance(answer, Reply) and answer.status == 401:
            if login.access == used:
                yield WithLock(self._renew(login))
            answer = yield from self._send_with_retries(
                _add_headers(send, self._authorization(self._current_token())), until
            )
        return answer

    def _send_with_retries(self, send: Send, until: float | None = None) -> Flow[Reply | EventChannel]:
        """Send a request, retrying where that is useful and cannot run anything twice."""
        attempt = 0
        while True:
            self._check_open()
            try:
                answer: Reply | EventChannel = yield send
            except NoResponse as error:
                if attempt == self._retries or not _is_retry_safe(send, error):
                    raise self._unreachable_error(error) from error
                wait = _FIRST_WAIT * 2**attempt
                attempt += 1
            else:
                asked = responses.find_retry_after(answer) if isinstance(answer, Reply) else None
                if asked is None or not self._should_wait(asked, attempt, until):
                    return answer
                if until is None:
                    attempt += 1
                wait = max(asked, _SHORTEST_WAIT)
                if _IDEMPOTENCY_HEADER in send.headers:
                    send = _add_headers(send, {_IDEMPOTENCY_HEADER: _new_key()})
            yield Pause(wait)

    def _should_wait(self, seconds: float, attempt: int, until: float | None = None) -> bool:
        """Whether to wait for a rate limit with this `retry_after`."""
        if until is not None:
            return seconds < until - time.monotonic()
        return seconds <= _MAX_RETRY_AFTER and attempt < self._retries

    def _check_open(self) -> None:
        if self._closed:
            raise Conflict(
                f"This client of {self._url.url} is closed; nothing was sent.",
                hint="Create a new client, or stay inside its with block.",
            )

    def _get(self, path: str, **query: Any) -> Flow[Any]:
        """Read a resource."""
        known = {name: value for name, value in query.items() if value not in (None, "")}
        return responses.decode_value((yield from self._ask(Send(method="GET", path=path, query=known))))

    def _post(self, path: str, body: Any, *, method: str = "POST", room: str = "") -> Flow[Any]:
        """Change a resource and return the response's value."""
        return responses.decode_value((yield from self._ask(build_request(path, body, method=method, room=room))))

    def _delete(self, path: str) -> Flow[Any]:
        """Delete a resource and return the response's value."""
        return responses.decode_value((yield from self._ask(Send(method="DELETE", path=path))))

    def _next(self, channel: EventChannel) -> Flow[SseEvent | None]:
        """Return the next event that is not a heartbeat; None when the server ended the channel."""
        try:
            event: SseEvent | None = HEARTBEAT
            while event == HEARTBEAT:
                event = yield NextEvent(channel)
        except NoResponse as error:
            raise self._unreachable_error(error) from error
        return event

    def _resolve_room(self, room: str | None) -> str:
        """Return the room to act in: the given one, else the client's. An empty name means outside rooms."""
        return require_text(self._room if room is None else room, "A room", "general")

    def _renew(self, login: Login) -> Flow[None]:
        """Renew the login. The refresh token works once, so two calls must never renew at the same time."""
        if self._login is not login:
            return
        body = encode_body({"refreshToken": login.refresh})
        try:
            answer = yield from self._send_with_retries(Send(method="POST", path="/api/auth/refresh", body=body))
            self._store_login(answer)
        except NotAuthenticated as error:
            self._login = _ENDED_LOGIN
            raise NotAuthenticated(
                f"The login has ended: {error.message}", hint="Log in again: client.login(tenant, user, password)"
            ) from error

    def _store_login(self, answer: Reply | EventChannel) -> None:
        grant = responses.convert(_Grant, responses.decode_value(answer))
        renew_at = time.monotonic() + max(grant.expires_in - _RENEW_MARGIN, grant.expires_in / 2)
        self._login = Login(grant.access_token, grant.refresh_token, renew_at)

    def _current_token(self) -> str:
        return self._login.access if self._login is not None else self._token

    def _authorization(self, token: str) -> dict[str, str]:
        if not token:
            raise missing_token_error(self._url)
        return {"Authorization": f"Bearer {token}"}

    def _unreachable_error(self, error: NoResponse) -> Unreachable:
        if self._closed:
            return Unreachable(
                f"This client of {self._url.url} was closed before the response arrived.",
                hint="To see whether it ran: doorward audit tail",
            )
        if error.timed_out:
            return Unreachable(
                f"Doorward at {self._url.url} did not answer in time.",
                hint="To see whether it ran: doorward audit tail. To wait longer, give a longer timeout=….",
            )
        if error.not_http:
            return Unreachable(
                f"The server at {self._url.url} did not answer with HTTP: {error.reason}.",
                hint="Use the address that doorward up prints. The line door (port 9000 by default) does not speak "
                "HTTP. To see whether the call ran: doorward audit tail",
            )
        if error.sent:
            return connection_lost_error(self._url.url, error.reason)
        start = "Start it with: doorward up" if self._url.local else "Check that it is running and the URL is right"
        return Unreachable(
            f"Doorward cannot be reached at {self._url.url}: {error.reason}.",
            hint=f"{start}. For another address, set DOORWARD_URL or use Client(url).",
        )


def build_request(path: str, body: Any, *, method: str = "POST", room: str = "") -> Send:
    """Build a request with a body. A POST gets an idempotency key, so that it can be retried safely."""
    key = {_IDEMPOTENCY_HEADER: _new_key()} if method == "POST" else {}
    query = {"room": room} if room else {}
    return Send(method=method, path=path, query=query, headers=key, body=encode_body(body))


def connection_lost_error(url: str, reason: str) -> Unreachable:
    return Unreachable(
        f"The connection to Doorward at {url} was lost before the response arrived: {reason}.",
        hint="To see whether it ran: doorward audit tail",
    )


def _new_key() -> str:
    return secrets.token_urlsafe(18)


def _add_headers(send: Send, headers: Mapping[str, str]) -> Send:
    return msgspec.structs.replace(send, headers={**send.headers, **headers})


def _is_retry_safe(send: Send, error: NoResponse) -> bool:
    """Whether a retry is safe: the server never got the request, only reads, or knows its idempotency key."""
    return not error.sent or (not error.timed_out and (send.method == "GET" or _IDEMPOTENCY_HEADER in send.headers))
