"""Login and logout of browsers: by a link or a password, then by a cookie and a CSRF proof.

`Accounts` does the work and records each attempt. The cookie is HttpOnly, so no script can read it, and
SameSite=Strict, so no page of another site can send it. The proof is sent once, in the answer to the login.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from doorward import __version__
from doorward.backends.context import Services
from doorward.clock import iso
from doorward.doors.rest import reading
from doorward.doors.rest.asking import read
from doorward.doors.rest.bodies import ConsoleLogin, ConsoleSession, LoggedOut
from doorward.doors.rest.governed import DOOR, Governed, as_json
from doorward.errors import BadParams, NotAuthenticated
from doorward.rooms.accounts import Attempt
from doorward.rooms.browsers import Browser
from doorward.rooms.people import LOCAL

LARGEST_BODY = 16_384
"""The sender is not authenticated, so only a small body is read."""


class Entering:
    def __init__(self, governed: Governed, services: Services) -> None:
        self._governed = governed
        self._accounts = services.accounts
        self._browsers = services.browsers
        self._people = services.people

    async def session(self, request: Request) -> Response:
        """Whether this browser is logged in, and as whom. This never refuses: the page then shows the login."""
        reading.query(request, [])
        reading.of_our_page(request)
        browser, note = self._present(request)
        return as_json(self._session(browser) if browser is not None else ConsoleSession(False, __version__, note))

    async def login(self, request: Request) -> Response:
        """Log in with a link's code or with a password."""
        reading.query(request, [])
        reading.accepts(request, [reading.JSON])
        reading.of_our_page(request)
        given = read(await reading.body(request, LARGEST_BODY), ConsoleLogin)
        agent, address = request.headers.get("user-agent", ""), reading.address(request)
        before, _ = self._present(request)
        if given.code and not given.user and not given.password:
            attempt = Attempt("auth/link", DOOR, address)
            entrance = await self._accounts.redeem(attempt, given.code, agent, before, instead=given.instead)
        elif given.user and given.password and not given.code:
            attempt = Attempt("auth/login", DOOR, address, given.tenant or LOCAL, given.user)
            entrance = await self._accounts.enter(attempt, given.password, agent, before)
        else:
            raise BadParams("The body must have either `code` or both `user` and `password`.")
        response = as_json(self._session(entrance.browser, entrance.proof))
        response.set_cookie(
            reading.cookie_name(request),
            entrance.secret,
            max_age=int(entrance.browser.expires_at - entrance.browser.created_at),
            path="/",
            secure=request.url.scheme == "https",
            httponly=True,
            samesite="strict",
        )
        return response

    async def logout(self, request: Request) -> Response:
        reading.query(request, [])
        shown = await self._governed.vouched(request, "auth/logout")
        if not shown.browser:
            raise BadParams("Only a browser session can log out here. To end a token, revoke it.")
        browser = self._browsers.known(shown.browser, shown.proof)
        await self._accounts.leave(Attempt("auth/logout", DOOR, reading.address(request)), browser)
        response = as_json(LoggedOut(True))
        response.delete_cookie(reading.cookie_name(request), path="/", httponly=True, samesite="strict")
        return response

    def _present(self, request: Request) -> tuple[Browser | None, str]:
        """The browser session whose cookie and proof the request carries, or None and the reason."""
        note = ""
        for secret in reading.cookies(request):
            try:
                return self._browsers.known(secret, reading.proof(request)), ""
            except NotAuthenticated as refusal:
                note = refusal.message
        return None, note

    def _session(self, browser: Browser, proof: str = "") -> ConsoleSession:
        user = self._people.known(browser.tenant, browser.user)
        return ConsoleSession(
            True,
            __version__,
            csrf=proof,
            id=browser.id,
            tenant=user.tenant,
            user=user.id,
            name=user.name,
            access=user.access.label,
            expires_at=iso(browser.expires_at),
        )
