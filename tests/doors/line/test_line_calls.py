"""Calls through the line door: answers, notifications, status, cancelling and approval (R8.2, R6.6)."""

from __future__ import annotations

import json

from waiting import until


async def test_a_call_is_answered_with_its_output_and_its_execution(line):
    async with line() as house:
        wire = await house.wire()
        answer = await wire.called("1", "stage_quick", {"name": "a"})
    result = answer["result"]
    assert (answer["type"], result["tool"], result["data"]) == ("response", "stage_quick", {"name": "a"})
    assert result["output"] == 'Result: {\n  "name": "a"\n}'
    assert result["execution_id"]


async def test_a_call_that_ends_at_once_brings_no_notification(line):
    async with line() as house:
        wire = await house.wire()
        for n in range(20):
            wire.call(n, "stage_quick", {"name": "a"})
        lines = [await wire.line() for _ in range(20)]
    assert [one["type"] for one in lines] == ["response"] * 20
    assert {one["id"] for one in lines} == set(range(20))


async def test_a_call_that_takes_longer_is_told_of_from_its_start_to_its_end(line):
    async with line(quiet_seconds=0.02, progress_seconds=0.02) as house:
        wire = await house.wire()
        wire.call("1", "stage_hold", {"name": "a"})
        started = await wire.line()
        heartbeat = await wire.line()
        (await house.stage.on("a")).write("stdout", b"half ")
        (await house.stage.on("a")).write("stdout", b"done\n")
        while (written := await wire.line()).get("output") is None:
            pass
        (await house.stage.on("a")).progress(0.5, "half way")
        while (progress := await wire.line()).get("fraction") is None:
            pass
        house.stage.end("a")
        while (completed := await wire.line())["event"] == "tool_progress":
            pass
        response = await wire.line()
    assert started == {
        "id": None,
        "type": "notification",
        "event": "tool_started",
        "message": "stage_hold has started.",
        "request_id": "1",
        "execution_id": response["result"]["execution_id"],
        "tool": "stage_hold",
    }
    assert (heartbeat["event"], heartbeat["request_id"]) == ("tool_progress", "1")
    assert (written["event"], written["stream"], written["output"]) == ("tool_progress", "stdout", "half done\n")
    assert (progress["event"], progress["fraction"], progress["message"]) == ("tool_progress", 0.5, "half way")
    assert (completed["event"], response["type"], response["id"]) == ("tool_completed", "response", "1")


async def test_whoever_asks_for_all_notifications_gets_them_for_quick_calls_and_whoever_wants_none_gets_none(line):
    async with line() as house:
        wire = await house.wire()
        await wire.asked(0, "initialize", {"notify": "all"})
        wire.call(1, "stage_quick", {"name": "a"})
        told = await wire.up_to(1)
        wire.call(2, "stage_fail", {"name": "b"})
        failed = await wire.up_to(2)
        wire.call(3, "stage_hold", {"name": "c"}, notify="none")
        execution = await house.stage.on("c")
        execution.write("stdout", b"not told")
        quiet = await wire.asked(4, "get_execution_status", {"execution_id": 3})
        house.stage.end("c")
        silent = await wire.line()
        odd = await wire.called(5, "stage_quick", {"name": "a"}, notify="sometimes")
    assert [one.get("event", one["type"]) for one in told] == ["tool_started", "tool_completed", "response"]
    assert [one.get("event", one["type"]) for one in failed] == ["tool_started", "tool_failed", "error"]
    assert failed[1]["code"] == "command_failed"
    assert quiet["result"]["partial_output"] == "not told"
    assert (silent["type"], silent["id"]) == ("response", 3)
    assert odd["error"]["message"] == "`notify` must be one of slow, all, none; given 'sometimes'."


async def test_output_longer_than_a_line_should_be_comes_in_pieces(line):
    async with line(quiet_seconds=0.0) as house:
        wire = await house.wire()
        wire.call("1", "stage_hold", {"name": "a"})
        (await house.stage.on("a")).write("stdout", b"x" * 20_000)
        pieces = []
        while sum(map(len, pieces)) < 20_000:
            pieces.append((await wire.line()).get("output", ""))
        house.stage.end("a")
        await wire.answer("1")
    assert max(map(len, pieces)) <= 8_192


async def test_a_second_connection_of_the_same_client_asks_after_a_call_and_stops_it(line):
    async with line() as house:
        first, second = await house.wire(), await house.wire()
        first.call("mine", "stage_hold", {"name": "a"})
        execution = await house.stage.on("a")
        execution.write("stdout", b"so far\n")
        status = await second.asked("s", "get_execution_status", {"execution_id": "mine"})
        by_name = await second.asked("n", "get_execution_status", {"execution_id": execution.id})
        as_tool = await second.called("t", "get_execution_status", {"execution_id": "mine"})
        cancelled = await second.asked("c", "cancel_execution", {"execution_id": "mine"})
        answer = await first.answer("mine")
        after = await second.asked("a", "get_execution_status", {"execution_id": "mine"})
        again = await second.asked("b", "cancel_execution", {"execution_id": "mine"})
        records = await house.records("stage/hold")
    assert status["result"]["status"] == "running"
    assert (status["result"]["tool"], status["result"]["execution_id"]) == ("stage_hold", execution.id)
    assert status["result"]["partial_output"] == "so far\n"
    assert by_name["result"]["status"] == as_tool["result"]["data"]["state"] == "running"
    assert cancelled["result"] == {
        "execution_id": execution.id,
        "tool": "stage_hold",
        "status": "cancelled",
        "success": True,
        "message": "stage_hold was cancelled.",
    }
    assert (answer["type"], answer["error"]["code"]) == ("error", "cancelled")
    assert after["result"]["status"] == "cancelled"
    assert again["error"]["code"] == "conflict"
    assert records[-1] == ("failed", "cancelled")


async def test_an_id_whose_call_still_runs_is_not_taken_for_another_one(line):
    async with line(running=3, queued=1) as house:
        token = await house.driver.token("other", kind="ai", rooms=["lab"])
        first, second = await house.wire(), await house.wire()
        first.call("mine", "stage_hold", {"name": "a"})
        await house.stage.on("a")
        same = await first.called("mine", "stage_quick", {"name": "b"})
        question = await second.asked("mine", "get_execution_status", {"execution_id": "mine"})
        elsewhere = await second.called("mine", "stage_quick", {"name": "c"})
        stranger = await second.asked("mine", "call_tool", {"tool": "stage_quick", "args": {"name": "d"}}, token=token)
        house.stage.end("a")
        answer = await first.answer("mine")
        again = await second.called("mine", "stage_quick", {"name": "e"})
    assert (same["error"]["code"], elsewhere["type"]) == ("conflict", "response")
    assert same["error"]["message"] == (
        "The id 'mine' is in use by stage_hold, which is still running. Use another id, or wait for that call."
    )
    assert question["result"]["status"] == "running"
    assert {one["type"] for one in (stranger, answer, again)} == {"response"}
    assert house.stage.seen == ["c", "d", "e"]


async def test_another_client_finds_nothing_under_that_id(line):
    async with line() as house:
        token = await house.driver.token("other", kind="ai", rooms=["lab"])
        first, second = await house.wire(), await house.wire()
        first.call("mine", "stage_hold", {"name": "a"})
        await house.stage.on("a")
        status = await second.asked("s", "get_execution_status", {"execution_id": "mine"}, token=token)
        cancelled = await second.asked("c", "cancel_execution", {"execution_id": "mine"}, token=token)
        house.stage.end("a")
        answer = await first.answer("mine")
    assert (status["error"]["code"], cancelled["error"]["code"]) == ("not_found", "not_found")
    assert answer["type"] == "response"


async def test_calls_wait_for_a_place_and_can_be_asked_after_and_cancelled_meanwhile(line):
    async with line(running=1, queued=1) as house:
        wire = await house.wire()
        for name in "abc":
            wire.call(name, "stage_hold", {"name": name})
        await house.stage.on("a")
        at_the_gate = await wire.asked(1, "get_execution_status", {"execution_id": "b"})
        in_the_line = await wire.asked(2, "get_execution_status", {"execution_id": "c"})
        gone = await wire.asked(3, "cancel_execution", {"execution_id": "c"})
        house.stage.end("a")
        first = await wire.answer("a")
        await house.stage.on("b")
        house.stage.end("b")
        rest = {one["id"]: one for one in [await wire.line(), await wire.line()]}
        records = await house.records("stage/hold")
    assert at_the_gate["result"]["status"] == in_the_line["result"]["status"] == "queued"
    assert (gone["result"]["status"], gone["result"]["success"]) == ("cancelled", True)
    assert first["type"] == rest["b"]["type"] == "response"
    assert rest["c"]["error"]["code"] == "withdrawn"
    assert len(records) == 4


async def test_many_requests_at_once_on_one_connection_are_all_answered(line):
    async with line(running=2, queued=2) as house:
        wire = await house.wire()
        for n in range(500):
            wire.call(n, "stage_quick", {"name": str(n)})
        answers = [await wire.line() for _ in range(500)]
    assert sorted(one["id"] for one in answers) == list(range(500))
    assert {one["type"] for one in answers} == {"response"}


async def test_a_call_that_takes_longer_than_the_door_gives_is_stopped(line):
    async with line(call_seconds=1.0) as house:
        wire = await house.wire()
        wire.call("1", "stage_hold", {"name": "a"})
        (await house.stage.on("a")).write("stdout", b"so far\n")
        answer = await wire.answer("1")
        records = await house.records("stage/hold")
    assert answer["error"]["code"] == "timed_out"
    assert (answer["error"]["output"], answer["error"]["exit_code"]) == ("so far", None)
    assert answer["error"]["message"] == (
        "stage/hold was cancelled after 1 s, the time limit for calls through the line door."
    )
    assert records[-1] == ("failed", "cancelled")
    assert answer["error"]["status"] == "failed"


async def test_what_needs_approval_says_so_and_runs_with_its_ticket_once_a_person_agreed(line):
    async with line(rules={"requireApproval": {"stage/fail": True, "stage/hold": True}}) as house:
        wire = await house.wire()
        parked = (await wire.called("1", "stage_fail", {"name": "a"}))["error"]
        early = await wire.asked("2", "call_tool", {"ticket": parked["ticket"]})
        await house.driver.owner("approval/approve", id=parked["ticket"])
        resumed = await wire.asked("3", "call_tool", {"ticket": parked["ticket"]})
        again = await wire.asked("4", "call_tool", {"ticket": parked["ticket"]})
    assert (parked["code"], parked["status"], parked["retry"]) == ("approval_needed", "parked", "later")
    assert parked["message"] == "stage/fail is waiting for approval."
    assert f'When it is approved, send call_tool with {{"ticket":"{parked["ticket"]}"}}' in parked["hint"]
    assert f"`doorward approvals approve {parked['ticket']}`" in parked["hint"]
    assert early["error"]["code"] == "not_approved"
    assert (resumed["error"]["code"], resumed["error"]["tool"]) == ("command_failed", "stage_fail")
    assert again["error"]["code"] == "not_approved"


async def test_summaries_hold_at_most_500_characters_where_they_are_asked_for(line):
    async with line() as house:
        wire = await house.wire()
        whole = (await wire.called(1, "stage_large", {"how_many": 50}))["result"]
        short = (await wire.called(2, "stage_large", {"how_many": 50}, summary=True))["result"]
    async with line(summaries=True, again=True) as house:
        always = (await (await house.wire()).called(1, "stage_large", {"how_many": 50}))["result"]
    assert len(whole["output"]) > 4_500
    assert len(whole["data"]["items"]) == 50
    assert len(short["output"]) <= 500
    assert "characters left out" in short["output"]
    assert "data" not in short
    assert len(always["output"]) <= 500


async def test_a_result_that_is_cut_says_how_long_it_is_and_how_to_read_on(line):
    async with line() as house:
        wire = await house.wire()
        result = (await wire.called(1, "stage_large", {"how_many": 400}))["result"]
        rest = await wire.called(
            2, "execution_output", {"execution": result["execution_id"], "offset": 30_000, "length": 25_000}
        )
    assert result["output_characters"] > 30_000
    assert "[cut: 30000 of" in result["output"]
    assert "data" not in result
    assert f"{399:090}" in rest["result"]["data"]["text"]


async def test_answers_to_pipelined_calls_may_overtake_one_that_takes_longer(line):
    async with line() as house:
        wire = await house.wire()
        wire.call("slow", "stage_hold", {"name": "a"})
        wire.call("quick", "stage_quick", {"name": "b"})
        first = await wire.answer("quick")
        await house.stage.on("a")
        house.stage.end("a")
        second = await wire.answer("slow")
    assert first["type"] == second["type"] == "response"


async def test_the_end_of_the_house_ends_connections_and_leaves_records(line):
    async with line() as house:
        wire = await house.wire()
        wire.call("1", "stage_hold", {"name": "a"})
        await house.stage.on("a")
        driver = house.driver
        house.wires.clear()
    last = await wire.rest()
    await wire.close()
    assert last[-1]["error"]["message"] == "Doorward is stopping."
    assert "a" not in house.stage.running
    assert driver.house.services.executions.get("a") is None


async def test_dry_runs_and_refusals_keep_their_words(line):
    async with line() as house:
        wire = await house.wire()
        tried = await wire.called(1, "stage_hold", {"name": "a"}, dry_run=True)
        unknown = await wire.called(2, "stage_quik", {"name": "a"})
        bad = await wire.called(3, "stage_quick", {"nme": "a"})
        denied = await wire.called(4, "approval_approve", {"id": "x"})
    assert (tried["result"]["code"], house.stage.running) == ("dry_run", {})
    assert unknown["error"]["code"] == "unknown_command"
    assert "stage/quick" in unknown["error"]["message"]
    assert (bad["error"]["code"], denied["error"]["code"]) == ("bad_params", "not_permitted")
    assert bad["error"]["status"] == "refused"
    assert json.dumps(denied["error"])


async def test_a_script_that_asks_in_one_go_and_ends_its_input_is_answered_first(line):
    async with line() as house:
        wire = await house.wire()
        wire.call("1", "stage_hold", {"name": "a"})
        wire.raw('{"id":"2","method":"call_tool","params":{"tool":"stage_quick","args":{"name":"b"}}}')
        wire.end_input()
        await house.stage.on("a")
        await until(lambda: house.stage.seen == ["b"])
        house.stage.end("a")
        answers = {one["id"]: one["type"] for one in await wire.rest() if one["type"] != "notification"}
    assert answers == {"1": "response", "2": "response"}
