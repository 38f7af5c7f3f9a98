"""A result too large for one message is cut before it leaves, keeps the shape it was declared with, and says so."""

from __future__ import annotations

import json
import os
from typing import Any

import jsonschema_rs
import pytest
from mcp_house import McpHouse
from mcp_web import Web

from doorward.commands.programs.family import ProgramResult
from doorward.core.model import Outcome
from doorward.core.signatures import result_schema
from doorward.doors.mcp import truncation
from doorward.doors.mcp.results import encode_tool_result
from doorward.doors.mcp.versions import Era

HALF = 524_288
RAN = {"argv": ["cat"], "exitCode": 0, "stderr": "", "stderrBytes": 0, "seconds": 0.1, "sandbox": "full"}


async def ran() -> ProgramResult: ...  # type: ignore[empty-body]


def cut(result: Any, characters: int = 30_000) -> tuple[Any, truncation.Truncation | None]:
    raw, said = truncation.encode_truncated(result, characters)
    assert len(bytes(raw)) <= truncation.MAX_STRUCTURED_BYTES
    return json.loads(bytes(raw)), said


def test_what_fits_is_left_as_it_is():
    result = {"items": list(range(1_000)), "text": "x" * 200_000}
    assert cut(result) == (result, None)


@pytest.mark.parametrize("letter", ["x", "é", "\U0001f6aa", "\x01", '"'])
def test_a_long_text_keeps_its_beginning(letter: str):
    shown, said = cut({"text": letter * 2_000_000, "after": 1})
    assert shown["after"] == 1
    assert shown["text"] == letter * len(shown["text"])
    assert len(shown["text"]) > 40_000
    assert said is not None
    assert said.where == [{"at": "text", "shown": len(shown["text"]), "of": 2_000_000}]


def test_a_long_list_keeps_its_first_items_and_a_map_its_first_entries():
    items = [{"id": number, "text": "x" * 100} for number in range(20_000)]
    shown, said = cut({"items": items, "next": "c", "byId": {f"k{at}": "y" * 50 for at in range(20_000)}})
    assert shown["items"] == items[: len(shown["items"])]
    assert shown["next"] == "c"
    assert 500 < len(shown["items"]) < 20_000
    assert 500 < len(shown["byId"]) < 20_000
    assert said is not None
    assert {(one["at"], one["of"]) for one in said.where} == {("items", 20_000), ("byId", 20_000)}


def test_one_item_that_is_too_large_is_cut_inside():
    shown, _ = cut({"items": [{"id": 1, "text": "x" * 2_000_000}, {"id": 2, "text": ""}]})
    (first,) = shown["items"]
    assert first["id"] == 1
    assert len(first["text"]) > 200_000


@pytest.mark.parametrize("many", [1, 99, 100, 101, 5_000])
def test_objects_of_any_width_fit(many: int):
    cut({f"k{at}": ["x" * 5_000] * 20 for at in range(many)})


def test_what_a_program_wrote_is_cut_to_what_its_text_shows_and_fits_its_schema():
    whole = {**RAN, "stdout": "x" * 1_000_000, "stdoutBytes": 1_000_000, "stderr": "y" * 900_000}
    shown, said = cut(whole, 30_100)
    schema = result_schema(ran)
    assert schema is not None
    jsonschema_rs.Draft202012Validator(schema).validate(shown)
    assert (len(shown["stdout"]), len(shown["stderr"]), shown["stdoutBytes"]) == (30_100, 30_100, 1_000_000)
    assert said is not None
    assert said.bytes > 1_900_000


@pytest.mark.parametrize("status", ["done", "failed", "parked"])
@pytest.mark.parametrize("era", Era)
def test_no_result_is_near_what_clients_take(era: Era, status: Any):
    result = {"caller": "a", "kind": "ai", "expiresAt": "", "shown": "\x01" * 3_000_000}
    text = "\x01" * 1_000_000
    outcome = Outcome(
        status=status, code="ok", message="m", call="c", command="a/b", result=result, text=text, truncated=5
    )
    said = encode_tool_result(era, outcome)
    assert len(said) < HALF
    about = json.loads(said)["_meta"]
    assert about["doorward/cut"]["bytes"] > 3_000_000
    assert about["doorward/rest"] == "execution/output --execution=c"


async def test_a_call_with_progress_has_no_event_near_the_limit(web: Web):
    params = {"name": "probe_echo", "arguments": {"text": "x" * 1_500_000}}
    answer = await web.ask("tools/call", params, progressToken=1)
    shown = answer.result["structuredContent"]["text"]
    assert len(json.dumps(answer.last)) < HALF
    assert answer.result["_meta"]["doorward/cut"]["where"] == [{"at": "text", "shown": len(shown), "of": 1_500_000}]
    assert answer.result["_meta"]["doorward/rest"].startswith("execution/output --execution=")


async def test_a_progress_token_is_short_since_every_notification_carries_it(web: Web):
    answer = await web.ask("tools/call", {"name": "probe_number"}, progressToken="x" * 1_001)
    assert (answer.error["code"], "at most 1000 characters" in answer.error["message"]) == (-32602, True)


async def test_a_session_belongs_to_the_address_that_it_was_opened_at(house: McpHouse):
    web = await house.web(kind="service")
    await web.initialize()
    for path in ("/mcp", "/mcp/general"):
        other = Web(web.app, web.token, path)
        other.session = web.session
        called = await other.request("tools/call", {"name": "probe_number"})
        ended = await other.whole(other.raw(b"", other.headers(**other.session), method="DELETE"))
        assert (called.status, ended.status) == (404, 404), path
    assert (await web.request("ping")).result == {}


@pytest.mark.parametrize("method", ["tools/list", "resources/list", "prompts/list", "server/discover"])
async def test_a_room_that_is_not_there_is_said_and_not_shown_empty(house: McpHouse, method: str):
    web = await house.web(room="nope")
    answer = await web.ask(method)
    assert answer.error["message"] == "There is no room 'nope' that you may act in. Your rooms: general, workshop."


@pytest.mark.parametrize("tool", ["run_command", "describe_command"])
async def test_a_command_that_a_model_made_up_is_told_to_the_model(web: Web, tool: str):
    answer = await web.call(tool, command="made/up")
    assert answer.result["isError"] is True
    assert "made/up" in answer.said


async def test_a_version_that_nobody_speaks_is_refused_with_those_that_are(web: Web):
    await web.initialize()
    web.session["mcp_protocol_version"] = "2020-01-01"
    answer = await web.request("tools/list")
    assert (answer.status, answer.error["code"]) == (400, -32022)
    assert "2025-11-25" in answer.error["data"]["supported"]


async def test_a_name_that_is_no_text_is_called_that(web: Web):
    body, headers = web.stateless("tools/call", {"name": 5})
    answer = await web.whole(web.raw(body, headers | {"mcp-name": "5"}))
    assert answer.error["code"] == -32602
    assert answer.error["message"] == "tools/call: `name` is required and must be a string."


async def test_a_program_is_told_that_it_is_one(web: Web):
    assert "You are a program" in (await web.call("approval_approve", id="x")).said


async def test_a_folder_gives_only_addresses_that_can_be_read(house: McpHouse, web: Web):
    workspace = house.home.path / "workspace"
    workspace.mkdir(exist_ok=True)
    (workspace / "line\nbreak.txt").write_text("x")
    (workspace / "ä b?#%.txt").write_text("found")
    (workspace / os.fsdecode(b"not\xfftext.txt")).write_text("x")
    answer = await web.ask("resources/read", {"uri": "doorward://files/"})
    items = {item["path"]: item for item in json.loads(answer.result["contents"][0]["text"])}
    for odd in ("line\nbreak.txt", "not\\xfftext.txt"):
        assert "uri" not in items[odd]
        assert items[odd]["note"]
    read = await web.ask("resources/read", {"uri": items["ä b?#%.txt"]["uri"]})
    assert read.result["contents"][0]["text"] == "found"
