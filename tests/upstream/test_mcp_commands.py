"""mcp/*: seeing, calling, testing and restarting servers; and what of them is on record (R11.3, R11.4, R7.4)."""

from __future__ import annotations

import asyncio

import pytest
from scripted import Scripted, tool

from doorward.core.errors import Unreachable
from doorward.core.model import Credential
from doorward.upstream.config import ServerConfig
from doorward.upstream.server import ServerClient
from doorward.upstream.upstream import check_connection
from upstream_house import Answering, upstairs
from waiting import PATIENCE

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
    assert any(problem.startswith("server files: It is on strike.") for problem in status["problems"])
    assert [(one["id"], one["state"]) for one in status["servers"]] == [("time", "ready"), ("files", "waiting")]


async def test_tools_are_listed_with_their_terms_and_warnings(house):
    items = (await house.run("mcp/tools", by="", room="")).result["items"]
    assert [(one["command"], one["wire"], one["approval"]) for one in items] == [
        ("mcp/time/now", "time_now", False),
        ("mcp/time/add", "time_add", True),
        ("mcp/files/read_file", "files_read_file", True),
    ]
    assert "imitates instructions" in items[2]["warnings"][0]
    found = await house.run("mcp/tools", by="", room="", search="reads FILE")
    assert [one["tool"] for one in found.result["items"]] == ["read_file"]
    none = await house.run("mcp/tools", by="", room="", server="nobody")
    assert (none.status, none.code) == ("failed", "not_found")
    assert none.message == "There is no server 'nobody'; known servers: time, files."


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
    assert (waits.status, waits.code, waits.command) == ("parked", "approval_needed", "mcp/time/add")
    assert waits.rule == "built-in: mcp/time/add needs approval", "no recipe says so"
    assert house.servers["time"].calls == []
    await house.driver.owner("approval/approve", id=waits.ticket)
    again = await house.driver.ask("mcp/call", room="den", ticket=waits.ticket)
    assert (again.command, again.status) == ("mcp/time/add", "done")
    assert [call["arguments"] for call in house.servers["time"].calls] == [{"a": 1}]


async def test_a_call_by_the_tools_own_name_skips_no_rule(house):
    await house.shop("mcp/call", "mcp/time/now")
    assert (await house.run("mcp/call", room="shop", server="time", tool="now")).status == "done"
    barred = await house.run("mcp/call", room="shop", server="files", tool="read_file")
    assert (barred.status, barred.code, house.servers["files"].calls) == ("refused", "not_permitted", [])
    person = await house.run("mcp/call", by="", room="shop", server="files", tool="read_file")
    assert (person.status, house.servers["files"].calls) == ("refused", [])


@pytest.mark.parametrize(
    ("server", "name", "says"), [("nobody", "now", "no server"), ("time", "nope", "Tools: now, add")]
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


async def test_a_disabled_server_can_be_tested_and_not_restarted(house):
    await house.file({**TIME, "enabled": False}, {"id": "files", "env": {"A": "${DOORWARD_NOT_SET}"}, "enabled": False})
    tested = (await house.driver.owner("mcp/test", server="time")).result
    assert (tested["ok"], tested["enabled"], tested["tools"]) == (True, False, ["now", "add"])
    lacking = (await house.driver.owner("mcp/test", server="files")).result
    assert (lacking["ok"], "DOORWARD_NOT_SET, which is not set" in lacking["problem"]) == (False, True)
    refused = await house.run("mcp/restart", by="", room="", server="time")
    assert (refused.status, refused.message) == ("failed", "The server time is disabled. Nothing was started.")
    assert "doorward servers enable time" in refused.hint
    assert (await house.driver.owner("mcp/logs", server="time")).result == {"items": [], "state": "disabled"}


async def test_a_test_of_a_server_that_never_answers_and_is_slow_to_end_says_what_is_wrong(clock):
    class Slow(Scripted):
        async def connect(self, config, receiver):
            wire = await super().connect(config, receiver)
            wire.close = asyncio.Event().wait
            return wire

    slow = Slow()
    slow.mute = {"initialize", "server/discover"}
    config = ServerConfig(id="slow", name="Slow", command="x", start_seconds=0.01)
    tested = await check_connection(
        config, lambda config, on_change: ServerClient(config, slow.connect, clock, on_change)
    )
    assert (tested.ok, tested.problem.partition(". ")[0]) == (
        False,
        "The server slow did not start within 0.01 seconds",
    )


async def test_names_in_an_entry_that_fit_no_tool_are_remarked(house):
    terms = {"tools": ["now", "ad*", "resources.read"], "denyTools": ["rm"], "autoApprove": ["nwo", "now"]}
    await house.file({**TIME, **terms}, FILES)
    time, files = (await house.run("mcp/servers")).result["items"]
    assert time["remarks"] == [
        "denyTools names rm, but the server has no such tool.",
        "autoApprove names nwo, but the server has no such tool.",
    ]
    assert files["remarks"] == []
    listed = await house.run("mcp/tools", by="", room="", server="time")
    assert listed.result["problems"] == [f"server time: {remark}" for remark in time["remarks"]]


async def test_a_server_that_is_away_says_when_it_is_tried_again(house):
    house.servers["files"].refuses = Unreachable("The server files is on strike.")
    await house.upstreams.restart("files")
    time, files = (await house.run("mcp/servers")).result["items"]
    assert time["retrySeconds"] is None
    assert 0 <= files["retrySeconds"] <= 0.5


@pytest.mark.parametrize("command", ["mcp/approve", "mcp/restart"])
async def test_only_people_who_might_change_servers_do_this(house, command):
    agent = await house.run(command, server="time")
    assert agent.rule == "built-in: only people"
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
    assert (called[0]["conversation_id"], called[0]["energy_consumed"]) == (called[0]["room"], 0.0)
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
    await house.upstreams.get("files").start_and_wait()
    await house.house.services.upstreams._pins.flush()
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


async def test_for_another_tenant_tools_of_servers_do_not_exist_by_any_way_of_asking(house):
    await house.driver.owner("user/create", id="boss", access="root", tenant="rival")
    token = await house.driver.token("laptop", user="boss", tenant="rival", kind="human", access="root")

    async def told(command, /, **params):
        outcome = await house.driver.ask(command, token=token, room="", params=params)
        return outcome.status, outcome.code, outcome.message.replace("then", "now").partition(". ")[0], outcome.hint

    for way in (lambda name: told(name, x=1), lambda name: told("help/describe", command=name)):
        for there, nowhere in (("mcp/time/now", "mcp/time/then"), ("time_now", "time_then")):
            assert await way(there) == await way(nowhere)
            assert (await way(there))[1] == "unknown_command"
    theirs = await house.driver.ask("system/status", token=token, room="", params={})
    ours = await house.driver.owner("system/status")
    assert theirs.result["commands"] == ours.result["commands"] - 3


@pytest.mark.parametrize("name", ["mcp/files/read_file", "files_read_file"])
async def test_a_tool_of_a_server_that_is_disabled_starting_or_down_is_missing_for_that_reason(house, name):
    house.servers |= {"slow": Answering(tool("wait")), "gone": Answering(tool("leave"))}
    house.servers["slow"].mute = {"tools/list"}
    house.servers["gone"].refuses = Unreachable("Nobody is at home.")
    await house.file(TIME, {**FILES, "enabled": False}, {"id": "slow"}, {"id": "gone"})
    disabled = await house.run(name, by="")
    assert disabled.code == "unknown_command"
    assert disabled.message == f"The command {name!r} is not available now. The server files is disabled."
    assert disabled.hint == "Enable it: doorward servers enable files"
    await house.upstreams.get("gone").start_and_wait()
    starting = await house.run("mcp/slow/wait", by="")
    assert "The server slow is still starting." in starting.message
    assert (starting.retry, starting.retry_after) == ("later", 2.0)
    down = await house.run("gone_leave", by="")
    assert "Server gone: Nobody is at home. The next attempt is in 1 second." in down.message
    await house.shop("mcp/time/*")
    for hidden in (name, "mcp/slow/wait", "gone_leave"):
        assert " now. " not in (await house.run(hidden, room="shop")).message
    called = await house.run("mcp/call", by="", server="files", tool="read_file")
    assert "The server files is disabled." in called.message


class Asking(Answering):
    """Asks a question once two calls are under way, and answers both with what it was told, as a failure."""

    def _reply(self, wire, asked):
        if asked.get("method") == "tools/call":
            self.calls.append(asked)
            if len(self.calls) == 2:
                form = {"type": "object", "properties": {}}
                params = {"message": "Go on?", "requestedSchema": form}
                wire.say({"id": "q", "method": "elicitation/create", "params": params})
        elif asked.get("id") == "q":
            told = [{"type": "text", "text": asked["result"]["action"]}]
            for call in self.calls:
                wire.answer(call, {"content": told, "isError": True})
        else:
            super()._reply(wire, asked)


async def test_a_question_among_calls_of_one_person_is_theirs_and_among_those_of_several_nobodys(house):
    house.servers["asks"] = Asking(tool("go"))
    await house.file({"id": "asks", "autoApprove": True})
    await house.ready()
    agent = asyncio.ensure_future(house.run("mcp/asks/go"))
    owner = asyncio.ensure_future(house.run("mcp/asks/go", by=""))
    async with asyncio.timeout(PATIENCE):
        while not (waiting := house.house.services.questions.list_open("local")):  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0)
    await house.driver.owner("mcp/answer", question=waiting[0].id, action="decline")
    for outcome in (await agent, await owner):
        assert (outcome.result.content[0]["text"], outcome.hint) == ("decline", "")
    house.servers["asks"].calls.clear()
    await house.driver.owner("user/create", id="bob", access="root")
    bobs = await house.driver.token("laptop", user="bob", kind="human", access="root")
    bob = asyncio.ensure_future(house.driver.ask("mcp/asks/go", token=bobs, room="", params={}))
    agent = asyncio.ensure_future(house.run("mcp/asks/go"))
    for outcome in (await agent, await bob):
        assert outcome.result.content[0]["text"] == "cancel"
        assert "calls of several people are running" in outcome.hint
