"""Registration, login, refresh and logout with passwords and refresh tokens. These requests need no access token."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from doorward.doors.rest import reading
from doorward.doors.rest.asking import read
from doorward.doors.rest.bodies import LoggedOut, Login, Refresh, Register
from doorward.doors.rest.governed import DOOR, as_json
from doorward.rooms.accounts import Accounts, Attempt

LARGEST_BODY = 16_384
"""The sender is not authenticated, so only a small body is read."""


class Auth:
    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts

    async def register(self, request: Request) -> Response:
        given = read(await _body(request), Register)
        attempt = Attempt("auth/register", DOOR, reading.address(request), given.tenant, given.user)
        grant = await self._accounts.register(attempt, given.password, name=given.name, passcode=given.passcode)
        return as_json(grant, 201)

    async def login(self, request: Request) -> Response:
        given = read(await _body(request), Login)
        attempt = Attempt("auth/login", DOOR, reading.address(request), given.tenant, given.user)
        return as_json(await self._accounts.login(attempt, given.password))

    async def refresh(self, request: Request) -> Response:
        given = read(await _body(request), Refresh)
        return as_json(
            await self._accounts.refresh(Attempt("auth/refresh", DOOR, reading.address(request)), given.refresh_token)
        )

    async def logout(self, request: Request) -> Response:
        given = read(await _body(request), Refresh)
        await self._accounts.logout(Attempt("auth/logout", DOOR, reading.address(request)), given.refresh_token)
        return as_json(LoggedOut(True))


async def _body(request: Request) -> bytes:
    reading.query(request, [])
    reading.accepts(request, [reading.JSON])
    return await reading.body(request, LARGEST_BODY)
