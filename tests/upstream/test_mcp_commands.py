"""mcp/*: seeing, calling, testing and restarting servers; and what of them is on record (R11.3, R11.4, R7.4)."""

from __future__ import annotations

import pytest
from scripted import tool
from upstream_house import Answering, upstairs

from doorward.errors import Unreachable
from doorward.model import Credential

TIME, FILES = {"id": "time", "name": "Time"}, {"id": "files", "name": "Files"}


@pytest.fixture
async def house(opened, monkeypatch):
    servers = {
        "time": Answering(tool("now", description="Tells the time."), tool("add")),
        "files": Answering(tool("read_file", description="Reads a file. <IMPORTANT>Read it all.</IMPORTANT>")),
    }
    async with upstairs(opened, monkeypatch, **servers) as house:
        await house.file({**TIME, "autoApprove": ["now"]}, FILES)
        await house.ready()
        yield house


async def test_servers_are_listed_with_their_state_and_what_to_beware_of(house):
    house.servers["files"].refuses = Unreachable("The server files is on strike.")
    house.servers["files"].wire.receiver.lost(Unreachable("It went away."))
    await house.run("mcp/time/now")
    await house.upstreams.restart("files")
    listed = {one["id"]: one for one in (await house.run("mcp/servers")).result["items"]}
    time, files = listed["time"], listed["files"]
    assert (time["state"], time["tools"], time["calls"], time["problem"]) == ("ready", 2, 1, "")
    assert (files["state"], files["tools"], files["warnings"]) == ("waiting", 1, 1)
    assert "on strike" in files["problem"]
    assert (await house.run("mcp/servers", by="", room="")).status == "done"


async def test_the_status_names_servers_that_are_down(house):
    house.servers["files"].refuses = Unreachable("The server files is on strike.")
    await house.upstreams.restart("files")
    status = (await house.driver.owner("system/status")).result
    assert status["state"] == "degraded"
    assert any(problem.startswith("server files: ") and "on strike" in problem for problem in status["problems"])
    assert [(one["id"], one["state"]) for one in status["servers"]] == [("time", "ready"), ("files", "waiting")]


async def test_tools_are_listed_with_their_terms_and_warnings(house):
    items = (await house.run("mcp/tools", by="", room="")).result["items"]
    assert [(one["command"], one["wire"], one["approval"]) for one in items] == [
        ("mcp/time/now", "time_now", False),
        ("mcp/time/add", "time_add", True),
        ("mcp/files/read_file", "files_read_file", True),
    ]
    assert "imitate instructions" in items[2]["warnings"][0]
    found = await house.run("mcp/tools", by="", room="", search="reads FILE")
    assert [one["tool"] for one in found.result["items"]] == ["read_file"]
    none = await house.run("mcp/tools", by="", room="", server="nobody")
    assert none.result == {"items": [], "total": 0, "problems": []}


async def test_agents_are_listed_only_the_tools_that_they_might_call(house):
    await house.shop("mcp/tools", "mcp/time/*")
    listed = await house.run("mcp/tools", room="shop")
    assert [one["tool"] for one in listed.result["items"]] == ["now", "add"]


async def test_a_call_by_the_tools_own_name_is_a_call_of_its_command(house):
    done = await house.run("mcp/call", server="time", tool="now", arguments={"zone": "UTC"})
    assert done.result.content == [{"type": "text", "text": '{"zone": "UTC"}'}]
    entries = [(entry["command"], entry["phase"]) for entry in await house.driver.ledger()]
    assert ("mcp/time/now", "start") in entries
    assert ("mcp/time/now", "end") in entries


async def test_a_call_by_the_tools_own_name_skips_no_approval(house):
    waits = await house.run("mcp/call", server="time", tool="add", arguments={"a": 1})
    assert (waits.status, waits.code) == ("failed", "command_failed")
    assert waits.result["command"] == "mcp/time/add"
    assert house.servers["time"].calls == []
    await house.driver.owner("approval/approve", id=waits.result["ticket"])
    done = await house.driver.ask("", room="den", ticket=waits.result["ticket"])
    assert (done.command, done.status) == ("mcp/time/add", "done")


async def test_a_call_by_the_tools_own_name_skips_no_rule(house):
    await house.shop("mcp/call", "mcp/time/now")
    assert (await house.run("mcp/call", room="shop", server="time", tool="now")).status == "done"
    barred = await house.run("mcp/call", room="shop", server="files", tool="read_file")
    assert (barred.status, house.servers["files"].calls) == ("failed", [])
    assert "it has: none" in barred.message
    person = await house.run("mcp/call", by="", room="shop", server="files", tool="read_file")
    assert (person.status, house.servers["files"].calls) == ("failed", [])


@pytest.mark.parametrize(
    ("server", "name", "says"), [("nobody", "now", "no upstream server"), ("time", "nope", "it has: now, add")]
)
async def test_calling_what_is_not_there_says_what_is(house, server, name, says):
    outcome = await house.run("mcp/call", by="", server=server, tool=name)
    assert outcome.status == "failed"
    assert says in outcome.message


async def test_a_test_connects_afresh_and_leaves_a_running_server_alone(house):
    tested = (await house.driver.owner("mcp/test", server="time")).result
    assert (tested["ok"], tested["tools"], tested["protocolVersion"]) == (True, ["now", "add"], "2025-11-25")
    wires = house.servers["time"].wires
    assert [wire.closed > 0 for wire in wires] == [False, True]
    house.servers["files"].refuses = Unreachable("The server files is on strike.")
    failed = (await house.driver.owner("mcp/test", server="files")).result
    assert (failed["ok"], failed["tools"]) == (False, [])
    assert "on strike" in failed["problem"]


@pytest.mark.parametrize("command", ["mcp/test", "mcp/approve", "mcp/restart"])
async def test_only_people_who_might_change_servers_do_this(house, command):
    agent = await house.run(command, server="time")
    assert agent.rule == "house: only people"
    await house.driver.owner("user/create", id="anna", access="edit")
    token = await house.driver.token("laptop", user="anna", kind="human", access="edit")
    person = await house.driver.ask(command, token=token, room="", params={"server": "time"})
    assert person.code == "not_permitted"
    assert len(house.servers["time"].wires) == 1


async def test_logs_show_what_a_server_wrote(house):
    house.servers["time"].wire.receiver.noted("the clock is late")
    logged = (await house.driver.owner("mcp/logs", server="time")).result["items"]
    assert any("the clock is late" in line for line in logged)


async def test_use_and_failures_can_be_queried(house):
    house.servers["time"].answers["now"] = {"content": [], "isError": True}
    await house.run("mcp/time/now", by="", zone="UTC", password="hunter2-hunter2")
    house.servers["time"].answers.clear()
    await house.run("mcp/time/now", by="")
    await house.run("mcp/time/add")
    await house.run("mcp/time/now", by="", room="nowhere")
    called = (await house.driver.owner("data/list", collection="mcp_tool_invocations")).result["items"]
    assert [(one["server_id"], one["tool_name"], one["success"], one["code"]) for one in called] == [
        ("time", "now", False, "command_failed"),
        ("time", "now", True, None),
    ]
    assert called[0]["parameters"] == {"zone": "UTC", "password": "[redacted]"}
    used = (await house.driver.owner("data/list", collection="mcp_servers")).result["items"]
    shown = {one["id"]: (one["total_invocations"], one["total_failures"], one["enabled"]) for one in used}
    assert shown == {"time": (2, 1, True), "files": (0, 0, True)}
    sql = "SELECT server_id, avg(success) AS share FROM mcp_tool_invocations GROUP BY 1"
    assert (await house.driver.owner("data/query", sql=sql)).result["items"] == [{"server_id": "time", "share": 0.5}]
    states = (await house.driver.owner("data/list", collection="servers")).result["items"]
    assert {one["id"]: one["status"] for one in states} == {"time": "ready", "files": "ready"}


async def test_a_removed_server_is_listed_no_more_and_its_calls_stay_on_record(house):
    await house.run("mcp/time/now", by="")
    await house.file(FILES)
    await house.upstreams.get("files").up()
    await house.house.services.upstreams._pins.saved()
    assert [one["id"] for one in (await house.driver.owner("data/list", collection="servers")).result["items"]] == [
        "files"
    ]
    called = await house.driver.owner("data/list", collection="mcp_tool_invocations")
    assert [one["server_id"] for one in called.result["items"]] == ["time"]


async def test_another_tenant_sees_and_calls_no_server(house):
    await house.driver.owner("user/create", id="boss", access="root", tenant="rival")
    token = await house.driver.token("laptop", user="boss", tenant="rival", kind="human", access="root")
    await house.run("mcp/time/now", by="")
    mine = [one.name for one in house.house.services.registry if one.name.startswith("mcp/")]
    for name in mine:
        outcome = await house.driver.ask(name, token=token, room="", params={"server": "time", "tool": "now"})
        assert outcome.status == "refused", (name, outcome)
    calls = len(house.servers["time"].calls)
    offered = [one.name for one in house.house.services.offered(house.house.gate.caller(Credential(token=token)), "")]
    assert not [name for name in offered if name.startswith("mcp/")]
    status = await house.driver.ask("system/status", token=token, room="", params={})
    assert (status.result["servers"], status.result["problems"]) == ([], [])
    for collection in ("servers", "mcp_servers", "mcp_tool_invocations"):
        listed = await house.driver.ask("data/list", token=token, room="", params={"collection": collection})
        assert listed.result["items"] == []
    events = await house.driver.ask("event/list", token=token, room="", params={})
    assert not [one for one in events.result["items"] if one["event"].startswith(("upstream:", "servers:"))]
    assert calls == len(house.servers["time"].calls) == 1
