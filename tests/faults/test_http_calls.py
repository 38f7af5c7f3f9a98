"""Calls over HTTP whose clients leave, never read, or come by the thousand; and the end of Doorward in the midst."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from doorward.commands.context import Context
from doorward.config.settings import LimitSettings, SandboxSettings, Settings
from doorward.config.settings import ServerSettings as ServerSettings
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import READS_ONLY, Example, Family, NoUndo
from doorward.core.errors import Unusable
from doorward.doors.http.ports import listen
from doorward.doors.http.server import raise_file_limit
from listening import Client, Listening, get, house, listening, post
from waiting import PATIENCE, until

RULES = {"enabled": True, "whitelist": ["hold/*"], "maxCommandsPerMinute": 10_000}
RECIPE = {"recipeId": "holding", "displayName": "Holding", "strategy": {"aiCommands": RULES}}


class Stage:
    """A house with commands that go on until they are stopped, and the server in front of it."""

    def __init__(self) -> None:
        self.family = Family("hold", category="test")
        self.began = asyncio.Event()
        self.ended = asyncio.Event()
        common: dict[str, Any] = {
            "access": Access.READ,
            "safety": Safety.SAFE,
            "cost": 1,
            "timeout": 60,
            "examples": [Example("try it", {})],
        }

        @self.family.command("wait", tier=Tier.CODE, effects=Effects.WRITE, undo=NoUndo("a test"), **common)
        async def wait(ctx: Context) -> dict[str, str]:
            """Wait to be stopped."""
            return await self._until_stopped(ctx, b"")

        @self.family.command("flood", tier=Tier.CODE, effects=Effects.WRITE, undo=NoUndo("a test"), **common)
        async def flood(ctx: Context) -> dict[str, str]:
            """Say more than anybody reads."""
            return await self._until_stopped(ctx, b"x" * 100_000)

        @self.family.command("tick", tier=Tier.CODE, effects=Effects.READ, undo=READS_ONLY, **common)
        async def tick(ctx: Context) -> dict[str, str]:
            """Be done at once."""
            return {"tick": "tock"}

    async def _until_stopped(self, ctx: Context, words: bytes) -> dict[str, str]:
        self.began.set()
        try:
            while True:
                ctx.execution.write("stdout", words)
                await (asyncio.sleep(0) if words else asyncio.Event().wait())
        finally:
            self.ended.set()


class Ways:
    """How one call is asked for through each door that HTTP leads to."""

    def __init__(self, here: Listening, token: str) -> None:
        self.here = here
        self.bearer = f"Authorization: Bearer {token}"

    async def ask(self, way: str, command: str) -> Client:
        client = await (self.here.connect_private() if way.startswith("private") else self.here.connect(takes=4_096))
        body: dict[str, Any] = {"command": command, "params": {}, "room": "lab"}
        if way.startswith("private"):
            await client.send(post("/api/run", {**body, "speakAs": "bot", "stream": way.endswith("stream")}))
        elif way.startswith("rest"):
            accept = "text/event-stream" if way.endswith("stream") else "application/json"
            await client.send(post("/api/run", body, self.bearer, f"Accept: {accept}"))
        else:
            await client.send(self._mcp(command.replace("/", "_"), progress=way.endswith("stream")))
        return client

    def _mcp(self, tool: str, *, progress: bool) -> bytes:
        about = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
            **({"progressToken": "p"} if progress else {}),
        }
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
        fields = ["MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", f"Mcp-Name: {tool}"]
        accept = "Accept: application/json, text/event-stream"
        params = {"name": tool, "arguments": {}, "_meta": about}
        return post("/mcp/lab", {**call, "params": params}, self.bearer, accept, *fields)


WAYS = ["private", "private stream", "rest", "rest stream", "mcp", "mcp stream"]


@pytest.fixture
def stage() -> Stage:
    return Stage()


@pytest.fixture
def staged(opened: Callable[..., Any], stage: Stage) -> Callable[..., Any]:
    """Opens a house with the stage's commands, a room for them, and the real listener."""

    @contextlib.asynccontextmanager
    async def open_ways(settings: Settings) -> AsyncIterator[tuple[Any, Ways]]:
        async with opened(families=[stage.family], changes=settings) as driver:
            await driver.owner("recipe/put", id="holding", text=json.dumps(RECIPE))
            await driver.owner("room/create", name="lab", recipe="holding")
            token = await driver.token("bot", kind="service", access="full", rooms=["lab"])
            async with listening(house(driver), driver.house.home.socket) as here, asyncio.timeout(PATIENCE):
                yield driver, Ways(here, token)

    return open_ways


async def the_end(driver: Any, command: str) -> dict[str, Any]:
    """The record of how the newest call of a command ended, as soon as there is one."""

    async def ended() -> list[dict[str, Any]]:
        return [row for row in await driver.ledger() if row["command"] == command and row["status"] != "started"]

    return dict((await until(ended))[-1])


async def test_a_client_that_leaves_cancels_its_call_and_the_record_says_so(staged: Any, stage: Stage) -> None:
    async with staged(Settings()) as (driver, ways):
        seen = set()
        for way in WAYS:
            stage.began.clear()
            stage.ended.clear()
            client = await ways.ask(way, "hold/wait")
            await stage.began.wait()
            client.hang_up()
            await stage.ended.wait()
            await _quiet(driver)
            end = await the_end(driver, "hold/wait")
            assert (end["status"], end["code"]) == ("failed", "cancelled"), (way, end)
            assert end["call"] not in seen, way
            seen.add(end["call"])


@pytest.mark.parametrize("way", ["private stream", "rest stream"])
async def test_a_client_that_never_reads_its_stream_is_cut_off_and_its_call_cancelled(
    way: str, staged: Any, stage: Stage
) -> None:
    """MCP is not among them: of what a command says it tells a little, a few times a second."""
    more_than_the_kernel_holds = SandboxSettings(output_bytes=30_000_000)
    limits = ServerSettings(unread_seconds=1)
    async with staged(Settings(server=limits, sandbox=more_than_the_kernel_holds)) as (driver, ways):
        client = await ways.ask(way, "hold/flood")
        client.writer.transport.pause_reading()
        await stage.ended.wait()
        end = await the_end(driver, "hold/flood")
        assert (end["status"], end["code"]) == ("failed", "cancelled")


async def test_the_end_of_doorward_stops_what_runs_and_its_client_is_told(staged: Any, stage: Stage) -> None:
    async with staged(Settings()) as (driver, ways):
        client = await ways.ask("private stream", "hold/wait")
        await stage.began.wait()
        ways.here.stopping.set()
        got = await client.rest()
        end = await the_end(driver, "hold/wait")
        assert b"was cancelled by the end of Doorward" in got
        assert got.endswith(b"0\r\n\r\n"), "its answer is whole"
        assert (end["status"], end["code"]) == ("failed", "cancelled")


async def test_the_end_of_doorward_is_told_to_clients_that_only_listen(staged: Any) -> None:
    async with staged(Settings()) as (_, ways):
        about = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        params = {"notifications": {"toolsListChanged": True}, "_meta": about}
        frame = {"jsonrpc": "2.0", "id": 7, "method": "subscriptions/listen", "params": params}
        client = await ways.here.connect()
        headers = ("Accept: application/json, text/event-stream", "MCP-Protocol-Version: 2026-07-28")
        await client.send(post("/mcp/lab", frame, ways.bearer, *headers, "Mcp-Method: subscriptions/listen"))
        await client.reader.readuntil(b"notifications/subscriptions/acknowledged")
        ways.here.stopping.set()
        got = await client.rest()
        assert b'"id":7,"result":' in got
        assert got.endswith(b"0\r\n\r\n"), "its answer is whole"


async def _quiet(driver: Any) -> None:
    """Wait until no call is left whose record is on its way."""
    await until(lambda: not list(driver.house.services.executions))


async def test_a_thousand_clients_at_once_get_all_their_answers(staged: Any) -> None:
    assert raise_file_limit(2_048)[0] == 2_048
    many = LimitSettings(running=1_000, queued=1_000, per_minute=1_000_000)
    begin = asyncio.Event()

    async def ask(ways: Ways) -> list[int]:
        client = await ways.here.connect_private()
        await begin.wait()
        answers = []
        for request in (get("/health"), post("/api/run", {"command": "hold/tick", "params": {}}), get("/health")):
            await client.send(request)
            answers.append((await client.answer()).status)
        return answers

    async with staged(Settings(limits=many)) as (driver, ways):
        asking = [asyncio.create_task(ask(ways)) for _ in range(1_000)]
        begin.set()
        told = await asyncio.gather(*asking)
        assert told == [[200, 200, 200]] * 1_000
        assert len([row for row in await driver.ledger() if row["command"] == "hold/tick"]) == 1_000


async def test_a_port_that_another_doorward_has_says_how_to_reach_it(staged: Any) -> None:
    async with staged(Settings()) as (_, ways):
        with pytest.raises(Unusable) as refused:
            await asyncio.to_thread(listen, ways.here.host, ways.here.port)
        port = ways.here.port
        assert refused.value.message.startswith(f"Port {port} on 127.0.0.1 is in use by process {os.getpid()} (")
        assert "which is another Doorward" in refused.value.message
        assert f"It answers at http://127.0.0.1:{port}" in refused.value.hint
        assert refused.value.hint.endswith(f"doorward up --port {port + 1}")


def test_few_files_mean_few_connections_and_a_sentence_about_it() -> None:
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (100, 3_000));"
        "from doorward.doors.http.server import raise_file_limit as limit; print(limit(500)); print(limit(4_096));"
        "print(resource.getrlimit(resource.RLIMIT_NOFILE))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()
    assert said[0] == "(500, '')"
    assert said[1].startswith("(988, 'This account may open only 3000 files, so each socket accepts 988 connections")
    assert said[2] == "(3000, 3000)"
