"""execution/list, status and output: one's own, live and ended, in pages, and nobody else's (R6.6)."""

from __future__ import annotations

import asyncio

import pytest
from puppets import asked

from doorward.config.settings import LimitSettings, SandboxSettings, Settings
from doorward.store import executions as sql
from waiting import until


async def look(driver, command, execution, **more):
    return await driver.ask(
        f"execution/{command}",
        params={"execution": execution, **more.pop("params", {})},
        **{"by": "", "room": ""} | more,
    )


async def performed(driver, puppets, name, text="", command="puppet/change"):
    """A call that is over, and what it wrote."""
    call = asked(driver, command, name)
    puppet = await puppets.on_stage(name)
    if text:
        puppet.say(text)
    puppet.end()
    return await call


async def test_live_ones_come_first_then_those_that_ended_newest_first(theatre, puppets):
    async with theatre() as driver:
        ended = [(await performed(driver, puppets, str(n))).call for n in range(2)]
        calls = [asked(driver, "puppet/look", name) for name in ("a", "b")]
        running = [(await puppets.on_stage(name)).id for name in ("a", "b")]
        items = (await driver.owner("execution/list", limit=2)).result["items"]
        for name in ("a", "b"):
            puppets.by_name[name].end()
        await asyncio.gather(*calls)
    assert [item["execution"] for item in items] == [*reversed(running), *reversed(ended)]
    assert [item["state"] for item in items] == ["running", "running", "completed", "completed"]


async def test_what_has_just_ended_is_listed_once_while_its_record_is_written(theatre, puppets):
    async with theatre() as driver:
        call = asked(driver, "puppet/change", "one")
        puppet = await puppets.on_stage("one")
        puppet.end()
        await until(lambda: puppet.execution.state != "running")
        assert puppet.id in driver.house.services.executions
        during = (await driver.owner("execution/list")).result["items"]
        await call
    assert [item["state"] for item in during if item["execution"] == puppet.id] == ["completed"]


async def test_pages_follow_each_other_without_gap_or_repetition(theatre, puppets):
    async with theatre() as driver:
        made = [(await performed(driver, puppets, str(n))).call for n in range(7)]
        seen, after = [], 0
        while after is not None:
            page = (await driver.owner("execution/list", limit=3, after=after)).result
            seen += [item["execution"] for item in page["items"] if item["command"] == "puppet/change"]
            after = page["next"]
            await performed(driver, puppets, f"meanwhile {after}")
    assert seen == made[::-1]


async def test_a_page_that_looked_through_its_span_says_where_to_go_on(theatre, puppets, monkeypatch):
    async with theatre() as driver:
        made = (await performed(driver, puppets, "one")).call
        for _ in range(12):
            await driver.ask("room/list", by="stranger", room="lab", params={})
        monkeypatch.setattr(sql, "SPAN", 5)
        seen, after, pages = [], 0, 0
        while after is not None:
            page = (await driver.ask("execution/list", room="lab", params={"after": after})).result
            seen += [item["execution"] for item in page["items"] if item["command"] == "puppet/change"]
            after, pages = page["next"], pages + 1
    assert seen == [made]
    assert pages > 3


async def test_what_did_not_run_is_no_execution(theatre, puppets):
    async with theatre(blacklist=["puppet/look"], requireApproval={"puppet/stubborn": True}) as driver:
        refused = await asked(driver, "puppet/look", "x")
        parked = await asked(driver, "puppet/stubborn", "x")
        tried = await asked(driver, "puppet/change", "x", dry_run=True)
        listed = (await driver.ask("execution/list", room="lab", params={})).result["items"]
        shown = [await look(driver, "status", outcome.call) for outcome in (refused, parked, tried)]
    ids = {item["execution"] for item in listed}
    assert ids.isdisjoint({refused.call, parked.call, tried.call})
    assert [outcome.code for outcome in shown] == ["not_found"] * 3


async def test_output_is_read_while_it_runs_and_from_where_one_left_off(theatre, puppets):
    async with theatre() as driver:
        call = asked(driver, "puppet/look", "one")
        puppet = await puppets.on_stage("one")
        empty = (await look(driver, "output", puppet.id)).result
        puppet.say("one\n")
        puppet.say("two\n", "stderr")
        first = (await look(driver, "output", puppet.id)).result
        puppet.say("three\n")
        rest = (await look(driver, "output", puppet.id, params={"offset": first["next"]})).result
        alone = (await look(driver, "output", puppet.id, params={"stream": "stderr"})).result
        early = await look(driver, "output", puppet.id, params={"stream": "result"})
        puppet.end()
        await call
        last = (await look(driver, "output", puppet.id, params={"offset": rest["next"], "stream": "output"})).result
    assert empty == {"stream": "output", "text": "", "offset": 0, "total": 0, "next": 0, "running": True}
    assert (first["text"], first["next"], first["running"]) == ("one\ntwo\n", 8, True)
    assert (rest["text"], rest["total"], rest["next"]) == ("three\n", 14, 14)
    assert alone["text"] == "two\n"
    assert (early.code, "running" in early.message) == ("conflict", True)
    assert (last["text"], last["next"], last["running"]) == ("", None, False)


async def test_long_output_is_read_in_pages(theatre, puppets):
    async with theatre() as driver:
        text = "".join(f"line {n} ☃\n" for n in range(5_000))
        outcome = await performed(driver, puppets, "one", text)
        whole, offset = "", 0
        while offset is not None:
            page = (await look(driver, "output", outcome.call, params={"offset": offset, "length": 20_000})).result
            whole, offset = whole + page["text"], page["next"]
        beyond = (await look(driver, "output", outcome.call, params={"offset": 10**9})).result
    assert whole == text
    assert (beyond["text"], beyond["next"]) == ("", None)


async def test_no_more_is_kept_than_may_be_and_the_rest_is_counted(theatre, puppets):
    async with theatre(changes=Settings(sandbox=SandboxSettings(output_bytes=10))) as driver:
        outcome = await performed(driver, puppets, "one", "0123456789abcdef")
        kept = (await look(driver, "output", outcome.call)).result
        status = (await look(driver, "status", outcome.call)).result
    assert (kept["text"], kept["total"]) == ("0123456789", 10)
    assert (status["stdoutBytes"], status["stderrBytes"]) == (16, 0)


async def test_what_a_stopped_call_wrote_stays_readable_for_hours(theatre, puppets):
    async with theatre() as driver:
        call = asked(driver, "puppet/change", "one")
        puppet = await puppets.on_stage("one")
        puppet.say("as far as it came\n")
        puppet.execution.cancel("somebody")
        outcome = await call
        driver.house.services.executions._ended.clear()
        kept = (await look(driver, "output", outcome.call)).result
    assert outcome.hint == f"To read its output: execution/output --execution={outcome.call}"
    assert kept["stream"] == "result"
    assert kept["text"] == "Command failed: puppet/change was cancelled by somebody.\nas far as it came\n"


@pytest.mark.parametrize("live", [True, False])
async def test_another_caller_neither_sees_nor_reads_nor_stops_it(theatre, puppets, live):
    async with theatre() as driver:
        await driver.owner("user/create", id="eve", access="full")
        eve = {"token": await driver.token("eve-laptop", user="eve", kind="human", access="full"), "room": ""}
        call = asked(driver, "puppet/change", "one")
        puppet = await puppets.on_stage("one")
        puppet.say("secret")
        if not live:
            puppet.end()
            await call
        answers = [await look(driver, command, puppet.id, **eve) for command in ("status", "output", "cancel")]
        listed = (await driver.ask("execution/list", params={}, **eve)).result["items"]
        never = await look(driver, "status", "0" * 16, **eve)
        if live:
            puppet.end()
            assert (await call).status == "done"
    assert [answer.code for answer in answers] == ["not_found"] * 3
    assert puppet.id not in [item["execution"] for item in listed]
    assert answers[0].message.replace(puppet.id, "0" * 16) == never.message


@pytest.mark.parametrize("live", [True, False])
async def test_another_tenant_neither_sees_nor_reads_nor_stops_it(theatre, puppets, live):
    async with theatre() as driver:
        call = asked(driver, "puppet/change", "one")
        puppet = await puppets.on_stage("one")
        puppet.say("secret")
        if not live:
            puppet.end()
            await call
        await driver.owner("user/create", id="helper", access="root", tenant="rival")
        token = await driver.token("laptop", user="helper", tenant="rival", kind="human", access="root")
        made = await driver.ask("room/create", token=token, room="", params={"name": "lab", "recipe": "stage"})
        assert made.status == "done", "the same names, in another tenant"
        answers = [await look(driver, command, puppet.id, token=token) for command in ("status", "output", "cancel")]
        listed = (await driver.ask("execution/list", token=token, room="", params={})).result["items"]
        if live:
            puppet.end()
            assert (await call).status == "done"
    assert [answer.code for answer in answers] == ["not_found"] * 3
    assert [item["execution"] for item in listed] == [made.call]


async def test_a_token_for_one_room_sees_only_what_runs_in_that_room(theatre, puppets):
    async with theatre() as driver:
        await driver.owner("room/create", name="den", recipe="stage")
        token = await driver.token("den-only", user="owner", kind="ai", access="full", rooms=["den"])
        call = asked(driver, "puppet/change", "one")
        puppet = await puppets.on_stage("one")
        puppet.say("x")
        seen = [
            await look(driver, command, puppet.id, token=token, room="den")
            for command in ("status", "output", "cancel")
        ]
        listed = (await driver.ask("execution/list", token=token, room="den", params={})).result["items"]
        puppet.end()
        await call
    assert [answer.code for answer in seen] == ["not_found"] * 3
    assert [item["room"] for item in listed if item["room"] != "den"] == []


async def test_the_names_that_models_know_find_them(theatre, puppets):
    async with theatre(changes=Settings(limits=LimitSettings(running=2))) as driver:
        call = asked(driver, "puppet/change", "one")
        puppet = await puppets.on_stage("one")
        status = await driver.ask("get_execution_status", room="lab", params={"execution": puppet.id})
        stopped = await driver.ask("cancel_execution", room="lab", params={"execution": puppet.id})
        await call
    assert (status.command, status.result["state"]) == ("execution/status", "running")
    assert (stopped.command, stopped.result["state"]) == ("execution/cancel", "cancelled")


async def test_a_dry_run_of_cancel_says_what_it_would_stop_and_stops_nothing(theatre, puppets):
    async with theatre() as driver:
        call = asked(driver, "puppet/change", "one")
        puppet = await puppets.on_stage("one")
        shown = await look(driver, "cancel", puppet.id, dry_run=True)
        puppet.end()
        assert (await call).status == "done"
    assert shown.result["effect"] == {"wouldStop": puppet.id, "command": "puppet/change", "state": "running"}
