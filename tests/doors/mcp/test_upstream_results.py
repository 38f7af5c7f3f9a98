"""What a tool of another server gives passes through every door as it came, as far as a message holds it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from mcp_house import McpHouse
from mcp_web import Web
from upstream_door import open_door, server

from doorward.core.command import Blocks
from doorward.core.model import Credential, Outcome
from doorward.doors.http.problems import problem_response
from doorward.doors.line.results import ResultStyle, encode_answer
from doorward.doors.mcp import results
from doorward.doors.mcp.results import encode_tool_result
from doorward.doors.mcp.versions import Era
from doorward.doors.rest.gate_client import outcome_response
from doorward.gate import result_text

HALF = 524_288


@pytest.fixture(scope="module")
async def house(anyio_backend: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[McpHouse]:
    async with open_door(tmp_path_factory.mktemp("results"), server("notes")) as house:
        yield house


@pytest.fixture
async def web(house: McpHouse) -> Web:
    return await house.web(kind="service", room="annex")


async def test_every_kind_of_block_arrives_as_it_came(web: Web):
    given = (await web.call("notes_blocks")).result
    text, image, audio, link, embedded, odd, broken = given["content"]
    assert text == {
        "type": "text",
        "text": "hello",
        "annotations": {"audience": ["user"]},
        "_meta": {"example.com/k": 1},
    }
    assert (image["type"], image["mimeType"], image["data"][:4]) == ("image", "image/png", "iVBO")
    assert (audio["type"], audio["data"]) == ("audio", "UklGRg==")
    assert link == {"type": "resource_link", "uri": "mcp://notes/note:///one", "name": "one"}
    assert embedded["resource"] == {"uri": "mcp://notes/note:///two", "mimeType": "text/plain", "text": "two"}
    assert (odd["type"], "hologram" in odd["text"]) == ("text", True)
    assert broken["type"] == "text"
    assert "structuredContent" not in given
    assert "isError" not in given
    assert given["_meta"]["doorward/status"] == "done"


async def test_the_structured_result_is_the_servers_own(house: McpHouse, web: Web):
    given = (await web.call("notes_sums")).result
    assert (given["structuredContent"], given["content"][0]["text"]) == ({"sum": 3}, '{"sum": 3}')
    listed = {tool["name"]: tool for tool in (await web.ask("tools/list")).result["tools"]}
    assert listed["notes_sums"]["outputSchema"]["required"] == ["sum"]
    assert (await web.call("notes_list")).result["structuredContent"] == [1, 2]
    before = await house.web(kind="service", room="annex")
    await before.initialize()
    called = await before.request("tools/call", {"name": "notes_list", "arguments": {}})
    assert "structuredContent" not in called.result, "before 2026-07-28 it can only be an object"
    assert called.result["content"] == [{"type": "text", "text": "[1,2]"}]


async def test_a_failure_has_the_servers_own_words_and_images(web: Web):
    given = (await web.call("notes_fails")).result
    assert given["isError"] is True
    assert [block["type"] for block in given["content"]] == ["text", "image"]
    assert given["content"][0]["text"] == "no paper"
    assert given["_meta"]["doorward/code"] == "command_failed"


async def test_a_result_without_blocks_is_a_result(web: Web):
    assert (await web.call("notes_nothing")).result["content"] == []


async def test_an_image_too_large_for_a_message_is_told_of_and_the_rest_arrives(web: Web):
    answer = await web.call("notes_large", size=600_000)
    text, left_out = answer.result["content"]
    assert text["text"] == "ttttt"
    assert left_out["text"].startswith("[image image/png left out: its 600")
    assert "doorward run --json mcp/notes/large" in left_out["text"]
    assert len(json.dumps(answer.last)) < HALF
    some = (await web.call("notes_large", size=100_000, more=30)).result["content"]
    assert [block["type"] for block in some[:5]] == ["text"] + ["image"] * 4
    assert some[-1]["text"] == "[17 more blocks left out]"


async def test_a_text_longer_than_the_house_shows_is_cut_and_images_stay(web: Web):
    answer = await web.call("notes_large", size=400, text=50_000)
    text, image = answer.result["content"]
    call = answer.result["_meta"]["doorward/call"]
    assert f"execution/output --execution={call}" in text["text"]
    assert len(text["text"]) < 31_000
    assert (image["type"], len(image["data"])) == ("image", 400)
    assert answer.result["_meta"]["doorward/truncated"] > 50_000


@pytest.mark.parametrize("era", list(Era))
def test_whatever_a_server_sends_a_message_stays_below_half_a_mebibyte(era: Era):
    many: list[dict[str, Any]] = [
        {"type": "resource_link", "uri": f"mcp://a/{at}", "name": "n"} for at in range(60_000)
    ]
    many += [{"type": "text", "text": "\x01" * 90} for _ in range(5_000)]
    many += [{"type": "x" * 10_000} for _ in range(5)]
    wide = Blocks(content=many, structured_content={"a": "b" * 3_000_000})
    text = result_text.render_result(wide)
    for shown in (text, text[:30_000]):
        truncated = len(text) if shown is not text else 0
        outcome = Outcome(
            status="done", code="ok", message="", call="c", command="m", result=wide, text=shown, truncated=truncated
        )
        written = encode_tool_result(era, outcome)
        assert len(written) < HALF
        assert json.loads(written)["content"][-1]["text"].endswith("more blocks left out]")
    assert results.MAX_BLOCKS_BYTES < HALF


def test_what_can_only_be_told_in_words_is_told_though_the_server_sent_none():
    bare = Blocks(content=[], structured_content=[1, 2])
    told: dict[str, Any] = {"status": "done", "code": "ok", "message": "", "call": "c", "command": "m"}
    outcome = Outcome(result=bare, text=result_text.render_result(bare), **told)
    older, newer = (json.loads(encode_tool_result(era, outcome)) for era in (Era.SESSIONS, Era.STATELESS))
    assert json.loads(older["content"][0]["text"]) == [1, 2], "before 2026-07-28 only an object is structured"
    assert (newer["content"], newer["structuredContent"]) == ([], [1, 2])


def outcomes() -> list[Outcome]:
    given = Blocks(content=[{"type": "text", "text": "words"}, {"type": "image", "data": "AAAA", "mimeType": "a/b"}])
    told: dict[str, Any] = {"call": "c", "command": "mcp/a/b", "result": given}
    done = Outcome(status="done", code="ok", message="", text=result_text.render_result(given), **told)
    return [done, Outcome(status="failed", code="command_failed", message="It failed.", text="It failed.", **told)]


def test_other_doors_write_the_same_blocks_as_json():
    done, failed = outcomes()
    plain = {"content": done.result.content}
    assert json.loads(bytes(outcome_response(done).body)) == plain
    assert json.loads(bytes(outcome_response(done, whole=True).body))["result"] == plain
    assert json.loads(bytes(problem_response(failed).body))["result"] == plain
    line = json.loads(encode_answer("1", "a_b", done, ResultStyle(10_000, summaries=False)))
    assert line["result"]["data"] == plain
    assert line["result"]["output"] == "words\n[image: a/b, 3 bytes]"
    line = json.loads(encode_answer("1", "a_b", failed, ResultStyle(10_000, summaries=False)))
    assert line["error"]["output"] == "words\n[image: a/b, 3 bytes]"
    assert (
        json.loads(encode_answer("1", "a_b", failed, ResultStyle(10_000, summaries=False)))["error"]["message"]
        == "It failed."
    )


async def test_the_ledger_holds_no_word_of_what_a_server_gave(house: McpHouse, web: Web):
    await web.call("notes_fails")
    rows = await house.ledger("mcp/notes/fails")
    assert rows
    assert "no paper" not in json.dumps(rows, default=str)


async def test_progress_and_logs_of_the_server_reach_the_client(web: Web):
    steps = await web.ask("tools/call", {"name": "notes_steps", "arguments": {}}, progressToken="p")
    told = [one["params"] for one in steps.messages if one.get("method") == "notifications/progress"]
    assert told[0] == {"progressToken": "p", "progress": 25.0, "total": 100.0, "message": "a quarter"}
    inside = {"name": "mcp_call", "arguments": {"server": "notes", "tool": "steps"}}
    by_call = await web.ask("tools/call", inside, progressToken="q")
    assert [one["params"]["message"] for one in by_call.messages[:-1]] == ["a quarter"]
    level = {"io.modelcontextprotocol/logLevel": "info"}
    logs = await web.ask("tools/call", {"name": "notes_logs", "arguments": {}}, **level)
    said = [one["params"] for one in logs.messages if one.get("method") == "notifications/message"]
    assert said == [
        {"level": "info", "logger": "notes", "data": "a info"},
        {"level": "error", "logger": "notes", "data": "a error"},
    ]
    silent = await web.ask("tools/call", {"name": "notes_logs", "arguments": {}})
    assert len(silent.messages) == 1


async def test_a_call_that_its_client_gives_up_is_cancelled_at_the_server(house: McpHouse, web: Web):
    before = (await web.call("notes_stopped")).said
    assert before == "0 begun, 0 cancelled"
    leaving = web.open("tools/call", {"name": "notes_slow", "arguments": {}})
    while (await web.call("notes_stopped")).said != "1 begun, 0 cancelled":
        pass
    await leaving.hang_up()
    assert (await web.call("notes_stopped")).said == "1 begun, 1 cancelled"
    assert [row["status"] for row in await house.ledger("mcp/notes/slow")] == ["started", "failed"]
    session = await house.web(kind="service", room="annex")
    await session.initialize()
    called = session.begin("tools/call", {"name": "notes_slow", "arguments": {}})
    while (await web.call("notes_stopped")).said != "2 begun, 1 cancelled":
        pass
    told = await session.whole(session.tell("notifications/cancelled", {"requestId": session._ids}))
    assert told.status == 202
    await called.hang_up()
    assert (await web.call("notes_stopped")).said == "2 begun, 2 cancelled"


async def test_the_same_result_by_mcp_call(house: McpHouse, web: Web):
    owner = await house.ask("mcp/call", Credential(owner=True), server="notes", tool="sums")
    assert isinstance(owner.result, Blocks)
    given = (await web.call("mcp_call", server="notes", tool="fails")).result
    assert given["isError"] is True
    assert given["content"][0]["text"] == "no paper"


async def test_what_gives_the_answer_of_any_tool_promises_no_shape_of_it(web: Web):
    tools = {tool["name"]: tool for tool in (await web.ask("tools/list")).result["tools"]}
    assert [name for name in ("mcp_call", "mcp_read", "mcp_prompt") if "outputSchema" in tools[name]] == []
    assert "structuredContent" not in (await web.call("mcp_call", server="notes", tool="blocks")).result
