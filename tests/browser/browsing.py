"""A real console: `doorward up` in a process of its own, and Chromium with pages that are logged in.

Whatever a page complains about in its console, an error of a script or a broken content policy, fails the test.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Playwright

from doorward_process import Doorward, Server

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--force-color-profile=srgb",
    "--font-render-hinting=none",
)
PATIENCE = 120_000
"""Milliseconds that a condition is waited for."""


def chromium() -> str:
    """Where the browser is. A missing one fails a test with the reason; it never skips it."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        raise AssertionError(
            f"No browser of the names {', '.join(NAMES)} is installed; `make test` installs chromium where it may."
        )
    return found


@contextlib.contextmanager
def browser(playwright: Playwright, *, keeping: bool = False) -> Iterator[Browser]:
    """A browser; one that is `keeping` has the pages ready that one has left, for the way back."""
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    without = ["--disable-back-forward-cache"] if keeping else []
    browser = playwright.chromium.launch(
        executable_path=chromium(), args=[*FLAGS, *sandbox], ignore_default_args=without
    )
    try:
        yield browser
    finally:
        browser.close()


class Owner:
    """The owner of a home folder, who asks the running server over its socket, as the terminal does."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def ask(self, command: str, /, *, room: str = "", by: str = "", ticket: str = "", **params: Any) -> dict[str, Any]:
        """The outcome of a command; `by` is an agent of the owner's, in a room."""
        body = {"command": command, "params": params or None, "room": room, "speakAs": by, "ticket": ticket}
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(str(self._home / "doorward.sock"))
        connection = http.client.HTTPConnection("doorward")
        connection.sock = sock
        try:
            connection.request("POST", "/api/run", json.dumps(body), {"Content-Type": "application/json"})
            return dict(json.loads(connection.getresponse().read()))
        finally:
            connection.close()

    def result(self, command: str, /, **params: Any) -> Any:
        outcome = self.ask(command, **params)
        assert outcome.get("status") == "done", outcome
        return outcome["result"]


class Console:
    """A server with a browser before it."""

    def __init__(self, doorward: Doorward, server: Server, browser: Browser) -> None:
        self.doorward = doorward
        self.server = server
        self.browser = browser
        self.owner = Owner(doorward.home)
        self._state: Any = None
        self._contexts: list[BrowserContext] = []
        self.complaints: list[str] = []
        self.expected: tuple[str, ...] = ()
        """Complaints that a test brings about on purpose, each by a part of its text."""

    @property
    def url(self) -> str:
        return f"http://{self.server.host}:{self.server.port}"

    @property
    def link(self) -> str:
        return f"{self.url}{self.owner.result('user/link')['path']}"

    def stranger(self, **more: Any) -> Page:
        """A page of a browser that is not logged in."""
        context = self.browser.new_context(
            **{"viewport": {"width": 1280, "height": 800}, "reduced_motion": "reduce", "locale": "en-GB", **more}
        )
        context.set_default_timeout(PATIENCE)
        self._contexts.append(context)
        page = context.new_page()
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        return page

    @property
    def logged_in(self) -> Any:
        """The state of a browser that is logged in as the owner, for as many others as there shall be."""
        if self._state is None:
            first = self.stranger()
            first.goto(self.link)
            first.get_by_role("navigation", name="Console").wait_for()
            self._state = first.context.storage_state()
            self._close(first.context)
        return self._state

    def page(self, path: str = "", **more: Any) -> Page:
        """A page of a browser that is logged in as the owner, at a place of the console."""
        page = self.stranger(storage_state=self.logged_in, **more)
        page.goto(f"{self.url}/console/{path}")
        page.get_by_role("main").wait_for()
        return page

    def done(self) -> None:
        """Close the pages of a test, and fail it if one of them complained."""
        for context in [*self._contexts]:
            self._close(context)
        found, self.complaints, expected, self.expected = self.complaints, [], self.expected, ()
        unexpected = [one for one in found if not any(part in one for part in expected)]
        assert not unexpected, unexpected

    def _close(self, context: BrowserContext) -> None:
        self._contexts.remove(context)
        context.close()

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.type}: {message.text} ({message.location.get('url', '')})")
