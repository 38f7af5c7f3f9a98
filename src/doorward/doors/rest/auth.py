"""Registration, login, refresh and logout with passwords and refresh tokens. These requests need no access token."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from doorward.doors.rest import request_reader
from doorward.doors.rest.bodies import LoginRequest, LogoutResult, RefreshRequest, RegisterRequest
from doorward.doors.rest.commands import parse_body
from doorward.doors.rest.gate_client import DOOR, json_response
from doorward.rooms.accounts.accounts import AccountAttempt, Accounts

LARGEST_BODY = 16_384
"""The sender is not authenticated, so only a small body is read."""


class AuthEndpoints:
    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts

    async def register(self, request: Request) -> Response:
        given = parse_body(await _read_body(request), RegisterRequest)
        attempt = AccountAttempt(
            "auth/register", DOOR, request_reader.client_address(request), given.tenant, given.user
        )
        grant = await self._accounts.register(attempt, given.password, name=given.name, passcode=given.passcode)
        return json_response(grant, 201)

    async def login(self, request: Request) -> Response:
        given = parse_body(await _read_body(request), LoginRequest)
        attempt = AccountAttempt("auth/login", DOOR, request_reader.client_address(request), given.tenant, given.user)
        return json_response(await self._accounts.login(attempt, given.password))

    async def refresh(self, request: Request) -> Response:
        given = parse_body(await _read_body(request), RefreshRequest)
        return json_response(
            await self._accounts.refresh(
                AccountAttempt("auth/refresh", DOOR, request_reader.client_address(request)), given.refresh_token
            )
        )

    async def logout(self, request: Request) -> Response:
        given = parse_body(await _read_body(request), RefreshRequest)
        await self._accounts.logout(
            AccountAttempt("auth/logout", DOOR, request_reader.client_address(request)), given.refresh_token
        )
        return json_response(LogoutResult(True))


async def _read_body(request: Request) -> bytes:
    request_reader.read_query(request, [])
    request_reader.negotiate_format(request, [request_reader.JSON])
    return await request_reader.read_json_body(request, LARGEST_BODY)
