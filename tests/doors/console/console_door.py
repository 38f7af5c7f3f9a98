"""The console of a house, and browsers that reach it without a socket in between."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2

from doorward.doors.http.applications import HttpApplications
from doorward.rooms.people import LOCAL, OWNER

ADDRESS = "http://127.0.0.1"
COOKIE = "doorward_session"


class Browser:
    """One browser: it keeps its cookie, and its page shows the proof with every request."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self.http = httpx2.AsyncClient(
            transport=httpx2.ASGITransport(app=app, client=("127.0.0.1", 4_000)),
            base_url=ADDRESS,
            headers={"User-Agent": "Test browser", "Sec-Fetch-Site": "same-origin"},
        )

    @property
    def csrf(self) -> str:
        return self.http.headers.get("Doorward-CSRF", "")

    @csrf.setter
    def csrf(self, proof: str) -> None:
        self.http.headers["Doorward-CSRF"] = proof

    @property
    def secret(self) -> str:
        return self.http.cookies.get(COOKIE) or ""

    async def login(self, **given: str | bool) -> httpx2.Response:
        answer = await self.http.post("/api/console/login", json=given)
        if answer.status_code == 200:
            self.csrf = answer.json()["csrf"]
        return answer

    async def session(self) -> dict[str, Any]:
        return dict((await self.http.get("/api/console/session")).json())

    async def run(self, command: str, **params: Any) -> httpx2.Response:
        return await self.change("POST", "/api/run", {"command": command, "params": params})

    async def change(self, method: str, path: str, body: Any = None) -> httpx2.Response:
        return await self.http.request(method, path, json=body)

    @asynccontextmanager
    async def stream(self, query: str = "", last: str = "") -> AsyncIterator[Stream]:
        """The page's stream, straight from the application."""
        stream = Stream()
        headers = [(b"host", b"127.0.0.1"), (b"cookie", f"{COOKIE}={self.secret}".encode())]
        headers.append((b"doorward-csrf", self.csrf.encode()))
        if last:
            headers.append((b"last-event-id", last.encode()))
        scope = {
            "type": "http",
            "method": "GET",
            "path": "/api/console/stream",
            "raw_path": b"/api/console/stream",
            "root_path": "",
            "scheme": "http",
            "query_string": query.encode(),
            "headers": headers,
            "client": ("127.0.0.1", 4_000),
            "server": ("127.0.0.1", 80),
        }
        running = asyncio.ensure_future(self.app(scope, stream.receive, stream.send))
        try:
            yield stream
        finally:
            stream.left.set()
            await running


class Stream:
    """Server-sent events as they come."""

    def __init__(self) -> None:
        self.left = asyncio.Event()
        self._text = ""
        self._more = asyncio.Event()
        self.seen: list[tuple[str, str, Any]] = []

    async def receive(self) -> dict[str, Any]:
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: dict[str, Any]) -> None:
        self._text += message.get("body", b"").decode()
        while "\n\n" in self._text:
            frame, _, self._text = self._text.partition("\n\n")
            facts = dict(line.partition(": ")[::2] for line in frame.splitlines())
            if "event" in facts:
                self.seen.append((facts["event"], facts.get("id", ""), json.loads(facts["data"])))
        self._more.set()

    async def until(self, name: str, **holds: Any) -> tuple[str, Any]:
        """The id and data of the first event of this name whose data holds this."""
        while True:
            for found, id, data in self.seen:
                if found == name and all(data.get(key) == value for key, value in holds.items()):
                    return id, data
            self._more.clear()
            await self._more.wait()


class Console:
    """The console of one house; `browser()` opens one more browser."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver
        self.app = HttpApplications(driver.house.gate, driver.house.services).public
        self._browsers: list[Browser] = []

    def browser(self) -> Browser:
        self._browsers.append(Browser(self.app))
        return self._browsers[-1]

    async def owner(self) -> Browser:
        """A browser of the owner, logged in by a link."""
        browser = self.browser()
        answer = await browser.login(code=self.driver.house.services.browsers.create_link(LOCAL, OWNER))
        assert answer.status_code == 200, answer.text
        return browser

    async def close(self) -> None:
        for browser in self._browsers:
            await browser.http.aclose()
