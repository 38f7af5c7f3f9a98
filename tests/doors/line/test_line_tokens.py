"""A token that is shown counts or is refused; it never makes room for the owner's voice. And which room it means."""

from __future__ import annotations

import json
from typing import Any

import pytest

from doorward.config.settings import SandboxSettings, Settings
from doorward.doors.line.tokenless_access import TokenlessAccess

QUICK = {"tool": "stage_quick", "args": {"name": "a"}}
REFUSED = "A token on this connection was refused, so no request is accepted. "


async def everything_is_refused(wire: Any) -> bool:
    """Whether each method is refused for what the connection showed before."""
    answers = [
        await wire.asked("a", "call_tool", QUICK),
        await wire.asked("b", "list_tools"),
        await wire.asked("c", "initialize"),
        await wire.asked("d", "get_execution_status", {"execution_id": "a"}),
        await wire.asked("e", "cancel_execution", {"execution_id": "a"}),
    ]
    assert {one["type"] for one in answers} == {"error"}, answers
    return {one["error"]["code"] for one in answers} == {"not_authenticated"} and all(
        one["error"]["message"].startswith(REFUSED) for one in answers
    )


async def test_after_a_wrong_token_in_initialize_nothing_runs_until_a_good_one_is_shown(line):
    async with line() as house:
        token = await house.driver.token("robot", kind="ai", rooms=["lab"])
        wire = await house.wire()
        first = await wire.asked(1, "initialize", {"token": "nonsense"})
        barred = await everything_is_refused(wire)
        good = await wire.asked(2, "initialize", {"token": token})
        called = await wire.asked(3, "call_tool", QUICK)
        rows = [row for row in await house.driver.ledger() if row["command"] == "stage/quick"]
    assert first["error"]["code"] == "not_authenticated"
    assert barred
    assert good["type"] == called["type"] == "response"
    assert [row["caller"] for row in rows] == ["robot"]


@pytest.mark.parametrize("method", ["call_tool", "list_tools", "get_execution_status", "cancel_execution"])
async def test_after_a_wrong_token_beside_a_method_nothing_runs_either(line, method):
    params = {"call_tool": QUICK, "list_tools": {}}.get(method, {"execution_id": "x"})
    async with line() as house:
        wire = await house.wire()
        refused = await wire.asked(1, method, params, token="nonsense")
        barred = await everything_is_refused(wire)
        other = await (await house.wire()).asked(2, "call_tool", QUICK)
    assert refused["error"]["code"] == "not_authenticated"
    assert barred
    assert house.stage.seen == ["a"]
    assert other["type"] == "response"


async def test_a_line_sent_right_behind_a_wrong_token_is_refused_too(line):
    async with line() as house:
        wire = await house.wire()
        wire.send(1, "call_tool", QUICK, token="nonsense")
        for n in range(2, 6):
            wire.call(n, "stage_quick", {"name": "b"})
        answers = [await wire.line() for _ in range(5)]
    assert {one["error"]["code"] for one in answers} == {"not_authenticated"}
    assert house.stage.seen == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"id":1,"method":"initialize","params":{"token":""}}', "given an empty string."),
        ('{"id":1,"method":"initialize","params":{"token":"  "}}', "given a string."),
        ('{"id":1,"method":"initialize","params":{"token":null}}', "given null."),
        ('{"id":1,"method":"initialize","params":{"token":5}}', "given a number."),
        ('{"id":1,"method":"initialize","params":{"token":["x"]}}', "given a list."),
        ('{"id":1,"method":"initialize","params":{},"token":null}', "given null."),
        ('{"id":1,"method":"list_tools","params":{},"token":""}', "given an empty string."),
        ('{"id":1,"method":"list_tools","params":{},"token":{}}', "given an object."),
        (
            '{"id":1,"method":"initialize","params":{"token":"x"},"token":"y"}',
            "The tokens beside `method`",
        ),
        ('{"id":1,"method":"initialise","params":{"token":"x"}}', "Unknown method"),
        ('{"id":1,"method":"initialize","params":{"token":"x","rom":"lab"}}', "Unknown parameter 'rom'"),
        ('{"method":"initialize","params":{"token":"x"}}', "`id` must be a string"),
        ('{"id":1,"method":"initialize","params":{"token":"x","token":"y"}}', "'token' appears twice"),
        ('{"id":1,"method":"initialize","params":{"token":"x"', "not valid JSON"),
        ('{"id":1,"method":"initialize","params":{"token":"' + "x" * 20_000 + '"}}', "The line is too long"),
    ],
    ids=lambda value: value[:60],
)
async def test_a_token_in_a_request_that_is_no_good_is_not_the_same_as_no_token(line, text, says):
    async with line() as house:
        wire = await house.wire()
        wire.raw(text)
        refused = await wire.line()
        barred = await everything_is_refused(wire)
    assert refused["error"]["code"] == "bad_params"
    assert says in refused["error"]["message"]
    assert barred


async def test_a_good_token_that_is_refused_its_room_does_not_become_the_owners_program(line):
    async with line() as house:
        token = await house.driver.token("robot", kind="ai", rooms=["lab"])
        wire = await house.wire()
        refused = await wire.asked(1, "initialize", {"token": token, "room": "general"})
        barred = await everything_is_refused(wire)
    assert (refused["error"]["code"], refused["error"]["message"]) == (
        "not_permitted",
        "There is no room 'general' that you may act in. Your rooms: lab.",
    )
    assert refused["error"]["rule"] == "built-in: no such room"
    assert barred


async def test_a_token_that_is_taken_back_leaves_the_connection_without_a_voice(line):
    async with line() as house:
        token = await house.driver.token("robot", kind="ai", rooms=["lab"])
        (made,) = (await house.driver.owner("token/list")).result["items"]
        wire = await house.wire()
        before = await wire.asked(1, "initialize", {"token": token})
        await house.driver.owner("token/revoke", id=made["id"])
        after = await wire.asked(2, "call_tool", QUICK)
        again = await wire.asked(3, "initialize", {})
    assert before["type"] == "response"
    assert after["error"]["code"] == again["error"]["code"] == "not_authenticated"
    assert house.stage.seen == []


async def test_whoever_names_no_room_acts_in_the_one_that_its_token_is_good_for(line):
    async with line(room="general") as house:
        await house.driver.owner("room/create", name="annex", recipe="stage")
        one = await house.driver.token("one", kind="ai", rooms=["lab"])
        many = await house.driver.token("many", kind="ai", rooms=["lab", "annex"])
        wire = await house.wire()
        first = await wire.asked(1, "initialize", {"token": one})
        called = await wire.asked(2, "call_tool", QUICK)
        beside = await (await house.wire()).asked(3, "call_tool", QUICK, token=one)
        nowhere = await (await house.wire()).asked(4, "initialize", {"token": many})
        named = await (await house.wire()).asked(5, "initialize", {"token": many, "room": "annex"})
        rows = [row for row in await house.driver.ledger() if row["command"] == "stage/quick"]
    assert (first["result"]["client"]["room"], first["result"]["tools"] > 50) == ("lab", True)
    assert called["type"] == beside["type"] == "response"
    assert {row["room"] for row in rows} == {"lab"}
    assert nowhere["error"]["message"] == "There is no room 'general' that you may act in. Your rooms: annex, lab."
    assert named["result"]["client"]["room"] == "annex"


async def test_the_room_of_one_token_is_not_that_of_the_next(line):
    async with line() as house:
        await house.driver.owner("room/create", name="annex", recipe="stage")
        tokens = [await house.driver.token(room, kind="ai", rooms=[room]) for room in ("annex", "lab")]
        wire = await house.wire()
        said = [await wire.asked(n, "initialize", {"token": token}) for n, token in enumerate(tokens)]
        listed = await wire.asked("l", "list_tools", {}, token=tokens[0])
        elsewhere = await wire.asked("e", "list_tools", {}, room="annex")
    assert [one["result"]["client"]["room"] for one in said] == ["annex", "lab"]
    assert listed["type"] == "response"
    assert elsewhere["error"]["message"] == "There is no room 'annex' that you may act in. Your rooms: lab."


@pytest.mark.parametrize("loose", [{"network": True}, {"allow_unconfined": True}])
async def test_where_programs_reach_this_door_everybody_needs_a_token(opened, loose: dict[str, bool]) -> None:
    async with opened(changes=Settings(sandbox=SandboxSettings(**loose))) as driver:
        assert not TokenlessAccess(driver.house.services).is_allowed


async def test_while_a_server_may_use_the_network_everybody_needs_a_token(line, caplog):
    """It is a process of the owner's account, and reaches this door like any other."""
    async with line(enabled=True) as house:
        services = house.driver.house.services

        async def file(**more: Any) -> None:
            entry = {"id": "time", "command": "server", "sandbox": {"network": True}, **more}
            services.servers.file.write_text(json.dumps({"servers": [entry]}))
            await services.servers.load()

        before = await house.wire()
        assert (await before.asked(1, "call_tool", QUICK))["type"] == "response"
        await file()
        during = await house.wire()
        for wire in (before, during):
            refused = (await wire.asked(2, "call_tool", QUICK))["error"]
            assert (refused["code"], "an MCP server that Doorward starts" in refused["message"]) == (
                "not_authenticated",
                True,
            )
        said = (await house.driver.owner("system/status")).result["problems"]
        assert [one for one in said if one.startswith("The line door requires a token")]
        await file(enabled=False)
        assert (await before.asked(3, "call_tool", QUICK))["type"] == "response"
        assert (await during.asked(3, "call_tool", QUICK))["error"]["message"].endswith("connect again.")
    assert "because an MCP server that Doorward starts may use the network (time)" in caplog.text
