"""An execution has an id, a state, progress and output from its first moment to its last (R6.6, R3.4)."""

from __future__ import annotations

import asyncio

import msgspec
import pytest
from puppets import asked

from doorward.config.settings import LimitSettings, Settings
from doorward.core.errors import CommandFailed
from doorward.gate.executions import registry as executions_module
from doorward.gate.executions.notices import OutputNotice, ProgressNotice, StartedNotice
from waiting import until


async def status(driver, execution, **more):
    return (await driver.ask("execution/status", by="", room="", params={"execution": execution}, **more)).result


async def test_a_call_is_queued_then_running_then_completed(theatre, puppets):
    async with theatre(changes=Settings(limits=LimitSettings(running=1))) as driver:
        heard = []
        first = asked(driver, "puppet/change", "first", session="one")
        puppet = await puppets.on_stage("first")
        second = asked(driver, "puppet/look", "second", heard.append, session="one")
        await until(lambda: heard)
        waiting = await status(driver, heard[0].execution)
        puppet.end()
        await first
        later = await puppets.on_stage("second")
        driver.clock.advance(2)
        running = await status(driver, later.id)
        later.end({"x": 1})
        outcome = await second
        ended = await status(driver, later.id)
    assert heard == [StartedNotice(later.id, "puppet/look", queued=True), StartedNotice(later.id, "puppet/look")]
    assert [waiting["state"], running["state"], ended["state"]] == ["queued", "running", "completed"]
    assert (waiting["seconds"], running["seconds"], ended["seconds"]) == (0.0, 2.0, 2.0)
    assert outcome.call == later.id == ended["execution"]


async def test_a_running_call_shows_its_parameters_without_secrets_and_an_ended_one_leaves_them_to_its_record(
    theatre, puppets
):
    async with theatre() as driver:
        call = asked(driver, "puppet/change", "one password=hunter2")
        puppet = await puppets.on_stage("one password=hunter2")
        running = await status(driver, puppet.id)
        puppet.end()
        await call
        ended = await status(driver, puppet.id)
    assert list(running["params"].values()) == ["one password=[redacted]"]
    assert "params" not in ended


@pytest.mark.parametrize(
    ("ending", "state", "code"),
    [
        (lambda puppet: puppet.end(), "completed", "ok"),
        (lambda puppet: puppet.fail(CommandFailed("It did not work.")), "failed", "command_failed"),
        (lambda puppet: puppet.fail(ZeroDivisionError()), "failed", "broken"),
        (lambda puppet: puppet.execution.cancel("somebody"), "cancelled", "cancelled"),
    ],
)
@pytest.mark.parametrize("command", ["puppet/look", "puppet/change"])
async def test_the_last_state_says_how_it_ended_also_when_only_the_record_is_left(
    theatre, puppets, command, ending, state, code
):
    async with theatre() as driver:
        call = asked(driver, command, "one")
        puppet = await puppets.on_stage("one")
        ending(puppet)
        await call
        found = await status(driver, puppet.id)
        assert driver.house.services.executions.get(puppet.id) is None
    assert (puppet.execution.state, found["state"], found["code"]) == (state, state, code)


async def test_what_takes_too_long_is_timed_out(theatre, puppets):
    async with theatre(timeoutSeconds=0.05) as driver:
        outcome = await asked(driver, "puppet/change", "one")
        found = await status(driver, outcome.call)
    assert (outcome.code, found["state"]) == ("timed_out", "timed_out")


async def test_whoever_watches_hears_output_and_progress_in_order_and_the_outcome_last(theatre, puppets):
    async with theatre() as driver:
        heard = []
        call = asked(driver, "puppet/change", "one", heard.append)
        puppet = await puppets.on_stage("one")
        puppet.say("hello\n")
        puppet.say("oh\n", "stderr")
        puppet.execution.progress(0.5, "half way")
        puppet.execution.write("stdout", "☃".encode()[:2])
        puppet.end()
        await call
    assert heard == [
        StartedNotice(puppet.id, "puppet/change"),
        OutputNotice("stdout", "hello\n"),
        OutputNotice("stderr", "oh\n"),
        ProgressNotice(0.5, "half way"),
        OutputNotice("stdout", "�"),
    ]


async def test_what_is_said_after_the_end_is_not_heard(theatre, puppets):
    async with theatre() as driver:
        heard = []
        call = asked(driver, "puppet/change", "one", heard.append)
        puppet = await puppets.on_stage("one")
        puppet.end()
        await call
        puppet.say("too late")
        puppet.execution.progress(0.9)
    assert heard == [StartedNotice(puppet.id, "puppet/change")]


async def test_progress_that_comes_too_fast_only_changes_what_the_next_notice_says(theatre, puppets):
    async with theatre() as driver:
        heard = []
        call = asked(driver, "puppet/change", "one", heard.append)
        puppet = await puppets.on_stage("one")
        for number in range(100):
            puppet.execution.progress(number / 100)
        between = await status(driver, puppet.id)
        driver.clock.advance(0.2)
        puppet.execution.progress(0.995)
        puppet.execution.progress(7.0, "done")
        puppet.end()
        await call
    assert between["fraction"] == 0.99
    assert heard[1:] == [ProgressNotice(0.0), ProgressNotice(0.995), ProgressNotice(1.0, "done")]


async def test_a_message_shows_no_secret(theatre, puppets):
    async with theatre() as driver:
        heard, seen = [], []
        driver.house.services.events.subscribe(seen.append)
        call = asked(driver, "puppet/change", "one", heard.append)
        puppet = await puppets.on_stage("one")
        puppet.execution.progress(0.5, "signing in with password=hunter2 now")
        found = await status(driver, puppet.id)
        puppet.end()
        await call
    assert "signing in" in found["message"]
    assert "hunter2" not in f"{found} {heard} {seen} {puppet.execution.message}"


@pytest.mark.parametrize("given", [None, float("nan")])
async def test_nobody_can_know_how_far_it_is(theatre, puppets, given):
    async with theatre() as driver:
        call = asked(driver, "puppet/change", "one")
        puppet = await puppets.on_stage("one")
        puppet.execution.progress(given, "searching")
        found = await status(driver, puppet.id)
        puppet.end()
        await call
    assert ("fraction" in found, found["message"]) == (False, "searching")


async def test_events_tell_start_progress_and_end_and_never_what_was_written(theatre, puppets):
    async with theatre() as driver:
        seen = []
        driver.house.services.events.subscribe(seen.append)
        call = asked(driver, "puppet/change", "one")
        puppet = await puppets.on_stage("one")
        puppet.say("the secret plan")
        puppet.execution.progress(0.5, "half way")
        puppet.end()
        await call
    names = [event.name for event in seen]
    assert names == ["execution:started", "execution:progress", "ai:command-executed", "execution:ended"]
    assert seen[-1].state == "completed"
    assert "secret plan" not in msgspec.json.encode(seen).decode()


async def test_a_read_has_events_of_its_own_only_once_it_shows_output_or_progress(theatre, puppets):
    async with theatre() as driver:
        seen = []
        driver.house.services.events.subscribe(lambda event: seen.append(event.name))
        call = asked(driver, "puppet/look", "quiet")
        (await puppets.on_stage("quiet")).end()
        await call
        quiet, seen[:] = list(seen), []
        call = asked(driver, "puppet/look", "loud")
        puppet = await puppets.on_stage("loud")
        puppet.say("x")
        puppet.end()
        await call
    assert quiet == ["ai:command-executed"]
    assert seen == ["execution:started", "ai:command-executed", "execution:ended"]


async def test_five_run_ten_wait_and_their_states_say_so(theatre, puppets):
    async with theatre() as driver:
        calls = [asked(driver, "puppet/change", str(n), session="one") for n in range(16)]
        done, _ = await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
        refused = next(iter(done)).result()
        for number in range(5):
            await puppets.on_stage(str(number))
        shown = (await driver.owner("execution/list", live=True)).result["items"]
        for number in range(15):
            (await puppets.on_stage(str(number))).end()
        outcomes = await asyncio.gather(*calls)
        left = (await driver.owner("execution/list", live=True)).result["items"]
    assert (refused.code, refused.retry) == ("overloaded", "later")
    assert sorted(one["state"] for one in shown) == ["queued"] * 10 + ["running"] * 5
    assert [outcome.status for outcome in outcomes].count("done") == 15
    assert left == []


async def test_ended_ones_are_kept_for_their_output_and_only_so_many(theatre, puppets, monkeypatch):
    monkeypatch.setattr(executions_module, "_MAX_ENDED", 3)
    async with theatre() as driver:
        ids = []
        for number in range(5):
            call = asked(driver, "puppet/change", str(number))
            puppet = await puppets.on_stage(str(number))
            puppet.say(f"number {number}")
            puppet.end()
            ids.append((await call).call)
        executions = driver.house.services.executions
        kept = [executions.get(id) for id in ids]
    assert [one.output.text("output") if one else None for one in kept] == [
        None,
        None,
        "number 2",
        "number 3",
        "number 4",
    ]
    assert all(one.call.params == {} for one in kept if one), "parameters can be large"


async def test_ended_ones_are_let_go_when_their_output_takes_too_much_memory(theatre, puppets, monkeypatch):
    monkeypatch.setattr(executions_module, "_MAX_BYTES", 3_000)
    async with theatre() as driver:
        ids = []
        for number in range(4):
            call = asked(driver, "puppet/change", str(number))
            puppet = await puppets.on_stage(str(number))
            puppet.say("x" * 600)
            puppet.end()
            ids.append((await call).call)
        kept = [driver.house.services.executions.get(id) is not None for id in ids]
    assert kept == [False, False, True, True]


async def test_a_house_that_closes_stops_what_still_runs_and_leaves_its_record(theatre, opened, puppets):
    async with theatre() as driver:
        call = asked(driver, "puppet/change", "one")
        puppet = await puppets.on_stage("one")
    outcome = await call
    async with opened() as driver:
        row = next(row for row in await driver.ledger() if row["call"] == puppet.id and row["phase"] == "end")
    assert outcome.message == "puppet/change was cancelled by the end of Doorward."
    assert row["code"] == "cancelled"
