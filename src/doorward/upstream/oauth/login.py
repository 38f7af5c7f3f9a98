"""The authorization code flow: a person logs in on a loopback page, and Doorward gets tokens."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import hmac
import re
import secrets
from collections.abc import Awaitable, Callable
from types import TracebackType
from urllib.parse import parse_qsl, urlencode, urlsplit

from doorward.core.errors import Unusable
from doorward.upstream.authorization import LoginRequired
from doorward.upstream.http_client import HttpClient
from doorward.upstream.oauth.discovery import OAuthMetadata
from doorward.upstream.oauth.grants import request_token
from doorward.upstream.oauth.token_store import OAuthClient, OAuthTokens

_LARGEST = 16 * 1024
_REQUEST_TIMEOUT = 10.0
_AT_ONCE = 16
_RESPONSE = (
    b"HTTP/1.1 %b\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n"
    b"Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nContent-Security-Policy: default-src 'none'\r\n\r\n%b"
)
_DONE_PAGE = b"<!doctype html><title>Doorward</title><p>Thank you. You can close this window and go back to Doorward."
_NOT_FOUND_PAGE = b"<!doctype html><title>Doorward</title><p>Nothing is expected here."


class LoginCallback:
    """Listens on the loopback address only, while the context is open."""

    def __init__(self, port: int = 0, rather: int = 0) -> None:
        """Listen on `port`; if it is 0, on `rather` if that is free, otherwise on any free port."""
        self._wanted = port
        self._rather = rather
        self._server: asyncio.Server | None = None
        self._state = ""
        self._answer: asyncio.Future[dict[str, str]] | None = None
        self._visitors = 0
        self.redirect = ""
        """The redirect URI."""

    async def __aenter__(self) -> LoginCallback:
        if not self._wanted and self._rather:
            with contextlib.suppress(OSError):
                self._server = await asyncio.start_server(
                    self._handle_request, "127.0.0.1", self._rather, limit=_LARGEST
                )
        try:
            if self._server is None:
                self._server = await asyncio.start_server(
                    self._handle_request, "127.0.0.1", self._wanted, limit=_LARGEST
                )
        except OSError as error:
            raise Unusable(
                f"Port {self._wanted} for the login callback is not available: {error.strerror}.",
                hint="Set another `callback_port` in [upstream] of doorward.toml; 0 uses any free port.",
            ) from error
        self._port = self._server.sockets[0].getsockname()[1]
        self.redirect = f"http://127.0.0.1:{self._port}/callback"
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    def expect(self, state: str) -> None:
        """Accept only a request with this state from now on."""
        self._state, self._answer = state, asyncio.get_running_loop().create_future()

    async def wait(self, patience: float) -> dict[str, str]:
        """Wait for the login result; raises TimeoutError when none arrives."""
        if self._answer is None:
            raise ValueError("call expect() first")
        async with asyncio.timeout(patience):
            return await self._answer

    async def _handle_request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._visitors += 1
        try:
            if self._visitors <= _AT_ONCE:
                async with asyncio.timeout(_REQUEST_TIMEOUT):
                    head = await reader.readuntil(b"\r\n\r\n")
                    brought = self._read_query(head)
                    status, page = (b"200 OK", _DONE_PAGE) if brought else (b"404 Not Found", _NOT_FOUND_PAGE)
                    writer.write(_RESPONSE % (status, len(page), page))
                    await writer.drain()
                    if brought and self._answer is not None and not self._answer.done():
                        self._answer.set_result(brought)
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            self._visitors -= 1
            writer.close()

    def _read_query(self, head: bytes) -> dict[str, str] | None:
        """The query of a valid callback request: right path, right Host header, right state; otherwise None."""
        first, *fields = head.decode("latin-1").split("\r\n")
        method, _, rest = first.partition(" ")
        target = urlsplit(rest.partition(" ")[0])
        hosts = [line.partition(":")[2].strip() for line in fields if line.lower().startswith("host:")]
        if method != "GET" or target.path != "/callback" or hosts != [f"127.0.0.1:{self._port}"] or not self._state:
            return None
        pairs = parse_qsl(target.query, keep_blank_values=True)
        brought = dict(pairs)
        if len(brought) != len(pairs) or not hmac.compare_digest(
            brought.get("state", "").encode(), self._state.encode()
        ):
            return None
        return brought


ShowLoginUrl = Callable[[str], Awaitable[None]]
"""Shows a person the URL to open. Doorward never opens it by itself, and no shell ever sees it."""

LOGIN_TIMEOUT = 300.0
_CODE = re.compile(r"[a-z_]{1,60}")


async def log_in(
    web: HttpClient,
    facts: OAuthMetadata,
    client: OAuthClient,
    scope: str,
    callback: LoginCallback,
    person: ShowLoginUrl,
    now: Callable[[], float],
) -> OAuthTokens:
    """Send a person to the login page, wait for the callback, and exchange the code for tokens."""
    if not facts.authorization_endpoint:
        raise LoginRequired(f"The authorization server {facts.issuer!r} has no authorization_endpoint for a login.")
    if not facts.proves:
        raise LoginRequired(
            f"The authorization server {facts.issuer!r} does not support PKCE with S256, which a login requires."
        )
    state, verifier = secrets.token_urlsafe(32), secrets.token_urlsafe(64)
    callback.expect(state)
    await person(_login_url(facts, client, scope, callback.redirect, state, verifier))
    try:
        brought = await callback.wait(LOGIN_TIMEOUT)
    except TimeoutError as error:
        raise LoginRequired(f"The login was not completed within {LOGIN_TIMEOUT:g} seconds.") from error
    _check_response(facts, brought)
    return await request_token(
        web,
        facts,
        client,
        now(),
        grant_type="authorization_code",
        code=brought["code"],
        redirect_uri=callback.redirect,
        code_verifier=verifier,
    )


def _login_url(facts: OAuthMetadata, client: OAuthClient, scope: str, redirect: str, state: str, verifier: str) -> str:
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    parts = urlsplit(facts.authorization_endpoint)
    query = [
        *parse_qsl(parts.query, keep_blank_values=True),
        ("response_type", "code"),
        ("client_id", client.id),
        ("redirect_uri", redirect),
        ("state", state),
        ("code_challenge", challenge),
        ("code_challenge_method", "S256"),
        ("resource", facts.resource),
    ]
    if scope:
        query.append(("scope", scope))
        if "offline_access" in scope.split():
            query.append(("prompt", "consent"))
    return parts._replace(query=urlencode(query), fragment="").geturl()


def _check_response(facts: OAuthMetadata, brought: dict[str, str]) -> None:
    """Check the issuer first: a response of another server is neither used nor shown."""
    issuer = brought.get("iss")
    if issuer is None and facts.names_itself:
        raise LoginRequired(f"The login response does not name its issuer, which must be {facts.issuer!r}.")
    if issuer is not None and issuer != facts.issuer:
        raise LoginRequired(f"The login response is from another issuer than {facts.issuer!r}.")
    if "error" in brought:
        code = brought["error"] if _CODE.fullmatch(brought["error"]) else "an unknown reason"
        raise LoginRequired(f"The authorization server {facts.issuer!r} refused the login: {code}.")
    if not brought.get("code"):
        raise LoginRequired(f"The login response of {facts.issuer!r} has no authorization code.")
