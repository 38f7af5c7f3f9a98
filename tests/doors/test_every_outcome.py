"""Every door gives every outcome the answer that docs/OUTCOMES.md promises (R3.5).

The doors are real, and behind them stands a gate that gives each outcome when asked for it by the name of the room.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import runpy
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from doorward.config.settings import LineSettings, Settings
from doorward.core.classification import Access
from doorward.core.errors import concrete_errors
from doorward.core.model import Caller, Credential, Outcome, Request
from doorward.doors.http.applications import HttpApplications
from doorward.doors.line.door import open_line_door as line_door
from doorward.doors.mcp.door import McpDoor
from doorward.rooms.people import LOCAL
from listening import PATIENCE, Answer, Client, Listening, listening, post

DOCS = Path(__file__).parents[2] / "docs"
SAMPLES: list[Outcome] = list(runpy.run_path(str(DOCS / "generate.py"))["samples"]())
ABOUT = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
RUN_EACH = """
import contextlib, io, json, sys
from doorward.cli.main import main
for code in sys.argv[1:]:
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        try:
            main(["run", f"--room={code}", "data/list", "--collection=rooms"])
        except SystemExit as end:
            exit_code = end.code
    print(json.dumps([code, exit_code, said.getvalue()]))
"""


class Prepared:
    """A gate that gives the outcome it was told to."""

    def __init__(self) -> None:
        self.next = SAMPLES[0]

    async def handle(self, request: Request, watch: Any = None) -> Outcome:
        return next((sample for sample in SAMPLES if sample.code == request.room), self.next)

    def caller(self, credential: Credential) -> Caller:
        return Caller(tenant=LOCAL, id="bot", kind="service", access=Access.FULL, on_behalf_of="owner")

    def offered(self, caller: Caller, room: str) -> list[Any]:
        return []

    def enter(self, caller: Caller, room: str) -> None:
        """Every room is open."""

    def each(self) -> Iterator[Outcome]:
        for self.next in SAMPLES:
            yield self.next


def column(name: str) -> dict[str, str]:
    """What the page promises in one of its columns, by code."""
    lines = (DOCS / "OUTCOMES.md").read_text().splitlines()
    titles, _, *rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("|")]
    return {row[0].strip("`"): row[titles.index(name)] for row in rows}


@pytest.fixture
def gate() -> Prepared:
    return Prepared()


@pytest.fixture
async def services(opened: Callable[..., Any]) -> AsyncIterator[Any]:
    async with opened(changes=Settings(line=LineSettings(port=0))) as driver:
        yield driver.house.services


@pytest.fixture
async def here(gate: Any, services: Any, home: Any) -> AsyncIterator[Listening]:
    async with listening(HttpApplications(gate, services), home.socket) as here, asyncio.timeout(PATIENCE):
        yield here


def test_the_page_has_every_code_and_no_other() -> None:
    codes = {leaf.code for leaf in concrete_errors()} - {"unusable"}
    assert set(column("code")) == codes | {"ok", "cached", "dry_run", "approval_needed"}


async def test_the_terminal(here: Listening, home: Any) -> None:
    codes = [sample.code for sample in SAMPLES]
    environment = {**os.environ, "DOORWARD_HOME": str(home.path), "NO_COLOR": "1"}
    running = await asyncio.create_subprocess_exec(
        sys.executable, "-c", RUN_EACH, *codes, env=environment, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await running.communicate()
    told = {code: (exit_code, words) for code, exit_code, words in map(json.loads, out.splitlines())}
    assert {code: str(exit_code) for code, (exit_code, _) in told.items()} == column("terminal")
    for sample in SAMPLES:
        words = told[sample.code][1]
        status = "waiting" if sample.status == "parked" else sample.status
        said = words.startswith(f"{status} ({sample.code}) {sample.message}\n")
        assert said is (sample.status != "done"), words


async def test_the_owners_socket(here: Listening, gate: Prepared) -> None:
    client = await here.connect_private()
    told = {}
    for sample in gate.each():
        answer = await _asked(client, post("/api/run", {"command": "data/list"}))
        told[sample.code] = str(answer.status)
        assert (answer.json["code"], answer.json["status"]) == (sample.code, sample.status)
        await client.send(post("/api/run", {"command": "data/list", "stream": True}))
        lines = (await _chunks(client)).splitlines()
        assert json.loads(lines[-1])["outcome"]["code"] == sample.code
    assert told == column("socket")


async def test_rest(here: Listening, gate: Prepared) -> None:
    client = await here.connect()
    told = {}
    for sample in gate.each():
        answer = await _asked(client, post("/api/run", {"command": "data/list"}, "Authorization: Bearer t"))
        problem = "application/problem+json" in answer.head
        told[sample.code] = f"{answer.status} {'problem' if problem else 'outcome'}"
        assert answer.json["code"] == sample.code
        assert answer.json["retry" if sample.status != "done" else "code"]
        if problem:
            assert (answer.json["status"], answer.json["detail"]) == (answer.status, sample.message)
            assert ("retry-after: 3" in answer.head.lower()) is (sample.retry_after is not None)
        assert ("www-authenticate" in answer.head.lower()) is (answer.status == 401)
    assert told == column("REST")


async def test_mcp_over_http_without_sessions(here: Listening, gate: Prepared) -> None:
    client = await here.connect()
    told = {}
    fields = ("MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: data_list")
    for sample in gate.each():
        answer = await _asked(client, _mcp("tools/call", {**_call(), "_meta": ABOUT}, *fields))
        told[sample.code] = f"{answer.status} {_mcp_word(answer.json, sample)}"
    assert told == column("MCP 2026-07-28")


async def test_mcp_over_http_with_sessions(here: Listening, gate: Prepared) -> None:
    client = await here.connect()
    hello = await _asked(client, _mcp("initialize", HELLO))
    session = next(line for line in hello.head.splitlines() if line.lower().startswith("mcp-session-id"))
    told = {}
    for sample in gate.each():
        answer = await _asked(client, _mcp("tools/call", _call(), session, "MCP-Protocol-Version: 2025-11-25"))
        told[sample.code] = f"{answer.status} {_mcp_word(answer.json, sample)}"
    assert told == column("MCP 2025-11-25")


async def test_mcp_over_stdio_in_both_eras(gate: Any, services: Any) -> None:
    door, sent = McpDoor(gate, services), asyncio.Queue[bytes]()
    for era in ("2025-11-25", "2026-07-28"):
        peer = door.make_peer(Credential(owner=True, speak_as="bot"), "general", None, sent.put, "stdio")
        try:
            if era == "2025-11-25":
                await door.receive(peer, _frame("initialize", HELLO))
                assert "result" in json.loads(await sent.get())
            params = _call() if era == "2025-11-25" else {**_call(), "_meta": ABOUT}
            told = {}
            for sample in gate.each():
                await door.receive(peer, _frame("tools/call", params))
                told[sample.code] = _mcp_word(json.loads(await sent.get()), sample)
        finally:
            await door.close(peer)
        assert told == column("MCP stdio"), era


async def test_the_line_door(gate: Any, services: Any) -> None:
    told = {}
    async with line_door(gate, services) as (host, port):
        reader, writer = await asyncio.open_connection(host, port)
        with contextlib.closing(writer):
            for sample in gate.each():
                ask = {"id": sample.code, "method": "call_tool", "params": {"tool": "data_list", "args": {}}}
                writer.write(json.dumps(ask).encode() + b"\n")
                line = json.loads(await reader.readline())
                told[line["id"]] = line["type"]
                if line["type"] == "error":
                    assert (line["error"]["code"], line["error"]["status"]) == (sample.code, sample.status)
                    assert line["error"].get("retry_after") == sample.retry_after
                else:
                    assert line["result"].get("code", "ok") == sample.code
    assert told == column("line")


def _call() -> dict[str, Any]:
    return {"name": "data_list", "arguments": {}}


def _frame(method: str, params: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()


def _mcp(method: str, params: Any, *fields: str) -> bytes:
    accept = "Accept: application/json, text/event-stream"
    return post("/mcp", json.loads(_frame(method, params)), "Authorization: Bearer t", accept, *fields)


def _mcp_word(frame: dict[str, Any], sample: Outcome) -> str:
    """What an answer is, in the page's words; and whether it says all that it should."""
    if "error" in frame:
        assert frame["error"]["data"]["code"] == sample.code
        return f"error {frame['error']['code']}"
    result = frame["result"]
    assert result["content"][0]["text"]
    assert result["_meta"]["doorward/code"] == sample.code
    assert result["_meta"]["doorward/status"] == sample.status
    assert result["_meta"].get("doorward/retryAfter") == sample.retry_after
    return "isError" if result.get("isError") else "result"


async def _asked(client: Client, request: bytes) -> Answer:
    await client.send(request)
    return await client.answer()


async def _chunks(client: Client) -> bytes:
    """The body of an answer that comes in chunks."""
    await client.reader.readuntil(b"\r\n\r\n")
    body = b""
    while size := int(await client.reader.readline(), 16):
        body += await client.reader.readexactly(size)
        await client.reader.readline()
    await client.reader.readline()
    return body
