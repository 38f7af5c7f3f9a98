"""The REST door of a house, and clients that reach it without a socket in between."""

from __future__ import annotations

import contextlib
from typing import Any

import httpx2

from doorward.doors.http.applications import HttpApplications

ADDRESS = "http://127.0.0.1"
PASSWORD = "four words make one"


class Rest:
    """The REST door of one house."""

    def __init__(self, driver: Any, closing: contextlib.AsyncExitStack) -> None:
        self.driver = driver
        self.app = HttpApplications(driver.house.gate, driver.house.services).public
        self._closing = closing
        self.open = self.client()
        """Comes without a token."""

    def client(self, token: str = "", address: str = "127.0.0.1") -> httpx2.AsyncClient:
        transport = httpx2.ASGITransport(app=self.app, client=(address, 4_000))
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        client = httpx2.AsyncClient(transport=transport, base_url=ADDRESS, headers=headers)
        self._closing.push_async_callback(client.aclose)
        return client

    async def person(self, access: str = "root", **more: Any) -> httpx2.AsyncClient:
        """A client with the token of a person; by default of the owner."""
        return self.client(await self.driver.token("laptop", kind="human", access=access, **more))

    async def agent(self, name: str = "helper", **more: Any) -> httpx2.AsyncClient:
        return self.client(await self.driver.token(name, **more))

    async def tenant(self, tenant: str = "acme", user: str = "anna") -> httpx2.AsyncClient:
        """A new tenant's first user, logged in."""
        invited = await self.driver.owner("user/invite")
        body = {"tenant": tenant, "user": user, "password": PASSWORD, "passcode": invited.result["passcode"]}
        answer = await self.open.post("/api/auth/register", json=body)
        assert answer.status_code == 201, answer.text
        return self.client(answer.json()["accessToken"])
