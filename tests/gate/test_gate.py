"""The straight line: what a request meets, in order, and what it leaves behind."""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import typing
from pathlib import Path

import pytest

import doorward
from doorward.config.settings import LimitSettings, Settings
from doorward.core.errors import LedgerUnavailable, concrete_errors
from doorward.core.model import Admitted, Credential, Permit, Request
from doorward.gate import executor, permit, runner
from doorward.gate import gate as gate_module


async def test_a_read_leaves_one_record_and_a_change_leaves_two(house, scratch):
    async with house() as driver:
        before = len(await driver.ledger())
        await driver.ask("scratch/look", room="lab", params={"text": "a"})
        read = (await driver.ledger())[before:]
        await driver.ask("scratch/touch", room="lab", params={"text": "b"})
        change = (await driver.ledger())[before + 1 :]
    assert [(row["phase"], row["status"]) for row in read] == [("whole", "done")]
    assert [(row["phase"], row["status"]) for row in change] == [("start", "started"), ("end", "done")]
    assert change[0]["call"] == change[1]["call"]


async def test_a_record_says_who_asked_what_where_and_which_rule_decided(house):
    async with house() as driver:
        await driver.ask("scratch/look", room="lab", params={"text": "a"})
        row = (await driver.ledger())[-1]
    assert (row["tenant"], row["caller"], row["kind"], row["behalf"]) == ("local", "helper", "ai", "owner")
    assert (row["door"], row["room"], row["command"], row["tier"]) == ("test", "lab", "scratch/look", "information")
    assert json.loads(row["params"]) == {"text": "a"}
    assert row["rule"] == 'recipe scratch: whitelist "*"'
    assert len(row["digest"]) == 64


@pytest.mark.parametrize(
    ("credential", "code"),
    [
        (Credential(), "not_authenticated"),
        (Credential(token="garbage"), "not_authenticated"),
        (Credential(token="a.b.c"), "not_authenticated"),
        (Credential(owner=True, speak_as="owner"), "bad_params"),
        (Credential(owner=True, speak_as="No Such Name"), "bad_params"),
        (Credential(owner=True, token="garbage"), "not_authenticated"),
    ],
)
async def test_nobody_gets_in_without_a_valid_credential_and_the_attempt_is_recorded(house, scratch, credential, code):
    async with house() as driver:
        outcome = await driver.house.gate.handle(
            Request(command="scratch/touch", credential=credential, door="test", room="lab", params={"text": "x"})
        )
        row = (await driver.ledger())[-1]
    assert (outcome.status, outcome.code, scratch.runs) == ("refused", code, [])
    assert (row["caller"], row["status"], row["code"]) == ("anonymous", "refused", code)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"text": 1},
        {"text": "x", "approved": True},
        {"text": "x", "isApproved": "yes"},
        {"text": "x", "dangerouslyDisableSandbox": True},
        {"text": "x", "Text": "y"},
        {"text": "x", "executorType": "human"},
    ],
)
async def test_parameters_that_do_not_fit_are_refused_before_anything_runs(house, scratch, params):
    async with house() as driver:
        outcome = await driver.ask("scratch/touch", room="lab", params=params)
    assert (outcome.status, outcome.code, scratch.runs) == ("refused", "bad_params", [])
    assert "scratch/touch" in outcome.message


async def test_an_unknown_command_names_three_near_ones_the_caller_may_use(house):
    async with house(whitelist=["scratch/look", "help/search", "data/list", "data/read"]) as driver:
        outcome = await driver.ask("scratch/lok", room="lab")
        nothing = await driver.ask("user/creat", room="lab")
    assert outcome.code == "unknown_command"
    assert "scratch/look" in outcome.message
    assert "user/create" not in nothing.message


async def test_spellings_that_models_emit_find_their_command(house):
    async with house() as driver:
        for name in ("scratch_look", "scratch__look", "scratch-look", "scratch.look", "Scratch/Look", "SCRATCH_LOOK"):
            outcome = await driver.ask(name, room="lab", params={"text": name})
            assert (outcome.status, outcome.command) == ("done", "scratch/look"), name


async def test_a_failure_and_a_defect_end_as_failed_without_details_of_the_defect(house, home):
    async with house() as driver:
        failed = await driver.ask("scratch/fail", room="lab", params={"text": "gently"})
        broken = await driver.ask("scratch/fail", room="lab", params={"text": "broken"})
        rows = (await driver.ledger())[-4:]
    assert (failed.status, failed.code, failed.text) == (
        "failed",
        "command_failed",
        "Command failed: It did not work: gently.",
    )
    assert (broken.status, broken.code, broken.effect) == ("failed", "broken", "unknown")
    assert "ZeroDivision" not in broken.message
    assert [row["status"] for row in rows] == ["started", "failed", "started", "failed"]
    log = (home.path / "logs" / "doorward.log").read_text()
    assert "ZeroDivisionError" in log
    assert "hunter2" not in log


async def test_a_command_that_takes_too_long_is_stopped_and_recorded(house, scratch):
    async with house(timeoutSeconds=0.05) as driver:
        outcome = await driver.ask("scratch/wait", room="lab", params={"text": "x"})
        row = (await driver.ledger())[-1]
    assert (outcome.status, outcome.code) == ("failed", "timed_out")
    assert (row["phase"], row["code"]) == ("end", "timed_out")


async def test_a_caller_that_hangs_up_cannot_lose_the_record(house, scratch):
    async with house() as driver:
        task = asyncio.create_task(driver.ask("scratch/wait", room="lab", params={"text": "x"}))
        await scratch.until(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        rows = await driver.ledger()
        left = await driver.house.services.store.read("SELECT * FROM open_calls")
    assert (rows[-1]["phase"], rows[-1]["code"]) == ("end", "cancelled")
    assert left == []


async def test_hanging_up_while_the_start_is_being_stored_leaves_an_end_or_nothing(house, scratch):
    async with house() as driver:
        for turns in range(12):
            task = asyncio.create_task(driver.ask("scratch/touch", room="lab", params={"text": str(turns)}))
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
        await driver.house.gate.settled()
        await driver.owner("room/list")  # whose record is stored behind whatever is on its way
        rows = [row for row in await driver.ledger() if row["command"] == "scratch/touch"]
        left = await driver.house.services.store.read("SELECT * FROM open_calls")
    starts = [row["call"] for row in rows if row["phase"] == "start"]
    ends = [row["call"] for row in rows if row["phase"] == "end"]
    assert sorted(starts) == sorted(ends)
    assert left == []


async def test_five_run_ten_wait_and_the_sixteenth_is_refused_at_once(house, scratch):
    async with house() as driver:
        tasks = [
            asyncio.create_task(driver.ask("scratch/wait", room="lab", params={"text": str(n)}, session="one"))
            for n in range(16)
        ]
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        refused = next(iter(done)).result()
        await scratch.until(5)
        running = len(scratch.runs)
        other = asyncio.create_task(driver.ask("scratch/look", room="lab", params={"text": "y"}, session="two"))
        assert (await other).status == "done"
        scratch.gate.set()
        outcomes = await asyncio.gather(*tasks)
    assert (refused.code, refused.retry, running) == ("overloaded", "later", 5)
    assert [outcome.status for outcome in outcomes].count("done") == 15


async def test_a_waiting_caller_that_hangs_up_gives_its_place_to_the_next(house, scratch):
    async with house(changes=Settings(limits=LimitSettings(running=1, queued=2))) as driver:
        first, second, third = [
            asyncio.create_task(driver.ask("scratch/wait", room="lab", params={"text": str(n)}, session="one"))
            for n in range(3)
        ]
        await scratch.until(1)
        second.cancel()
        await asyncio.wait([second])
        scratch.gate.set()
        assert [(await first).status, (await third).status] == ["done", "done"]
    assert scratch.runs == ["0", "2"]


async def test_a_long_result_is_cut_with_its_size_and_the_rest_can_be_read(house):
    async with house() as driver:
        outcome = await driver.ask("scratch/many", room="lab", params={"text": "600"})
        assert outcome.text.startswith("Found 600 items:\n1. {")
        assert outcome.truncated > 60_000
        assert f"30000 of {outcome.truncated} characters" in outcome.text
        whole, offset = "", 0
        while offset is not None:
            page = await driver.ask(
                "execution/output", room="lab", params={"execution": outcome.call, "offset": offset}
            )
            whole, offset = whole + page.result["text"], page.result["next"]
        other = await driver.ask("execution/output", by="", room="", params={"execution": outcome.call})
        await driver.owner("user/create", id="eve", access="full")
        token = await driver.token("eve-laptop", user="eve", kind="human", access="full")
        stranger = await driver.ask("execution/output", token=token, room="", params={"execution": outcome.call})
    assert len(whole) == outcome.truncated
    assert whole[:1000] == outcome.text[:1000]
    assert other.status == "done", "the person an agent acts for may read what it was told"
    assert stranger.code == "not_found"


async def test_the_cache_answers_safe_reads_only_when_asked_and_never_for_another_caller(house, scratch, clock):
    async with house() as driver:
        first = await driver.ask("scratch/look", room="lab", params={"text": "a"}, cache=True)
        again = await driver.ask("scratch/look", room="lab", params={"text": "a"}, cache=True)
        other = await driver.ask("scratch/look", by="other", room="lab", params={"text": "a"}, cache=True)
        clock.advance(61)
        later = await driver.ask("scratch/look", room="lab", params={"text": "a"}, cache=True)
        change = [await driver.ask("scratch/touch", room="lab", params={"text": "c"}, cache=True) for _ in range(2)]
        rows = await driver.ledger()
    assert [first.cached, again.cached, other.cached, later.cached] == [False, True, False, False]
    assert [outcome.cached for outcome in change] == [False, False]
    assert [row["code"] for row in rows if row["command"] == "scratch/look"] == ["ok", "cached", "ok", "ok"]


async def test_a_dry_run_decides_and_shows_but_executes_nothing(house, scratch):
    async with house(requireApproval={"scratch/touch": True}, blacklist=["scratch/fail"]) as driver:
        shown = await driver.ask("scratch/touch", room="lab", params={"text": "x"}, dry_run=True)
        denied = await driver.ask("scratch/fail", room="lab", params={"text": "x"}, dry_run=True)
        row = (await driver.ledger())[-1]
    assert (shown.status, shown.code, shown.result["decision"]) == ("done", "dry_run", "allowed")
    assert shown.result["approval"]["quorum"] == 1
    assert shown.result["cost"] == 3
    assert denied.result["decision"] == "refused"
    assert "blacklist" in denied.result["rule"]
    assert (scratch.runs, row["code"]) == ([], "dry_run")


async def test_a_dry_run_shows_no_data_that_its_caller_may_not_read(house):
    async with house(whitelist=["file/write"]) as driver:
        (driver.house.home.path / "workspace" / "secret.txt").write_text("the plan")
        shown = await driver.ask("file/write", room="lab", params={"path": "secret.txt", "content": "x"}, dry_run=True)
    assert shown.result["decision"] == "allowed"
    assert "the plan" not in shown.text
    assert "file/read" in shown.result["effect"]


async def test_explain_writes_nothing_and_agrees_with_what_happens(house):
    async with house(blacklist=["scratch/fail"]) as driver:
        before = len(await driver.ledger())
        for name in ("scratch/look", "scratch/fail", "user/create", "approval/approve"):
            request = Request(command=name, credential=Credential(owner=True, speak_as="helper"), door="t", room="lab")
            told = await driver.house.gate.explain(request)
            offered = driver.house.gate.offered(driver.house.gate.caller(request.credential), "lab")
            assert (told["decision"] == "allowed") == (name in [command.name for command in offered])
        assert len(await driver.ledger()) == before


async def test_explain_names_the_rooms_there_are_instead_of_one_that_there_is_not(house):
    async with house() as driver:
        request = Request(command="scratch/look", credential=Credential(owner=True), door="t", room="zz")
        told = await driver.house.gate.explain(request)
    assert told["reason"] == "There is no room 'zz' that you may act in. Your rooms: general, lab."


async def test_events_are_published_after_the_record_is_stored(house):
    seen = []
    async with house() as driver:
        store = driver.house.services.store
        driver.house.services.events.subscribe(lambda event: seen.append((event.name, store.head.seq)))
        before = store.head.seq
        await driver.ask("scratch/touch", room="lab", params={"text": "x"})
    assert seen == [
        ("execution:started", before + 1),
        ("ai:command-executed", before + 2),
        ("execution:ended", before + 2),
    ]


async def test_a_subscriber_that_fails_harms_nobody(house):
    def explode(event: object) -> None:
        raise ValueError("no")

    async with house() as driver:
        driver.house.services.events.subscribe(explode)
        assert (await driver.ask("scratch/look", room="lab", params={"text": "x"})).status == "done"


def test_every_refusal_and_failure_has_its_own_code():
    assert all("code" in vars(leaf) for leaf in concrete_errors())
    assert len({leaf.code for leaf in concrete_errors()}) == len(concrete_errors())


def _calls_in_order(source: str, *steps: str) -> bool:
    places = [source.index(step) for step in steps]
    return places == sorted(places)


def test_the_order_of_the_steps_is_the_order_of_the_lines():
    line, rest = inspect.getsource(gate_module.Gate._pass), inspect.getsource(runner.Runner)
    assert _calls_in_order(
        line,
        "_authenticator.caller(",
        "_resolver.call(",
        "_authorizer.authorize(",
        "_throttle.admit(",
        "_energy.reserve(",
        "Admitted(",
        "_approver.required(",
        "_approver.settle(",
        "_runner.run(",
    )
    assert _calls_in_order(
        rest,
        "permit.issue(",
        "_executor.execute(",
        "_energy.settle(",
        "await self._recorder.end(",
        "self._publisher.answered(",
    )


def test_a_permit_is_made_in_one_place_and_only_a_permit_executes():
    root = Path(doorward.__file__).parent
    makers = {
        str(file.relative_to(root))
        for file in root.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "Permit"
    }
    hints = typing.get_type_hints(executor.Executor.execute)
    assert makers == {"gate/permit.py"}
    assert hints["permit"] is Permit
    assert not hasattr(Admitted(None, None, 1.0), "effect")


async def test_neither_a_dry_run_nor_a_call_that_waits_for_approval_gets_a_permit(house, monkeypatch):
    made = []
    real = permit.Permit

    def watch(*args, **kwargs):
        made.append(args[0].command.name)
        return real(*args, **kwargs)

    monkeypatch.setattr(permit, "Permit", watch)
    async with house(requireApproval={"scratch/touch": True}) as driver:
        tried = await driver.ask("scratch/touch", room="lab", params={"text": "x"}, dry_run=True)
        parked = await driver.ask("scratch/touch", room="lab", params={"text": "x"})
        assert (tried.code, parked.status) == ("dry_run", "parked")
        assert "scratch/touch" not in made
        await driver.ask("scratch/look", room="lab", params={"text": "x"})
        assert made[-1] == "scratch/look", "the watch sees the permits that are made"


async def test_a_change_whose_start_cannot_be_stored_gets_no_permit(house, monkeypatch):
    made = []

    async def refuse(*_):
        raise LedgerUnavailable("no room")

    async with house() as driver:
        monkeypatch.setattr(driver.house.gate._runner._recorder, "start", refuse)
        monkeypatch.setattr(permit, "Permit", lambda *args, **kwargs: made.append(args))
        outcome = await driver.ask("scratch/touch", room="lab", params={"text": "x"})
    assert (outcome.code, made) == ("ledger_unavailable", [])


async def test_a_command_that_no_parameters_could_make_fit_is_not_offered(house):
    rules = {"scratch/*": {"text": {"enum": ["a"]}, "path": {"glob": "src/**"}}}
    async with house(parameterRules=rules) as driver:
        caller = driver.house.gate.caller(Credential(owner=True, speak_as="helper"))
        offered = [command.name for command in driver.house.gate.offered(caller, "lab")]
        refused = await driver.ask("scratch/look", room="lab", params={"text": "a"})
    assert "scratch/look" not in offered
    assert "room/list" in offered
    assert (refused.code, "'path'" in refused.message) == ("not_permitted", True)


async def test_a_credential_for_one_room_means_that_room_and_one_for_two_must_say_which(house):
    async with house() as driver:
        await driver.owner("room/create", name="annex", recipe="scratch")
        one = await driver.token("one", rooms=["lab"])
        two = await driver.token("two", rooms=["lab", "annex"])
        asked = [await driver.ask("scratch/look", token=token, room="", params={"text": "x"}) for token in (one, two)]
        offers = [
            driver.house.gate.offered(driver.house.gate.caller(Credential(token=token)), "") for token in (one, two)
        ]
        rows = [row for row in await driver.ledger() if row["call"] == asked[0].call]
    assert [outcome.code for outcome in asked] == ["ok", "not_permitted"]
    assert (bool(offers[0]), offers[1]) == (True, [])
    assert {row["room"] for row in rows} == {"lab"}
