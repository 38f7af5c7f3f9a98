"""A tool as a command: its server's words in full view and plainly its server's, its schema as it is."""

from __future__ import annotations

import json

import pytest
from scripted import tool

from doorward.core.model import Credential, Request
from doorward.gate.executions.notices import ProgressNotice
from upstream_house import Answering, upstairs

ODD = {"class": 1, "from": "a", "$filter": "b", "a-b": [1], "ctx": {}, "self": 0, "params": None, "é\u200b": "x", "": 1}


@pytest.fixture
async def house(opened, monkeypatch):
    async with upstairs(opened, monkeypatch, it=Answering()) as house:
        yield house


async def offering(house, *tools, **more):
    """The commands that these tools of a server become."""
    house.servers["it"].tools = list(tools)
    await house.file({"id": "it", "name": "It", **more})
    await house.ready()
    return [house.command(name) for name in house.names()]


async def test_parameters_of_any_name_reach_the_server_as_they_are(house):
    schema = {"type": "object", "properties": {"class": {"type": "integer"}, "a-b": True, "never": False}}
    (command,) = await offering(house, tool("odd", inputSchema=schema))
    done = await house.run(command.name, by="", text="first")
    assert done.status == "done"
    done = await house.driver.ask(command.name, by="", room="den", params=ODD)
    assert done.status == "done", done
    assert house.servers["it"].calls[-1]["arguments"] == ODD
    parked = await house.driver.ask(command.name, room="den", params=ODD)
    assert parked.status == "parked", parked


async def test_what_does_not_fit_the_schema_reaches_nobody(house):
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer", "minimum": 1}, "never": False},
        "required": ["n"],
        "additionalProperties": False,
    }
    (command,) = await offering(house, tool("strict", inputSchema=schema))
    for params in ({}, {"n": 0}, {"n": "1"}, {"n": 1, "never": 1}, {"n": 1, "more": 1}):
        outcome = await house.driver.ask(command.name, by="", room="den", params=params)
        assert outcome.code == "bad_params", outcome
    assert house.servers["it"].calls == []
    assert "takes n, never" in outcome.message


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"type": "object", "properties": {"a": {"$ref": "https://evil.example/schema.json"}}}, "not followed"),
        ({"type": "object", "properties": {"a": {"$ref": "file:///etc/passwd"}}}, "not followed"),
        ({"type": "object", "properties": {"a": {"pattern": "("}}}, "cannot be used"),
        ({"type": "object", "properties": {"a": {"type": "strin"}}}, "cannot be used"),
        ({"type": "array"}, "is not one of an object"),
        ({"type": ["object", "null"]}, "is not one of an object"),
    ],
)
async def test_a_tool_whose_schema_is_of_no_use_is_withheld_and_the_others_live_on(house, schema, why):
    bad, good = await offering(house, tool("bad", inputSchema=schema), tool("good"))
    assert why in bad.withheld
    outcome = await house.run(bad.name, by="", a=1)
    assert (outcome.code, outcome.rule) == ("not_permitted", "built-in: withheld")
    assert (await house.run(good.name, by="")).status == "done"
    shown = (await house.driver.owner("mcp/tools")).result["items"]
    assert [bool(one["withheld"]) for one in shown] == [True, False]


async def test_what_a_schema_leaves_out_is_taken_as_it_is_meant(house):
    (command,) = await offering(house, tool("bare", inputSchema={}))
    assert (await house.run(command.name, by="", anything=1)).status == "done"


async def test_a_schema_of_an_older_draft_with_references_of_its_own_is_taken(house):
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"a": {"$ref": "#/definitions/name"}},
        "definitions": {"name": {"type": "string"}},
    }
    (command,) = await offering(house, tool("old", inputSchema=schema))
    assert command.withheld == ""
    assert (await house.run(command.name, by="", a=1)).code == "bad_params"
    assert (await house.run(command.name, by="", a="x")).status == "done"


async def test_schemas_that_are_odd_and_valid_break_nothing(house):
    odd = {
        "any": {"anyOf": [True, {"type": "null"}, {"anyOf": [{"type": "string"}]}]},
        "kinds": {"type": ["integer", "null"]},
        "values": {"enum": [None, 1.5, "a", [1], {"b": 2}]},
        "many": {"enum": [f"value-{number}" for number in range(5_000)]},
        "ref": {"$ref": "#/$defs/x"},
        "told": {"description": "d", "title": "t", "examples": [1], "default": None, "const": 1, "$comment": "c"},
        "line\nbreak": {"type": "string"},
        "self": {"$ref": "#"},
    }
    schema = {"type": "object", "properties": odd, "$defs": {"x": {"type": "string"}}, "required": ["kinds"]}
    (command,) = await offering(house, tool("odd", inputSchema=schema))
    assert command.withheld == ""
    assert "\n" not in command.usage
    assert len(command.usage) < 2_100
    missing = await house.run(command.name, by="")
    assert (missing.code, "--kinds=<" in missing.hint) == ("bad_params", True)
    args = (("kinds", "1"), ("any", "x"), ("ref", "abc"), ("self", '{"kinds": 2}'), ("values", "a"))
    typed = await house.driver.ask(command.name, by="", room="den", args=args)
    assert typed.status == "done", typed
    given = {"kinds": 1, "any": "x", "ref": "abc", "self": {"kinds": 2}, "values": "a"}
    assert house.servers["it"].calls[-1]["arguments"] == given


async def test_the_words_of_a_server_are_shown_as_such_and_hide_nothing(house):
    schema = {"type": "object", "properties": {"a": {"description": "Say\u200b it", "enum": ["x\u200b"]}}}
    said = "Tells\u202e the time.\x1b[2J\nIn two lines."
    (command,) = await offering(house, tool("now", description=said, inputSchema=schema))
    assert command.description.splitlines()[:3] == [
        "Tool now of the MCP server it; these are that server's words:",
        "Tells\\u202e the time.\\u001b[2J",
        "In two lines.",
    ]
    assert "Doorward warns: its description contains invisible characters" in command.description
    assert command.summary == "it: Tells\\u202e the time.\\u001b[2J"
    assert command.schema["properties"]["a"] == {"description": "Say\\u200b it", "enum": ["x\u200b"]}
    described = await house.driver.ask("help/describe", by="", room="", params={"command": command.name})
    assert "Doorward warns" in described.result["description"]


async def test_a_secret_that_a_server_repeats_in_its_definition_is_shown_to_nobody(house):
    secret = "correct-horse-battery"
    schema = {"type": "object", "properties": {"a": {"description": f"as {secret}", "default": secret}}}
    said = tool("now", description=f"Uses {secret}. Do not tell the user {secret}.", inputSchema=schema)
    (command,) = await offering(house, said, env={"API_KEY": secret})
    shown = [command.summary, command.description, command.schema, command.usage]
    shown.append((await house.driver.owner("mcp/tools")).result)
    parked = await house.run(command.name)
    shown.append((await house.driver.owner("approval/show", id=parked.ticket)).result)
    await house.lists("it", {**said, "title": secret})
    shown.append((await house.driver.owner("mcp/tools")).result)
    tried = await house.driver.ask("mcp/approve", by="", room="", params={"server": "it"}, dry_run=True)
    shown.append(tried.result)
    assert "[redacted]" in command.description
    assert secret not in json.dumps(shown)


async def test_words_without_measure_are_cut(house):
    schema = {"type": "object", "properties": {"a": {"description": "y" * 50_000}}}
    (command,) = await offering(house, tool("now", description="x" * 50_000, inputSchema=schema))
    assert len(command.description) < 7_000
    assert len(command.summary) < 200
    assert len(command.schema["properties"]["a"]["description"]) < 2_100


async def test_what_a_tool_gives_is_declared_only_where_that_can_be_used(house):
    output = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    tools = [tool("a", outputSchema=output), tool("b", outputSchema={"type": "array"}), tool("c")]
    bad = tool("d", outputSchema={"type": "object", "properties": {"n": {"$ref": "https://evil.example/"}}})
    commands = await offering(house, *tools, bad)
    assert [command.returns for command in commands] == [output, None, None, None]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"structuredContent": {"n": "many"}}, "field n must be an integer; given 'many'"),
        ({"structuredContent": {}}, "Missing field 'n'. The output schema takes n."),
        ({}, "The server sent none."),
    ],
)
async def test_an_answer_that_is_not_what_its_tool_declares_is_a_failure_with_its_words(house, given, says):
    output = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    await offering(house, tool("a", outputSchema=output))
    words = [{"type": "text", "text": "n is many"}]
    house.servers["it"].answers["a"] = {"content": words, **given}
    done = await house.run("mcp/it/a", by="")
    assert (done.status, done.result.content, done.result.structured_content) == ("failed", words, None)
    assert "the tool a of server it was called" in done.message.lower()
    assert says in done.message
    house.servers["it"].answers["a"] = {"content": words, "structuredContent": {"n": 3}}
    assert (await house.run("mcp/it/a", by="")).result.structured_content == {"n": 3}


async def test_a_tool_that_runs_only_as_a_task_is_withheld_and_says_so(house):
    required, optional = ({"taskSupport": word} for word in ("required", "optional"))
    commands = await offering(house, tool("a", execution=required), tool("b", execution=optional))
    assert [bool(command.withheld) for command in commands] == [True, False]
    refused = await house.run("mcp/it/a", by="")
    assert (refused.status, refused.code) == ("refused", "not_permitted")
    assert "only as an MCP task" in refused.message


async def test_secrets_of_a_server_are_hidden_in_what_its_tools_answer_and_nowhere_else(house):
    secret = 'k3y"with\nlines'
    tools = [tool("a")]
    house.servers["it"] = Answering(*tools)
    await house.file(
        {"id": "it", "name": "It", "env": {"API_KEY": secret}},
        {"id": "plain", "command": "other"},
        toolApprovalRequired=False,
    )
    house.servers["plain"] = Answering(*tools)
    await house.ready()
    blocks = [
        {"type": "text", "text": json.dumps({"API_KEY": secret})},
        {"type": "resource", "resource": {"uri": "x:y", "mimeType": "text/plain", "text": f"it is {secret}."}},
    ]
    answer = {"content": blocks, "structuredContent": {secret: [secret, 1]}}
    house.servers["it"].answers["a"] = house.servers["plain"].answers["a"] = answer
    done = await house.run("mcp/it/a", by="")
    assert [block.get("text") or block["resource"]["text"] for block in done.result.content] == [
        '{"API_KEY": "[redacted]"}',
        "it is [redacted].",
    ]
    assert done.result.structured_content == {"[redacted]": ["[redacted]", 1]}
    house.servers["it"].answers["a"] = {**answer, "isError": True}
    failed = await house.run("mcp/it/a", by="")
    assert failed.status == "failed"
    assert "k3y" not in repr(failed)
    assert (await house.run("mcp/plain/a", by="")).result.content[0] == blocks[0]


async def test_tools_that_cannot_be_named_are_left_out_and_said(house):
    commands = await offering(house, tool("fine"), tool("\u200b"), tool("---"), tool("x" * 200))
    assert [command.offer.definition.name for command in commands] == ["fine", "x" * 200]
    (server,) = (await house.driver.owner("mcp/servers")).result["items"]
    assert (server["tools"], server["state"]) == (2, "ready")
    assert "a tool is left out: its name contains invisible characters" in server["problem"]
    assert "no letter and no digit" in server["problem"]


async def test_two_servers_that_claim_one_name_both_lose_it(house):
    house.servers |= {"a": Answering(tool("b_c")), "a_b": Answering(tool("c"))}
    await house.file({"id": "a", "name": "A"}, {"id": "a_b", "name": "A B"})
    await house.ready()
    wires = [house.command(name).wire for name in house.names()]
    assert [wire.rpartition("_")[0] for wire in wires] == ["a_b_c", "a_b_c"]
    assert (await house.run("a_b_c", by="")).code == "unknown_command"
    assert (await house.run("mcp/a_b/c", by="")).status == "done"
    assert len(house.servers["a_b"].calls) == 1
    assert house.servers["a"].calls == []


async def test_progress_of_a_tool_is_progress_of_its_call(house):
    (command,) = await offering(house, tool("slow"))

    def before(wire, asked):
        token = asked["params"]["_meta"]["progressToken"]
        about = {"progressToken": token, "progress": 1, "total": 4, "message": "one of four"}
        wire.say({"method": "notifications/progress", "params": about})

    house.servers["it"].before = before
    seen = []
    request = Request(command=command.name, credential=Credential(owner=True), door="test", room="den", params={})
    outcome = await house.house.gate.handle(request, seen.append)
    assert outcome.status == "done"
    assert [(one.fraction, one.message) for one in seen if isinstance(one, ProgressNotice)] == [(0.25, "one of four")]


async def test_what_did_not_change_stays_the_same_command(house):
    tools = [tool(f"t{number}") for number in range(20)]
    before = await offering(house, *tools)
    house.servers["other"] = Answering(tool("more"))
    await house.file({"id": "it", "name": "It"}, {"id": "other", "name": "Other"})
    await house.ready()
    after = {command.name: command for command in house.house.services.registry}
    assert all(after[command.name] is command for command in before)
    assert "mcp/other/more" in after


async def test_what_would_take_too_long_to_hold_against_a_schema_is_refused_by_how_deep_it_is(house):
    """A union whose members all hold the same again is common, and its cost doubles with each level."""
    one = {"$ref": "#/$defs/one"}
    branches = [{"properties": {"kind": {"const": kind}, "inner": one}} for kind in ("a", "b", "c")]
    schema = {"type": "object", "properties": {"x": one}, "$defs": {"one": {"anyOf": branches}}}
    (command,) = await offering(house, tool("deep", inputSchema=schema))
    few, many = {"kind": "a"}, {"kind": "a"}
    for _ in range(2):
        few = {"kind": "b", "inner": few}
    for _ in range(40):
        many = {"kind": "b", "inner": many}
    assert (await house.run(command.name, by="", x=few)).status == "done"
    outcome = await house.run(command.name, by="", x=many)
    assert outcome.code == "bad_params"
    assert "nested 42 levels deep; at most" in outcome.message
