"""Prompts and completions: written from what the room offers at this moment."""

from __future__ import annotations

from typing import Any

import pytest
from mcp_house import McpHouse
from mcp_web import Web


async def text(web: Web, name: str, **arguments: str) -> str:
    result = (await web.ask("prompts/get", {"name": name, "arguments": arguments})).result
    (message,) = result["messages"]
    assert message["role"] == "user"
    return str(message["content"]["text"])


async def test_there_are_a_few_prompts(web: Web):
    prompts = (await web.ask("prompts/list")).result["prompts"]
    assert [prompt["name"] for prompt in prompts] == ["task", "use", "work_here"]
    assert prompts[2]["title"] == "How to work in workshop"
    assert "Workshop" in prompts[2]["description"]


async def test_how_to_work_here_tells_what_is_offered_and_what_waits_for_approval(web: Web):
    told = await text(web, "work_here")
    assert "Agents do what these tests need." in told
    assert "- probes: probe_echo, probe_number" in told
    assert "These wait for a person's approval: file_write." in told
    assert "file_delete" not in told


async def test_how_to_use_a_category_has_parameters_and_examples(web: Web):
    told = await text(web, "use", category="probes")
    assert "probe_echo (probe/echo): Give a text back." in told
    assert "--text=<string>" in told
    assert """to 'say hello': {"text":"hello"}""" in told


async def test_a_task_is_told_with_its_goal(web: Web):
    assert "Reach this goal: sort my notes" in await text(web, "task", goal="sort my notes")


async def test_where_nothing_is_offered_the_prompt_says_so(house: McpHouse):
    await house.owner("room/create", name="quiet", recipe="casual-chat")
    web = await house.web(room="quiet")
    assert "No command is available to you here" in await text(web, "work_here")


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("nothing", {}, "valid: work_here, use, task"),
        ("use", {}, "argument 'category' is missing"),
        ("use", {"category": "nothing"}, "valid: data, files, help, probes, rooms"),
        ("use", {"category": "probes", "x": "y"}, "unknown argument 'x'"),
        ("task", {"goal": "  "}, "argument 'goal' is missing"),
        ("task", {"goal": 5}, "must be an object of strings"),
        ("task", [], "must be an object of strings"),
    ],
)
async def test_a_prompt_that_cannot_be_given_says_why(web: Web, name: str, arguments: Any, words: str):
    answer = await web.ask("prompts/get", {"name": name, "arguments": arguments})
    assert (answer.status, answer.error["code"]) == (400, -32602)
    assert words in answer.error["message"]


async def test_categories_are_completed_from_what_is_offered(web: Web):
    ref = {"type": "ref/prompt", "name": "use"}
    answer = await web.ask("completion/complete", {"ref": ref, "argument": {"name": "category", "value": "pro"}})
    assert answer.result["completion"] == {"values": ["probes"], "total": 1, "hasMore": False}
    await web.initialize()
    old = await web.request("completion/complete", {"ref": ref, "argument": {"name": "category", "value": ""}})
    assert old.result["completion"]["values"] == ["data", "files", "help", "probes", "rooms"]


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"ref": {"type": "ref/prompt", "name": "use"}},
        {"ref": {"type": "ref/prompt", "name": "nothing"}, "argument": {"name": "x", "value": ""}},
        {"ref": {"type": "ref/prompt", "name": "use"}, "argument": {"name": "x", "value": ""}},
        {"ref": {"type": "ref/prompt", "name": "use"}, "argument": {"name": "category", "value": 5}},
        {"ref": {"type": "ref/other", "name": "use"}, "argument": {"name": "category", "value": ""}},
        {"ref": {"type": "ref/resource", "uri": "x://y"}, "argument": {"name": "path", "value": ""}},
        {"ref": "use", "argument": {"name": "category", "value": ""}},
    ],
)
async def test_a_completion_of_nothing_is_refused(web: Web, params: dict[str, Any]):
    answer = await web.ask("completion/complete", params)
    assert (answer.status, answer.error["code"]) == (400, -32602)
