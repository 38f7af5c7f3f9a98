"""Tools of servers as commands: what the file says holds, and a change of it touches nothing else (R11.1, R11.2)."""

from __future__ import annotations

import asyncio
import json
from collections import Counter

import pytest
from scripted import tool, turns

from doorward.commands.servers import tool_description
from doorward.core.classification import Access, Effects, Tier
from doorward.core.errors import Unreachable
from doorward.core.model import Credential
from doorward.doors.mcp.offers import OfferCache
from upstream_house import Answering, upstairs

_AGENT = Credential(owner=True, speak_as="helper")
TIME, FILES = {"id": "time", "name": "Time"}, {"id": "files", "name": "Files"}


@pytest.fixture
async def house(opened, monkeypatch):
    servers = {
        "time": Answering(tool("now", description="Tells the time."), tool("add")),
        "files": Answering(tool("read_file"), tool("Write-File")),
    }
    async with upstairs(opened, monkeypatch, **servers) as house:
        yield house


async def test_tools_become_commands_under_two_names(house):
    await house.file(TIME, FILES)
    await house.ready()
    assert house.names() == ["mcp/time/now", "mcp/time/add", "mcp/files/read_file", "mcp/files/write-file"]
    assert house.command("files_Write-File").name == "mcp/files/write-file"
    assert house.command("time_now").wire == "time_now"
    outcome = await house.run("time_now", by="", zone="UTC")
    assert (outcome.status, outcome.command) == ("done", "mcp/time/now")
    assert house.servers["time"].calls[-1]["arguments"] == {"zone": "UTC"}


async def test_a_tool_has_the_facts_that_the_operator_says_and_none_that_its_server_claims(house):
    house.servers["time"].tools = [tool("now", annotations={"readOnlyHint": True}), tool("add")]
    terms = {"add": {"tier": "information", "cost": 1, "timeoutSeconds": 5}, "now": {}}
    await house.file({**TIME, "tier": "code", "tools": terms})
    await house.ready()
    now, add = house.command("mcp/time/now"), house.command("mcp/time/add")
    assert (now.facts.tier, now.facts.access, now.reads_only) == (Tier.CODE, Access.EDIT, False)
    assert now.facts.effects == Effects.READ | Effects.WRITE | Effects.DESTROY | Effects.OPEN_WORLD
    assert (add.facts.tier, add.facts.access, add.reads_only) == (Tier.INFORMATION, Access.READ, True)
    assert (add.facts.cost, add.facts.timeout) == (1, 7)
    assert "claims, unchecked, that it only reads" in now.description
    assert now.facts.server_wide
    assert now.asks_first
    assert add.asks_first


async def test_what_is_not_allowed_or_is_denied_does_not_exist(house):
    await house.file({**TIME, "tools": ["now"]}, {**FILES, "denyTools": ["Write*"]})
    await house.ready()
    assert house.names() == ["mcp/time/now", "mcp/files/read_file"]
    outcome = await house.run("mcp/time/add", by="")
    assert outcome.code == "unknown_command"


@pytest.mark.parametrize(
    ("entry", "more", "asks"),
    [
        ({}, {}, True),
        ({"autoApprove": True}, {}, False),
        ({"autoApprove": ["now"]}, {}, False),
        ({"autoApprove": ["n*"]}, {}, False),
        ({"autoApprove": ["add"]}, {}, True),
        ({}, {"toolApprovalRequired": False}, False),
        ({"tools": {"now": {"autoApprove": False}}}, {"toolApprovalRequired": False}, True),
        ({"tools": {"now": {"autoApprove": True}}}, {}, False),
    ],
)
async def test_approval_is_asked_for_unless_the_operator_says_otherwise(house, entry, more, asks):
    await house.file({**TIME, **entry}, **more)
    await house.ready()
    outcome = await house.run("mcp/time/now")
    assert outcome.status == ("parked" if asks else "done")
    assert len(house.servers["time"].calls) == (0 if asks else 1)
    assert (await house.run("mcp/time/now", by="")).status == "done"


async def test_an_approved_call_runs_once_and_as_it_was_shown(house):
    await house.file(TIME)
    await house.ready()
    parked = await house.run("mcp/time/add", a=1)
    shown = await house.driver.owner("approval/show", id=parked.ticket)
    assert "of the MCP server time" in shown.result["difference"]
    await house.driver.owner("approval/approve", id=parked.ticket)
    done = await house.driver.ask("", room="den", ticket=parked.ticket)
    again = await house.driver.ask("", room="den", ticket=parked.ticket)
    assert (done.status, again.code) == ("done", "not_approved")
    assert [call["arguments"] for call in house.servers["time"].calls] == [{"a": 1}]


async def test_a_recipe_rules_over_tools_as_over_any_command(house):
    await house.file({**TIME, "autoApprove": True, "tier": "information"}, {**FILES, "autoApprove": True})
    await house.ready()
    await house.room("shop", "support")
    offered = [one.name for one in house.house.gate.offered(house.house.gate.caller(_AGENT), "shop")]
    assert "mcp/files/read_file" not in offered
    assert (await house.run("mcp/files/read_file", room="shop")).code == "not_permitted"


async def test_a_change_of_the_file_touches_only_what_it_changes(house):
    await house.file(TIME, FILES)
    await house.ready()
    command = house.command("mcp/time/now")
    await house.file(TIME, {**FILES, "args": ["--more"]})
    await house.ready()
    assert [len(one.wires) for one in (house.servers["time"], house.servers["files"])] == [1, 2]
    assert house.command("mcp/time/now") is command
    assert house.servers["files"].wires[0].closed
    assert (await house.run("mcp/files/read_file", by="")).status == "done"
    assert house.servers["files"].wire.asked("tools/call")
    await house.file(TIME)
    assert house.names() == ["mcp/time/now", "mcp/time/add"]
    await house.file()
    assert house.names() == []


async def test_new_terms_hold_at_once_and_start_nothing_anew(house):
    await house.file(TIME)
    await house.ready()
    assert (await house.run("mcp/time/now")).status == "parked"
    await house.file({**TIME, "autoApprove": True, "cost": 2, "name": "Clock"})
    assert (await house.run("mcp/time/now")).status == "done"
    assert house.command("mcp/time/now").facts.cost == 2
    assert len(house.servers["time"].wires) == 1


async def test_a_disabled_server_has_no_commands(house):
    await house.file(TIME)
    await house.ready()
    await house.file({**TIME, "enabled": False})
    assert house.names() == []
    assert house.upstreams.get("time").state == "disabled"
    await house.file(TIME)
    await house.ready()
    assert (await house.run("mcp/time/now", by="")).status == "done"


async def test_tools_are_offered_again_before_their_server_is_back(house, opened):
    """A restart changes no list, and a call starts the server that it needs, and no other."""
    await house.file(TIME, FILES)
    await house.ready()
    await house.upstreams.stop()
    async with opened() as driver:
        house.driver = driver
        assert house.names() == ["mcp/time/now", "mcp/time/add", "mcp/files/read_file", "mcp/files/write-file"]
        assert {one.state for one in house.upstreams} == {"stopped"}
        assert (await house.run("mcp/time/now", by="")).status == "done"
        assert [one.state for one in house.upstreams] == ["ready", "stopped"]


async def test_a_server_that_is_away_costs_its_caller_an_error_and_nobody_else_anything(house):
    await house.file(TIME, FILES)
    await house.ready()
    house.servers["time"].refuses = Unreachable("The server time is on strike.")
    house.servers["time"].wire.receiver.lost(Unreachable("It went away."))
    outcome = await house.run("mcp/time/now", by="")
    assert (outcome.status, outcome.code, outcome.retry) == ("failed", "unreachable", "later")
    assert "on strike" in outcome.message or "went away" in outcome.message
    assert (await house.run("mcp/files/read_file", by="")).status == "done"
    assert "mcp/time/now" in house.names()


async def test_a_server_that_never_gets_ready_costs_its_caller_no_more_than_a_call_may_take(house, opened):
    await house.file({**TIME, "timeoutSeconds": 1})
    await house.ready()
    await house.upstreams.stop()
    house.servers["time"].mute = {"initialize", "server/discover"}
    async with opened() as driver:
        house.driver = driver
        outcome = await house.run("mcp/time/now", by="")
        assert (outcome.status, outcome.code) == ("failed", "timed_out")
        assert "time did not become ready within 1 seconds" in outcome.message


async def test_other_tools_are_offered_when_their_server_says_so(house):
    await house.file(TIME)
    await house.ready()
    await house.lists("time", tool("now", description="Tells the time."), tool("later"))
    assert house.names() == ["mcp/time/now", "mcp/time/later"]
    assert (await house.run("mcp/time/add", by="")).code == "unknown_command"


async def test_what_is_offered_to_clients_is_worked_out_anew(house):
    offers = OfferCache(house.house.services)
    agent = house.house.gate.caller(_AGENT)
    await house.file(TIME)
    await house.ready()
    before = offers.get(agent, "den")
    assert before.has("mcp/time/add")
    assert offers.get(agent, "den") is before
    await house.lists("time", tool("now", description="Tells the time."))
    assert not offers.get(agent, "den").has("mcp/time/add")
    await house.lists("time", tool("now", description="Another."))
    assert not offers.get(agent, "den").has("mcp/time/now")


async def test_a_failed_tool_says_so_with_what_it_answered(house):
    await house.file(TIME)
    await house.ready()
    content = [{"type": "text", "text": "no such zone: token=hunter2-hunter2"}]
    house.servers["time"].answers["now"] = {"content": content, "isError": True}
    outcome = await house.run("mcp/time/now", by="", zone="Mars")
    assert (outcome.status, outcome.code) == ("failed", "command_failed")
    assert "no such zone" in outcome.text
    assert "hunter2" not in json.dumps(await house.driver.ledger())


async def test_names_of_commands_that_come_later_keep_their_meaning(house):
    """The catalogue goes before tools, whoever was there first."""
    await house.file({"id": "shell", "name": "shell"})
    house.servers["shell"] = Answering(tool("word_count"))
    await house.ready()
    assert house.command("shell_word_count").name == "mcp/shell/word_count"
    catalogue = house.house.services.catalogue
    entries = json.loads(catalogue.file.read_text())
    entries["commands"].append({"name": "word_count", "summary": "Count words.", "program": "wc", "effects": ["read"]})
    catalogue.file.write_text(json.dumps(entries))
    await catalogue.load()
    assert catalogue.problem == ""
    assert house.command("shell_word_count").name == "shell/word_count"
    assert house.command("mcp/shell/word_count").wire != "shell_word_count"
    entries["commands"].pop()
    catalogue.file.write_text(json.dumps(entries))
    await catalogue.load()
    assert house.command("shell_word_count").name == "mcp/shell/word_count"


async def test_names_that_models_were_taught_keep_their_meaning(house):
    house.servers["read"] = Answering(tool("file"))
    await house.file({"id": "read", "name": "read"})
    await house.ready()
    assert house.command("read_file").name == "file/read"
    assert house.command("mcp/read/file").wire.startswith("read_file_")


async def test_tools_that_a_door_has_of_its_own_keep_their_names(house):
    doors = {"run": "command", "resume": "approved", "search": "commands", "describe": "command"}
    house.servers |= {id: Answering(tool(name)) for id, name in doors.items()}
    await house.file(*({"id": id, "name": id} for id in doors))
    await house.ready()
    for id, name in doors.items():
        assert house.command(f"mcp/{id}/{name}").wire.startswith(f"{id}_{name}_")


async def test_a_list_is_kept_by_nobody_while_a_server_is_still_to_say_what_it_has(house):
    offers = OfferCache(house.house.services)
    assert offers.cache_ms > 0
    await house.file(TIME)
    assert offers.cache_ms == 0
    await house.ready()
    assert offers.cache_ms > 0


async def test_a_server_that_is_changed_twice_starts_after_the_first_of_its_processes_has_ended(house):
    """The second was never started, so that its own end says nothing about the folder that they share."""
    await house.file(TIME)
    await house.ready()
    server = house.servers["time"]
    ended, close = asyncio.Event(), server.wire.close

    async def slowly():
        await ended.wait()
        await close()

    server.wire.close = slowly
    for args in (["b"], ["c"]):
        await house.file({**TIME, "args": args})
        await turns(20)
    assert len(server.wires) == 1
    ended.set()
    await house.ready()
    assert len(server.wires) == 2


async def test_whoever_ends_a_server_that_is_being_ended_waits_for_the_same_end(house):
    await house.file(TIME)
    await house.ready()
    server, wire = house.upstreams.get("time").server, house.servers["time"].wire
    ended, close = asyncio.Event(), wire.close

    async def slowly():
        await ended.wait()
        await close()

    wire.close = slowly
    ends = [asyncio.ensure_future(server.stop()) for _ in range(2)]
    await turns(20)
    assert [one.done() for one in ends] == [False, False]
    ended.set()
    await asyncio.wait(ends)
    assert (server.state, wire.closed) == ("stopped", 1)


async def test_a_long_list_of_tools_is_taken_a_few_at_a_time(house, monkeypatch):
    """Everybody else has a turn in between."""
    await house.file(TIME)
    await house.ready()
    turn, made, describe = 0, Counter(), tool_description.describe_tool

    def described(offer, conditions):
        made[turn] += 1
        return describe(offer, conditions)

    async def turning():
        nonlocal turn
        while True:
            turn += 1
            await asyncio.sleep(0)

    monkeypatch.setattr(tool_description, "describe_tool", described)
    watching = asyncio.ensure_future(turning())
    try:
        await house.lists("time", *(tool(f"tool-{number}") for number in range(100)))
    finally:
        watching.cancel()
    assert len(house.names()) == made.total() == 100
    assert max(made.values()) <= 20


async def test_approvals_of_reading_are_bound_to_what_runs_as_well(house):
    server = house.servers["time"]
    server.capabilities, reply = {"tools": {}, "resources": {}}, server._reply

    def more(wire, asked):
        lists = {"resources/list": "resources", "resources/templates/list": "resourceTemplates"}
        if asked.get("method") in lists:
            wire.answer(asked, {lists[asked["method"]]: [{"uri": "note:///1", "uriTemplate": "n:{x}", "name": "one"}]})
        else:
            reply(wire, asked)

    server._reply = more
    versions = []
    for entry in ({}, {"cost": 7}, {"args": ["other"]}):
        await house.file({**TIME, **entry})
        await house.ready()
        versions.append(house.command("mcp/time/resources.read").version)
    assert versions[0] == versions[1] != versions[2]


async def test_a_tool_of_a_server_that_is_not_there_yet_is_not_called_unknown_at_any_moment(house):
    await house.file(TIME)
    before = await house.run("mcp/time/now", by="")
    house.upstreams.start()
    await asyncio.gather(*(one.start_and_wait() for one in house.upstreams))
    between = await house.run("mcp/time/now", by="")
    for early in (before, between):
        assert (early.code, early.message) == (
            "unknown_command",
            "The command 'mcp/time/now' is not available now. The server time is still starting.",
        )
        assert early.retry_after
    await house.upstreams.discover_for("mcp/time/now")
    assert (await house.run("mcp/time/now", by="")).status == "done"
