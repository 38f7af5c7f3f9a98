"""Login and logout of browsers: by a link or a password, then by a cookie and a CSRF proof.

`Accounts` does the work and records each attempt. The cookie is HttpOnly, so no script can read it, and
SameSite=Strict, so no page of another site can send it. The proof is sent once, in the answer to the login.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from doorward import __version__
from doorward.commands.context import Services
from doorward.core.clock import to_iso
from doorward.core.errors import BadParams, NotAuthenticated
from doorward.doors.http.public_address import parse_public_url
from doorward.doors.rest import request_reader
from doorward.doors.rest.bodies import ConsoleLoginRequest, ConsoleSession, LogoutResult
from doorward.doors.rest.commands import parse_body
from doorward.doors.rest.gate_client import DOOR, GateClient, json_response
from doorward.rooms.accounts.accounts import AccountAttempt
from doorward.rooms.accounts.browser_sessions import BrowserSession
from doorward.rooms.people import LOCAL

LARGEST_BODY = 16_384
"""The sender is not authenticated, so only a small body is read."""


class ConsoleLoginEndpoints:
    def __init__(self, governed: GateClient, services: Services) -> None:
        self._governed = governed
        self._accounts = services.accounts
        self._browsers = services.browsers
        self._people = services.people
        self._public_url = parse_public_url(services.settings.server.public_url)

    async def session(self, request: Request) -> Response:
        """Whether this browser is logged in, and as whom. This never refuses: the page then shows the login."""
        request_reader.read_query(request, [])
        request_reader.check_same_site(request)
        browser, note = self._find_session(request)
        return json_response(
            self._describe_session(browser) if browser is not None else ConsoleSession(False, __version__, note)
        )

    async def login(self, request: Request) -> Response:
        """Log in with a link's code or with a password."""
        request_reader.read_query(request, [])
        request_reader.negotiate_format(request, [request_reader.JSON])
        request_reader.check_same_site(request)
        given = parse_body(await request_reader.read_json_body(request, LARGEST_BODY), ConsoleLoginRequest)
        agent, address = request.headers.get("user-agent", ""), request_reader.client_address(request)
        before, _ = self._find_session(request)
        if given.code and not given.user and not given.password:
            attempt = AccountAttempt("auth/link", DOOR, address)
            entrance = await self._accounts.redeem_link(attempt, given.code, agent, before, instead=given.instead)
        elif given.user and given.password and not given.code:
            attempt = AccountAttempt("auth/login", DOOR, address, given.tenant or LOCAL, given.user)
            entrance = await self._accounts.login_browser(attempt, given.password, agent, before)
        else:
            raise BadParams("The body must have either `code` or both `user` and `password`.")
        response = json_response(self._describe_session(entrance.browser, entrance.proof))
        response.set_cookie(
            request_reader.cookie_name(request),
            entrance.secret,
            max_age=int(entrance.browser.expires_at - entrance.browser.created_at),
            path="/",
            secure=self._is_secure(request),
            httponly=True,
            samesite="strict",
        )
        return response

    async def logout(self, request: Request) -> Response:
        request_reader.read_query(request, [])
        shown = await self._governed.authenticate(request, "auth/logout")
        if not shown.browser:
            raise BadParams("Only a browser session can log out here. To end a token, revoke it.")
        browser = self._browsers.authenticate(shown.browser, shown.proof)
        await self._accounts.logout_browser(
            AccountAttempt("auth/logout", DOOR, request_reader.client_address(request)), browser
        )
        response = json_response(LogoutResult(True))
        response.delete_cookie(
            request_reader.cookie_name(request),
            path="/",
            secure=self._is_secure(request),
            httponly=True,
            samesite="strict",
        )
        return response

    def _is_secure(self, request: Request) -> bool:
        """Whether the browser uses https: so a trusted proxy says, or the Host header names a public https address."""
        return request.url.scheme == "https" or self._public_url == f"https://{request.headers.get('host', '').lower()}"

    def _find_session(self, request: Request) -> tuple[BrowserSession | None, str]:
        """The browser session whose cookie and proof the request carries, or None and the reason."""
        note = ""
        for secret in request_reader.read_session_cookies(request):
            try:
                return self._browsers.authenticate(secret, request_reader.read_csrf_proof(request)), ""
            except NotAuthenticated as refusal:
                note = refusal.message
        return None, note

    def _describe_session(self, browser: BrowserSession, proof: str = "") -> ConsoleSession:
        user = self._people.require(browser.tenant, browser.user)
        return ConsoleSession(
            True,
            __version__,
            csrf=proof,
            id=browser.id,
            tenant=user.tenant,
            user=user.id,
            name=user.name,
            access=user.access.label,
            expires_at=to_iso(browser.expires_at),
        )
