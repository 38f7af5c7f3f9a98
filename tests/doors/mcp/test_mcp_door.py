"""The door without HTTP: frames in, frames out, many at once, and a clean end. This is what a pipe speaks."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from mcp_house import McpHouse
from mcp_web import BEFORE, NOW, PATIENCE

from doorward.core.model import Credential
from doorward.core.wire import meta
from doorward.doors.mcp.dispatcher import McpDispatcher
from doorward.doors.mcp.door import McpDoor
from doorward.doors.mcp.peer import MAX_RUNNING
from doorward.doors.mcp.request import McpRequest

AGENT = Credential(owner=True, speak_as="helper", kind="service")
PERSON = Credential(owner=True)


class Pipe:
    """A client on a transport with one connection for everything."""

    def __init__(self, house: McpHouse, door: McpDoor | None = None, **more: Any) -> None:
        self.door = door or house.door
        self._lines: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.peer = self.door.make_peer(more.pop("credential", AGENT), "workshop", PERSON, self._put, "stdio", **more)

    async def _put(self, frame: bytes) -> None:
        assert b"\n" not in frame
        self._lines.put_nowait(json.loads(frame))

    async def send(self, method: str, params: dict[str, Any] | None = None, id: Any = None) -> None:
        frame: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params or {}}
        if id is not None:
            frame["id"] = id
        await self.door.receive(self.peer, json.dumps(frame).encode())

    async def next(self) -> dict[str, Any]:
        async with asyncio.timeout(PATIENCE):
            return await self._lines.get()

    async def ask(self, method: str, params: dict[str, Any] | None = None, id: Any = 1) -> dict[str, Any]:
        await self.send(method, params, id)
        return await self.next()

    async def initialize(self, **capabilities: Any) -> dict[str, Any]:
        answer = await self.ask("initialize", {"protocolVersion": BEFORE, "capabilities": capabilities})
        await self.send("notifications/initialized")
        return answer

    @property
    def empty(self) -> bool:
        return self._lines.empty()


def about(**capabilities: Any) -> dict[str, Any]:
    return {"_meta": {meta.VERSION: NOW, meta.CAPABILITIES: capabilities}}


async def test_a_pipe_speaks_the_older_era_after_a_handshake(house: McpHouse):
    pipe = Pipe(house)
    assert (await pipe.ask("ping"))["result"] == {}
    assert (await pipe.ask("tools/list"))["error"]["code"] == -32600
    assert (await pipe.initialize())["result"]["protocolVersion"] == BEFORE
    assert (await pipe.ask("tools/list"))["result"]["tools"]
    called = await pipe.ask("tools/call", {"name": "probe_echo", "arguments": {"text": "x"}})
    assert called["result"]["structuredContent"] == {"text": "x"}
    assert (await pipe.ask("initialize", {"protocolVersion": BEFORE}))["error"]["code"] == -32602
    await pipe.door.close(pipe.peer)


async def test_a_pipe_speaks_the_newer_era_without_one_and_both_at_once(house: McpHouse):
    pipe = Pipe(house)
    assert (await pipe.ask("server/discover", about()))["result"]["resultType"] == "complete"
    called = await pipe.ask("tools/call", {"name": "probe_number", **about()})
    assert called["result"]["structuredContent"] == {"result": 42}
    assert (await pipe.ask("server/discover"))["error"]["code"] == -32602
    wrong = {"_meta": {meta.VERSION: "1999-01-01", meta.CAPABILITIES: {}}}
    assert (await pipe.ask("tools/list", wrong))["error"]["code"] == -32022
    assert (await pipe.ask("ping", about()))["error"]["code"] == -32601
    await pipe.initialize()
    assert (await pipe.ask("ping"))["result"] == {}
    assert "resultType" in (await pipe.ask("tools/list", about()))["result"]
    await pipe.door.close(pipe.peer)


async def test_requests_run_side_by_side_and_are_cancelled_by_id(house: McpHouse):
    pipe = Pipe(house)
    await pipe.initialize()
    await pipe.send("tools/call", {"name": "probe_hang", "_meta": {"progressToken": 1}}, "slow")
    assert (await pipe.next())["params"]["message"] == "it hangs"
    assert (await pipe.ask("ping", id=2))["id"] == 2
    await pipe.send("notifications/cancelled", {"requestId": "slow"})
    async with asyncio.timeout(PATIENCE):
        while pipe.peer.tasks:
            await asyncio.wait(list(pipe.peer.tasks))
    assert pipe.empty
    *_, row = await house.ledger("probe/hang")
    assert (row["caller"], row["code"]) == ("helper", "cancelled")
    assert (await pipe.ask("ping", id="slow"))["id"] == "slow"
    await pipe.door.close(pipe.peer)


async def test_when_a_client_is_gone_its_calls_are_cancelled_and_recorded(house: McpHouse):
    pipe = Pipe(house)
    await pipe.initialize()
    for number in range(3):
        await pipe.send("tools/call", {"name": "probe_hang", "_meta": {"progressToken": number}}, number + 10)
    for _ in range(3):
        await pipe.next()
    before = len(await house.ledger("probe/hang"))
    await pipe.door.close(pipe.peer)
    rows = (await house.ledger("probe/hang"))[before:]
    assert [row["code"] for row in rows] == ["cancelled"] * 3
    assert pipe.empty
    assert pipe.peer.tasks == set()


async def test_a_person_at_the_pipe_is_asked_in_both_eras(house: McpHouse):
    pipe = Pipe(house)
    await pipe.initialize(elicitation={})
    call = {"name": "file_write", "arguments": {"path": "pipe.txt", "content": "old era"}}
    question = await pipe.ask("tools/call", call, id=5)
    assert question["method"] == "elicitation/create"
    yes = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept"}}
    await pipe.door.receive(pipe.peer, json.dumps(yes).encode())
    assert "isError" not in (await pipe.next())["result"]
    call["arguments"] = {"path": "pipe.txt", "content": "new era"}
    first = (await pipe.ask("tools/call", {**call, **about(elicitation={})}))["result"]
    again = {"requestState": first["requestState"], "inputResponses": {"approval": {"action": "accept"}}}
    assert "isError" not in (await pipe.ask("tools/call", {**call, **again, **about(elicitation={})}))["result"]
    assert (house.home.path / "workspace" / "pipe.txt").read_text() == "new era"
    await pipe.door.close(pipe.peer)


async def test_news_come_by_themselves(house: McpHouse):
    pipe = Pipe(house)
    await pipe.initialize()
    house.announce("tools")
    assert (await pipe.next())["method"] == "notifications/tools/list_changed"
    await pipe.send("subscriptions/listen", {"notifications": {"promptsListChanged": True}, **about()}, "ear")
    assert (await pipe.next())["params"]["_meta"] == {meta.SUBSCRIPTION: "ear"}
    house.announce("prompts")
    told = [await pipe.next() for _ in range(2)]
    assert [one["params"]["_meta"] for one in told if "params" in one] == [{meta.SUBSCRIPTION: "ear"}]
    await pipe.send("notifications/cancelled", {"requestId": "ear"})
    assert (await pipe.ask("ping"))["result"] == {}
    await pipe.door.close(pipe.peer)


async def test_a_client_that_asks_without_end_is_told_to_wait(house: McpHouse):
    pipe = Pipe(house)
    listening = {"notifications": {"toolsListChanged": True}, **about()}
    for number in range(MAX_RUNNING):
        await pipe.send("subscriptions/listen", listening, number)
    for _ in range(MAX_RUNNING):
        await pipe.next()
    refused = await pipe.ask("ping", id="more")
    assert (refused["id"], refused["error"]["code"]) == ("more", -32600)
    await pipe.door.close(pipe.peer)


async def test_a_slow_client_holds_up_nobody_else(house: McpHouse):
    stuck, free = asyncio.Event(), Pipe(house)

    async def never(frame: bytes) -> None:
        stuck.set()
        await asyncio.Event().wait()

    peer = house.door.make_peer(AGENT, "workshop", None, never, "stdio")
    frame = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": BEFORE}}
    await house.door.receive(peer, json.dumps(frame).encode())
    async with asyncio.timeout(PATIENCE):
        await stuck.wait()
    for _ in range(500):
        house.announce("tools")
    assert (await free.ask("ping"))["result"] == {}
    await house.door.close(peer)
    await free.door.close(free.peer)


async def test_the_short_list_can_be_chosen_for_one_client(house: McpHouse):
    pipe = Pipe(house, tools="search")
    tools = (await pipe.ask("tools/list", about()))["result"]["tools"]
    assert "run_command" in {tool["name"] for tool in tools}
    await pipe.door.close(pipe.peer)


async def test_a_caller_that_the_gate_does_not_know_is_told_so(house: McpHouse):
    pipe = Pipe(house, credential=Credential(token="garbage"))
    for method in ("tools/list", "server/discover"):
        assert (await pipe.ask(method, about()))["error"]["code"] == 401
    called = await pipe.ask("tools/call", {"name": "probe_number", **about()})
    assert called["error"]["data"]["code"] == "not_authenticated"


class Singing(McpDispatcher):
    async def dispatch(self, ask: McpRequest) -> bytes:
        return b'{"song":"la"}' if ask.params.get("name") == "sing" else await super().dispatch(ask)


async def test_a_door_takes_a_dispatcher_of_its_own(house: McpHouse):
    pipe = Pipe(house, McpDoor(house.gate, house.services, Singing))
    assert (await pipe.ask("tools/call", {"name": "sing", **about()}))["result"] == {"song": "la"}
    called = await pipe.ask("tools/call", {"name": "probe_number", **about()})
    assert called["result"]["structuredContent"] == {"result": 42}
