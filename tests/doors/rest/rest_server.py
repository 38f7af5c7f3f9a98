"""A real house behind a real listener in a thread of this process, for tests that need a connection."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Coroutine, Iterable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import uvicorn

from doorward.app import House, open_house
from doorward.config.home import Home
from doorward.config.settings import Settings
from doorward.core.command import Family
from doorward.core.model import Credential, Outcome, Request
from doorward.doors.http.applications import HttpApplications
from waiting import PATIENCE


class Running:
    """A house that is up: `url` for clients, and its gate for what a test prepares."""

    def __init__(self, loop: asyncio.AbstractEventLoop, house: House, url: str) -> None:
        self._loop = loop
        self.house = house
        self.url = url

    def wait(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run something on the house's own loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE)

    def owner(self, command: str, **params: Any) -> Any:
        """The result of a command of the owner's, outside any room."""
        request = Request(command=command, credential=Credential(owner=True), door="test", params=params)
        outcome: Outcome = self.wait(self.house.gate.handle(request))
        assert outcome.status == "done", outcome
        return outcome.result

    def token(self, name: str, **params: Any) -> str:
        return str(self.owner("token/create", name=name, **params)["token"])

    def client(self, token: str = "") -> httpx2.Client:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return httpx2.Client(base_url=self.url, headers=headers, timeout=PATIENCE, trust_env=False)


class _Listener(uvicorn.Server):
    """Says when it is up."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = asyncio.Event()

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        self.up.set()


@contextlib.contextmanager
def running(home: Path, *, families: Iterable[Family] = (), changes: Settings | None = None) -> Iterator[Running]:
    started: list[Running] = []
    ready = threading.Event()
    ending: list[Any] = []

    async def main() -> None:
        async with open_house(Home(home), families=families, changes=changes) as house:
            app = HttpApplications(house.gate, house.services).public
            config = uvicorn.Config(
                app,
                port=0,
                interface="asgi3",
                http="httptools",
                ws="none",
                lifespan="off",
                log_config=None,
                timeout_graceful_shutdown=2,
            )
            listener = _Listener(config)
            serving = asyncio.ensure_future(listener.serve())
            await listener.up.wait()
            port = listener.servers[0].sockets[0].getsockname()[1]
            started.append(Running(asyncio.get_running_loop(), house, f"http://127.0.0.1:{port}"))
            ending.append(lambda: setattr(listener, "should_exit", True))
            ready.set()
            await serving

    def carry() -> None:
        try:
            asyncio.run(main())
        finally:
            ready.set()

    thread = threading.Thread(target=carry)
    thread.start()
    ready.wait(PATIENCE)
    assert started, "the server did not start"
    try:
        yield started[0]
    finally:
        ending[0]()
        thread.join(PATIENCE)
