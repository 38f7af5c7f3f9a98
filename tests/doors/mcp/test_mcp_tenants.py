"""A tenant finds nothing of another one through MCP: no session, no room, no ticket, no state, no resource, no news."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest
from mcp_house import McpHouse
from mcp_web import Web

from doorward.core.model import Credential
from doorward.doors.mcp.http import HttpEndpoint

ROOM = "secrets"
PARKED = {"name": "file_write", "arguments": {"path": "ours.txt", "content": "ours"}}


@pytest.fixture(scope="module")
async def rival(house: McpHouse) -> Web:
    """The boss of another tenant, who may do everything there and has a workshop there, too."""
    await house.owner("room/create", name=ROOM, recipe="admin")
    await house.owner("user/create", id="boss", access="root", tenant="rival")
    token = await house.token("rivals", user="boss", tenant="rival", kind="human", access="root")
    made = await house.ask("room/create", Credential(token=token), name="workshop", recipe="workshop")
    assert made.status == "done", made
    return Web(house.server.public, token, "/mcp/workshop", {"elicitation": {}})


async def test_a_session_of_another_tenant_does_not_exist(house: McpHouse, rival: Web):
    ours = await house.web()
    await ours.initialize()
    thief = Web(rival.app, rival.token, rival.path)
    thief.session = ours.session
    for exchange in (
        thief.begin("tools/call", {"name": "probe_echo", "arguments": {"text": "x"}}),
        thief.listen(),
        thief.raw(b"", thief.headers(**thief.session), method="DELETE"),
    ):
        assert (await thief.whole(exchange)).status == 404
    assert (await ours.request("ping")).result == {}


async def test_a_room_of_another_tenant_does_not_exist(house: McpHouse, rival: Web):
    spy = Web(rival.app, rival.token, f"/mcp/{ROOM}")
    nowhere = Web(rival.app, rival.token, "/mcp/nowhere")
    for web, name in ((spy, ROOM), (nowhere, "nowhere")):
        for answer in (await web.initialize(), await web.ask("tools/list")):
            assert (
                answer.error["message"].replace(name, "X")
                == "There is no room 'X' that you may act in. Your rooms: workshop."
            )
        refused = await web.call("probe_number")
        assert f"There is no room '{name}' that you may act in" in refused.said


async def test_a_ticket_and_a_state_of_another_tenant_open_nothing(house: McpHouse, rival: Web):
    ours = await house.web(capabilities={"elicitation": {}})
    ticket = (await ours.ask("tools/call", PARKED)).result["_meta"]["doorward/ticket"]
    stolen = await rival.call("resume_approved", ticket=ticket)
    assert stolen.result["_meta"]["doorward/code"] == "not_found"
    endpoint = HttpEndpoint(house.door, person_of=lambda headers: Credential(owner=True))
    asked = Web(endpoint, ours.token, ours.path, {"elicitation": {}})
    state = (await asked.ask("tools/call", PARKED)).result["requestState"]
    thief = Web(endpoint, rival.token, rival.path, {"elicitation": {}})
    yes = {"requestState": state, "inputResponses": {"approval": {"action": "accept"}}}
    assert "another caller" in (await thief.ask("tools/call", {**PARKED, **yes})).error["message"]


async def test_resources_are_those_of_the_own_tenant(house: McpHouse, rival: Web):
    (house.home.path / "workspace" / "ours.md").write_text("ours")
    await house.owner("room/say", text="ours", name="workshop")
    for uri in ("doorward://files/", "doorward://rooms/workshop/messages", "doorward://ledger"):
        (contents,) = (await rival.ask("resources/read", {"uri": uri})).result["contents"]
        assert not re.search(r"\bours\b", contents["text"]), uri
    for uri in ("doorward://files/ours.md", f"doorward://rooms/{ROOM}/messages"):
        assert (await rival.ask("resources/read", {"uri": uri})).error["code"] == -32602


async def test_news_are_those_of_the_own_tenant(house: McpHouse, rival: Web):
    wanted = {"resourceSubscriptions": ["doorward://rooms/workshop/messages", "doorward://files/x"]}
    stream = await rival.open("subscriptions/listen", {"notifications": wanted}).begun()
    await stream.event()
    await house.owner("room/say", text="ours", name="workshop")
    news: Any = asyncio.create_task(stream.event())
    said = await house.ask("room/say", Credential(token=rival.token), room="workshop", text="theirs")
    assert said.status == "done", said
    assert json.dumps(await news).count("doorward://") == 1
    await stream.event()
    await stream.hang_up()
