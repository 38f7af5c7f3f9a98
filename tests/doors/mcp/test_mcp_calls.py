"""tools/call: outcomes as results, progress, and clients that leave in the middle."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from mcp_house import McpHouse
from mcp_web import Web

from doorward.core.model import Outcome
from doorward.doors.http.problems import HTTP_STATUS
from doorward.doors.mcp import progress as watching
from doorward.doors.mcp.results import describe_outcome, encode_tool_result
from doorward.doors.mcp.versions import Era
from waiting import PATIENCE


async def test_a_result_that_is_no_object_is_the_one_value_of_an_object(web: Web):
    answer = await web.call("probe_number")
    assert answer.result["structuredContent"] == {"result": 42}
    assert answer.said == "Result: 42"


async def test_a_failure_is_a_result_that_says_so(web: Web):
    answer = await web.call("probe_fail")
    assert answer.status == 200
    assert answer.result["isError"] is True
    assert answer.said == "Command failed: It went wrong.\nHint: Try another."
    told = answer.result["_meta"]
    assert {key: told[f"doorward/{key}"] for key in ("status", "code", "retry", "effect", "hint")} == {
        "status": "failed",
        "code": "command_failed",
        "retry": "after_fix",
        "effect": "none",
        "hint": "Try another.",
    }


async def test_a_refusal_says_when_to_try_again(web: Web):
    answer = await web.call("probe_refuse")
    assert answer.result["_meta"]["doorward/retryAfter"] == 7.0
    assert answer.said.endswith("Try again in 7 s.")


async def test_bad_arguments_are_a_result_from_which_a_model_learns(web: Web):
    answer = await web.call("probe_echo", txt="x")
    assert answer.result["isError"] is True
    assert "Unknown parameter 'txt'" in answer.said
    assert answer.result["_meta"]["doorward/command"] == "probe/echo"


async def test_what_the_room_does_not_allow_is_refused_with_its_rule(web: Web):
    answer = await web.call("data_query", sql="SELECT 1")
    assert answer.result["isError"] is True
    assert answer.result["_meta"]["doorward/code"] == "not_permitted"
    assert "recipe workshop" in answer.result["_meta"]["doorward/rule"]


async def test_the_third_identical_call_of_an_agent_is_a_loop(house: McpHouse):
    agent = await house.web()
    for _ in range(2):
        assert "isError" not in (await agent.call("probe_number")).result
    assert (await agent.call("probe_number")).result["_meta"]["doorward/code"] == "looping"


@pytest.mark.parametrize("era", Era)
def test_every_outcome_has_an_answer(era: Era):
    for code in HTTP_STATUS:
        for status in ("done", "refused", "failed", "parked"):
            result = {"caller": "a", "kind": "ai", "shown": "x"} if status == "parked" else None
            outcome = Outcome(
                status=status,  # type: ignore[arg-type]
                code=code,
                message="A sentence.",
                call="c",
                command="a/b",
                text="A sentence.",
                result=result,
                ticket="t" if status == "parked" else "",
            )
            assert describe_outcome(outcome)["code"] == code
            said = encode_tool_result(era, outcome)
            assert (b'"isError":true' in said) is (status != "done"), (status, code)
            assert (b'"resultType":"complete"' in said) is (era is Era.STATELESS)


@pytest.mark.parametrize("arguments", [[], "x", 5, None])
async def test_arguments_that_are_no_object_are_refused(web: Web, arguments: Any):
    answer = await web.ask("tools/call", {"name": "probe_number", "arguments": arguments})
    assert (answer.status, answer.error["code"]) == (400, -32602)


@pytest.mark.parametrize("name", ["", 5, None, ["x"], "x" * 500])
async def test_a_tool_without_a_name_is_refused(web: Web, name: Any):
    body, headers = web.stateless("tools/call", {"name": name})
    answer = await web.whole(web.raw(body, headers | {"mcp-name": str(name)}))
    assert answer.status == 400
    assert type(name) is not str or f"1 to 400 characters; given {len(name)}" in answer.error["message"]


async def test_progress_comes_as_it_is_made_and_its_numbers_rise(web: Web):
    exchange = await web.open(
        "tools/call", {"name": "probe_talk", "arguments": {"lines": 400}}, progressToken="how far"
    ).begun()
    assert exchange.headers["content-type"] == "text/event-stream"
    assert exchange.headers["x-accel-buffering"] == "no"
    *told, last = await exchange.events()
    assert last["result"]["structuredContent"] == {"result": "done"}
    assert {one["method"] for one in told} == {"notifications/progress"}
    assert {one["params"]["progressToken"] for one in told} == {"how far"}
    numbers = [one["params"]["progress"] for one in told]
    assert numbers == sorted(set(numbers))
    assert (numbers[-1], told[-1]["params"]["total"]) == (100.0, 100.0)
    assert len(told) < 40, "what comes in one moment goes out as one"
    assert "line 399" in told[-1]["params"]["message"]


async def test_a_call_that_says_nothing_is_told_to_be_running_still(web: Web, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(watching, "SILENCE", 0.001)
    hanging = await web.open("tools/call", {"name": "probe_hang"}, progressToken="t").begun()
    told = [(await hanging.event() or {})["params"] for _ in range(3)]
    await hanging.hang_up()
    assert [one["progress"] for one in told] == [1, 2, 3]
    assert told[-1]["message"].startswith("Running for ")


async def test_the_first_word_of_a_silent_call_comes_after_one_span_of_silence(
    web: Web, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(watching, "SILENCE", 1.5)
    hanging = await web.open("tools/call", {"name": "probe_hang"}, progressToken="t").begun()
    said, told = [(await hanging.event() or {})["params"]["message"] for _ in range(2)]
    await hanging.hang_up()
    assert (said, told) == ("it hangs", "Running for 2 s.")


async def test_a_call_without_progress_is_one_json_answer(web: Web):
    answer = await web.ask("tools/call", {"name": "probe_talk", "arguments": {"lines": 3}})
    assert answer.headers["content-type"] == "application/json"
    quick = await web.ask("tools/call", {"name": "probe_number"}, progressToken=1)
    assert quick.headers["content-type"] == "application/json"


async def test_a_client_that_takes_no_stream_gets_the_answer_alone(web: Web):
    body, headers = web.stateless("tools/call", {"name": "probe_talk", "arguments": {"lines": 3}}, progressToken=1)
    answer = await web.whole(web.raw(body, headers | {"accept": "application/json"}))
    assert answer.headers["content-type"] == "application/json"
    assert answer.result["structuredContent"] == {"result": "done"}


async def test_a_long_output_is_told_in_part_and_says_so(web: Web):
    answer = await web.ask("tools/call", {"name": "probe_talk", "arguments": {"lines": 5_000}}, progressToken=1)
    messages = [one["params"].get("message", "") for one in answer.messages[:-1]]
    assert all(len(message) < 5_000 for message in messages)
    assert any("characters left out" in message for message in messages)


@pytest.mark.parametrize("progress", [{}, {"progressToken": 1}])
async def test_a_client_that_hangs_up_cancels_its_call_and_that_is_recorded(
    house: McpHouse, web: Web, progress: dict[str, Any]
):
    before = len(await house.ledger("probe/hang"))
    running = asyncio.Event()
    end = house.services.events.subscribe(
        lambda event: running.set() if event.name == "execution:started" and event.command == "probe/hang" else None
    )
    exchange = web.open("tools/call", {"name": "probe_hang"}, **progress)
    async with asyncio.timeout(PATIENCE):
        await running.wait()
    end()
    await exchange.hang_up()
    assert exchange.task.exception() is None
    await house.gate.settled()
    *_, row = await house.ledger("probe/hang")
    assert len(await house.ledger("probe/hang")) == before + 1
    assert (row["status"], row["code"]) == ("failed", "cancelled")


async def test_calls_of_one_client_run_side_by_side(web: Web):
    hanging = await web.open("tools/call", {"name": "probe_hang"}, progressToken=1).begun()
    assert (await web.call("probe_number")).result["structuredContent"] == {"result": 42}
    await hanging.hang_up()


async def test_too_many_calls_at_once_are_refused_at_once(house: McpHouse):
    web = await house.web(kind="service")
    hanging = [web.open("tools/call", {"name": "probe_hang"}, progressToken=n) for n in range(15)]
    for exchange in hanging[:5]:
        await exchange.begun()
    answer = await web.call("probe_number")
    assert answer.result["_meta"]["doorward/code"] == "overloaded"
    for exchange in hanging:
        await exchange.hang_up()


async def test_log_messages_are_sent_only_to_a_request_that_asked_for_them(web: Web):
    level = {"io.modelcontextprotocol/logLevel": "debug"}
    loud = await web.ask("tools/call", {"name": "probe_talk", "arguments": {"lines": 2}}, **level)
    assert {one["method"] for one in loud.messages[:-1]} == {"notifications/message"}
    quiet = await web.ask("tools/call", {"name": "probe_talk", "arguments": {"lines": 2}})
    assert len(quiet.messages) == 1
