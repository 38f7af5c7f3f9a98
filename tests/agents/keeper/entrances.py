"""A house with every door open, in a thread of this process, and the ways in to its keeper."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest
from click.testing import CliRunner
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from doorward.agents.keeper.tools import as_tool_call
from doorward.agents.personas.dispatcher import PersonaDispatcher, run_personas
from doorward.app import House, open_house
from doorward.cli.main import cli
from doorward.cli.shell_console import ShellConsole
from doorward.cli.shell_names import NameCache
from doorward.cli.shell_transport import ShellTransport
from doorward.config.home import Home, bind_private_socket
from doorward.config.settings import KeeperSettings, LimitSettings, Settings
from doorward.core import strictjson
from doorward.core.clock import Clock
from doorward.core.model import Credential, Outcome, Request
from doorward.doors.http.applications import HttpApplications
from doorward.doors.http.ports import listen
from doorward.doors.http.server import serve
from settling import settled
from waiting import PATIENCE

PATH = "/api/agent/ai"
HALL = {
    "recipeId": "hall",
    "displayName": "Hall",
    "strategy": {"aiCommands": {"enabled": True, "whitelist": ["*"], "maxCommandsPerMinute": 100_000}},
}


class Still(Clock):
    """A clock that stands, so that the same words mean the same times at every door."""

    def steady(self) -> float:
        return 1_000.0


class Told(NamedTuple):
    """What one entrance gave: the answer's words, and the calls as it shows them, where it does."""

    text: str
    calls: list[tuple[str, dict[str, Any]]] | None = None


class Somebody:
    """At the shell, says yes to whatever is suggested."""

    async def answer(self, question: str) -> str:
        return "y"

    def earlier(self) -> list[str]:
        return []


class Doors:
    def __init__(self, loop: asyncio.AbstractEventLoop, house: House, company: PersonaDispatcher, url: str) -> None:
        self._loop = loop
        self.house = house
        self.company = company
        self.url = url
        self.token = self.owner("token/create", name="laptop", kind="human", access="root")["token"]

    def wait(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run something on the house's own loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE)

    def owner(self, command: str, **params: Any) -> Any:
        request = Request(command=command, credential=Credential(owner=True), door="test", params=params)
        outcome: Outcome = self.wait(self.house.gate.handle(request))
        assert outcome.status == "done", outcome
        return outcome.result

    def place(self) -> int:
        rows = self.wait(self.house.services.store.read("SELECT max(seq) AS seq FROM ledger"))
        return int(rows[0]["seq"])

    def recorded(self, after: int) -> list[tuple[str, dict[str, Any]]]:
        """The calls that an AI made since then, as one of the keeper's three tools each."""
        sql = "SELECT * FROM ledger WHERE seq > ? AND status != 'started' AND kind = 'ai' ORDER BY seq"
        rows = self.wait(self.house.services.store.read(sql, (after,)))
        return [as_tool_call(row["command"], strictjson.loads(row["params"])) for row in rows]

    def http(self) -> httpx2.Client:
        headers = {"Authorization": f"Bearer {self.token}"}
        return httpx2.Client(base_url=self.url, headers=headers, timeout=PATIENCE, trust_env=False)

    # The entrances. Each asks in a session of its own.

    def rest(self, words: str) -> Told:
        with self.http() as client:
            return _answer(client.post(PATH, json={"prompt": words}).json())

    def events(self, words: str) -> Told:
        with self.http() as client:
            response = client.post(PATH, json={"prompt": words}, headers={"Accept": "text/event-stream"})
        last = [line for line in response.text.splitlines() if line.startswith("data: ")][-1]
        return _answer(json.loads(last.removeprefix("data: "))["answer"])

    def lines(self, words: str) -> Told:
        with self.http() as client:
            response = client.post(PATH, json={"prompt": words}, headers={"Accept": "application/x-ndjson"})
        return _answer(json.loads(response.text.splitlines()[-1])["answer"])

    def mcp(self, words: str) -> Told:
        return _answer(self.mcp_result(words).structured_content)

    def mcp_result(self, words: str, told: Callable[[str], None] = lambda _: None) -> Any:
        return asyncio.run(self.mcp_asked(words, told))

    async def mcp_asked(self, words: str, told: Callable[[str], None] = lambda _: None) -> Any:
        """By the official client."""

        async def progress(done: float, total: float | None, message: str | None) -> None:
            told(message or "")

        headers = {"Authorization": f"Bearer {self.token}"}
        async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE, trust_env=False) as http:
            server = streamable_http_client(f"{self.url}/mcp?tools=all", http_client=http)
            async with Client(server, mode="2026-07-28") as client:
                return await client.call_tool("doorward_agent", {"prompt": words}, progress_callback=progress)

    def terminal(self, words: str) -> Told:
        return _answer(json.loads(self.typed("ai", "--json", words).stdout))

    def typed(self, *arguments: str) -> Any:
        """What `doorward` prints, over the owner's socket."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("DOORWARD_HOME", str(self.house.home.path))
            return CliRunner().invoke(cli, list(arguments))

    def shell(self, words: str, capture: pytest.CaptureFixture[str]) -> Told:
        way = ShellTransport(self.house.home, lambda: None, "")
        capture.readouterr()
        asyncio.run(ShellConsole(way, NameCache(way), Somebody()).run_line(f"@{words}"))
        return Told(capture.readouterr().out)

    def persona(self, words: str) -> Told:
        self.owner("room/say", name="hall", text=f"@homer {words}")
        self.wait(settled(self.company))
        said = self.owner("room/messages", name="hall", limit=1)["items"]
        return Told(str(said[0]["text"]))


def _answer(answer: dict[str, Any]) -> Told:
    return Told(answer["response"], [(one["name"], one["input"]) for one in answer["toolCalls"]])


@contextlib.contextmanager
def open_doors(path: Path) -> Iterator[Doors]:
    """The house, until the end of the block."""
    home = Home(path)
    started: list[Any] = []
    ready = threading.Event()
    limits = LimitSettings(running=100, queued=1_000, per_minute=1_000_000, loop_repeats=1_000_000)

    async def main() -> None:
        stopping = asyncio.Event()
        changes = Settings(keeper=KeeperSettings(model="house"), limits=limits)
        async with open_house(home, clock=Still(), changes=changes) as house:
            with (
                contextlib.closing(listen("127.0.0.1", 0)) as public,
                contextlib.closing(bind_private_socket(home.socket)) as private,
            ):
                async with run_personas(house.gate, house.services, house.models, house.effort) as company:
                    url = f"http://127.0.0.1:{public.getsockname()[1]}"
                    started.extend((asyncio.get_running_loop(), house, company, url, stopping))
                    await serve(HttpApplications(house.gate, house.services), public, private, stopping, ready.set)

    def carry() -> None:
        try:
            asyncio.run(main())
        finally:
            ready.set()

    thread = threading.Thread(target=carry)
    thread.start()
    assert ready.wait(PATIENCE)
    assert started, "the house did not open"
    *made, stopping = started
    try:
        yield Doors(*made)
    finally:
        made[0].call_soon_threadsafe(stopping.set)
        thread.join(PATIENCE)
