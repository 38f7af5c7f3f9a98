"""How often: windows, loops and responses, on a clock that nobody can set (R3.3)."""

from __future__ import annotations

import re
import time

import pytest

from doorward.config.settings import LimitSettings, LineSettings, Settings
from doorward.core.clock import Clock
from doorward.core.model import Credential, Request


async def test_the_recipe_limits_commands_a_minute_and_says_when_to_retry(house, clock):
    async with house(maxCommandsPerMinute=3) as driver:
        for n in range(3):
            assert (await driver.ask("scratch/look", room="lab", params={"text": str(n)})).status == "done"
            clock.advance(1)
        refused = await driver.ask("scratch/look", room="lab", params={"text": "4"})
        clock.advance(refused.retry_after - 0.01)
        still = await driver.ask("scratch/look", room="lab", params={"text": "5"})
        clock.advance(0.02)
        after = await driver.ask("scratch/look", room="lab", params={"text": "6"})
    assert (refused.code, refused.retry_after) == ("too_fast", pytest.approx(57.0))
    assert (still.code, after.status) == ("too_fast", "done")


async def test_callers_and_rooms_have_their_own_counts(house):
    async with house(maxCommandsPerMinute=1) as driver:
        await driver.owner("room/create", name="annex", recipe="scratch")
        asked = [
            await driver.ask("scratch/look", by=by, room=room, params={"text": "x"})
            for by, room in (("a", "lab"), ("b", "lab"), ("a", "annex"), ("a", "lab"))
        ]
    assert [outcome.status for outcome in asked] == ["done", "done", "done", "refused"]


async def test_actions_a_second_are_limited(house, clock):
    async with house(maxActionsPerSecond=2) as driver:
        asked = [await driver.ask("scratch/look", room="lab", params={"text": str(n)}) for n in range(3)]
        clock.advance(1.01)
        later = await driver.ask("scratch/look", room="lab", params={"text": "later"})
    assert [outcome.status for outcome in asked] == ["done", "done", "refused"]
    assert (asked[2].code, later.status) == ("too_fast", "done")


async def test_one_answer_may_run_only_so_many_commands(house):
    async with house(maxCommandsPerResponse=2) as driver:
        asked = [
            await driver.ask("scratch/look", room="lab", params={"text": str(n)}, response="first") for n in range(3)
        ]
        fresh = await driver.ask("scratch/look", room="lab", params={"text": "n"}, response="second")
    assert [outcome.status for outcome in asked] == ["done", "done", "refused"]
    assert fresh.status == "done"


async def test_the_third_identical_call_is_a_loop_and_gets_the_earlier_answer(house, scratch, clock):
    async with house() as driver:
        asked = [await driver.ask("scratch/look", room="lab", params={"text": "same"}) for _ in range(3)]
        other = await driver.ask("scratch/look", room="lab", params={"text": "other"})
        somebody = await driver.ask("scratch/look", by="else", room="lab", params={"text": "same"})
        clock.advance(61)
        later = await driver.ask("scratch/look", room="lab", params={"text": "same"})
    assert [outcome.code for outcome in asked] == ["ok", "ok", "looping"]
    assert asked[2].message.startswith("scratch/look was not run again: the same call ran 2 times within 60 s")
    assert re.search(
        rf'The last answer \(from 20\S+Z, execution {asked[1].call}\) was: .*"text": "same"',
        asked[2].message,
        re.DOTALL,
    )
    assert [other.status, somebody.status, later.status] == ["done", "done", "done"]
    assert scratch.runs.count("same") == 4


async def test_a_program_may_ask_the_same_again_and_an_agent_with_its_words_may_not(house):
    async with house() as driver:
        program = Credential(owner=True, speak_as="poller", kind="service")
        agent = Credential(owner=True, speak_as="poller")
        codes = [
            (await driver.house.gate.handle(Request("scratch/look", by, "t", "lab", {"text": "same"}))).code
            for by in [program] * 5 + [agent] * 3
        ]
    assert codes == ["ok"] * 5 + ["ok", "ok", "looping"]


async def test_asking_how_things_stand_again_and_again_is_no_loop(house):
    async with house(whitelist=["scratch/look", "execution/status"]) as driver:
        ran = await driver.ask("scratch/look", room="lab", params={"text": "once"})
        asked = [await driver.ask("execution/status", room="lab", params={"execution": ran.call}) for _ in range(5)]
    assert [outcome.code for outcome in asked] == ["ok"] * 5


async def test_reading_the_same_after_a_change_is_no_loop_and_changing_the_same_is(house, clock):
    async with house() as driver:
        codes = []
        for n in range(4):
            clock.advance(1)
            codes.append((await driver.ask("scratch/look", room="lab", params={"text": "same"})).code)
            clock.advance(1)
            await driver.ask("scratch/touch", room="lab", params={"text": str(n)})
        again = [(await driver.ask("scratch/touch", room="lab", params={"text": "x"})).code for _ in range(3)]
    assert codes == ["ok"] * 4
    assert again == ["ok", "ok", "looping"]


async def test_an_agent_runs_its_tests_again_after_every_edit_and_not_without_one(house, scratch, clock):
    async def run(command, text):
        clock.advance(1)
        return (await driver.ask(command, room="lab", params={"text": text})).code

    async with house() as driver:
        edited = [await run(*one) for n in range(4) for one in (("scratch/touch", str(n)), ("scratch/fail", "tests"))]
        unedited = [await run("scratch/fail", "tests"), await run("scratch/fail", "tests")]
        unchanged = [
            await run("scratch/fail", "no edit"),
            await run("scratch/look", "x"),
            await run("scratch/fail", "tests"),
        ]
    assert edited == ["ok", "command_failed"] * 4
    assert unedited == ["command_failed", "looping"]
    assert unchanged == ["command_failed", "ok", "looping"]
    assert scratch.runs.count("tests") == 5


async def test_an_agent_runs_the_same_again_after_a_change_by_the_person_it_acts_for(house, clock):
    async def run(command, text, by="helper"):
        clock.advance(1)
        return (await driver.ask(command, by=by, room="lab", params={"text": text})).code

    async with house() as driver:
        for n in range(4):
            assert await run("scratch/touch", f"edit {n}", by="") == "ok"
            assert await run("scratch/touch", "tests") == "ok"


async def test_what_a_script_changes_itself_is_no_reason_to_run_it_again(house, clock):
    async def run(text):
        clock.advance(1)
        return (await driver.ask("shell/script", room="lab", params={"script": text})).result["exitCode"]

    async with house() as driver:
        same = [await run("echo x > a.txt; cp a.txt b.txt") for _ in range(3)]
        edited = [await run("echo y > c.txt"), await run("echo x > a.txt; cp a.txt b.txt")]
        rows = [row["code"] for row in await driver.ledger()]
    assert same[:2] == [0, 0]
    assert same[2] != 0
    assert edited == [0, 0]
    assert "looping" in rows


async def test_people_outside_rooms_are_limited_by_the_house_and_not_taken_for_loops(house, clock):
    async with house(changes=Settings(limits=LimitSettings(per_minute=5))) as driver:
        clock.advance(61)
        asked = [await driver.ask("room/list", by="", room="") for _ in range(6)]
    assert [outcome.code for outcome in asked] == ["ok"] * 5 + ["too_fast"]


async def test_a_person_who_asks_the_same_again_in_a_room_is_no_loop(house):
    async with house() as driver:
        asked = [await driver.ask("scratch/look", by="", room="lab", params={"text": "same"}) for _ in range(4)]
    assert [outcome.code for outcome in asked] == ["ok"] * 4


async def test_a_built_in_word_of_the_shell_counts_as_what_it_does_and_not_beside_it(house):
    """The script, the listing that `ls` makes, and `echo`, which makes none, are three."""
    async with house(maxCommandsPerMinute=9) as driver:
        asked = [
            await driver.ask("shell/script", by="", room="lab", params={"script": "ls; echo done"}) for _ in range(4)
        ]
    assert [outcome.code for outcome in asked] == ["ok", "ok", "ok", "too_fast"]


async def test_words_inside_a_line_are_limited_like_any_others(house):
    async with house(maxCommandsPerMinute=20) as driver:
        many = {"script": "seq 50 | xargs -n 1 echo"}
        outcome = await driver.ask("shell/script", by="", room="lab", params=many)
        ran = [row for row in await driver.ledger() if row["command"] == "sh/echo" and row["status"] == "done"]
    assert outcome.result["exitCode"] != 0
    assert len(ran) <= 20


async def test_limits_hold_over_a_restart_of_the_process(house, opened, scratch, clock):
    async with house(maxCommandsPerMinute=2) as driver:
        for n in range(2):
            await driver.ask("scratch/look", room="lab", params={"text": str(n)})
    async with opened(families=[scratch.family]) as driver:
        refused = await driver.ask("scratch/look", room="lab", params={"text": "again"})
        clock.advance(61)
        later = await driver.ask("scratch/look", room="lab", params={"text": "later"})
    assert (refused.code, later.status) == ("too_fast", "done")


async def test_clients_of_the_line_door_have_counts_of_their_own(house, clock):
    """By session, whoever they speak as and whatever they call; asking after a call is not counted."""
    changes = Settings(line=LineSettings(calls=2, calls_seconds=10.0))

    async def ask(driver, session, command="scratch/look", door="line"):
        voice = Credential(owner=True, speak_as="line", kind="service")
        params = {"execution": "x"} if command.startswith("execution/") else {"text": "same"}
        asked = Request(command=command, credential=voice, door=door, room="lab", params=params, session=session)
        return (await driver.house.gate.handle(asked)).code

    async with house(changes=changes) as driver:
        first = [await ask(driver, "line:a"), await ask(driver, "line:a", "scratch/touch"), await ask(driver, "line:a")]
        others = [await ask(driver, "line:b"), await ask(driver, "line:a", door="rest")]
        about = await ask(driver, "line:a", "execution/status")
        clock.advance(10.01)
        later = await ask(driver, "line:a")
    assert first == ["ok", "ok", "too_fast"]
    assert (others, about, later) == (["ok", "ok"], "not_found", "ok")


def test_setting_the_wall_clock_moves_neither_limits_nor_deadlines(monkeypatch):
    clock = Clock()
    before = clock.now()
    monkeypatch.setattr(time, "time", lambda: 4_000_000_000.0)
    monkeypatch.setattr(time, "time_ns", lambda: 4_000_000_000_000_000_000)
    assert 0 <= clock.now() - before < 5


async def test_what_is_remembered_is_bounded(house, monkeypatch):
    monkeypatch.setattr("doorward.gate.throttle._MOST_KEPT", 50)
    async with house() as driver:
        for n in range(120):
            await driver.ask("scratch/look", by=f"a{n}", room="lab", params={"text": str(n)}, response=str(n))
        throttle = driver.house.throttle
        assert max(len(throttle._windows), len(throttle._responses), len(throttle._repeats)) <= 50
