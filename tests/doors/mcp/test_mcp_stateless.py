"""2026-07-28 over HTTP: every request says all about itself, and the headers say what the body says."""

from __future__ import annotations

import json
from typing import Any

import pytest
from mcp_house import McpHouse
from mcp_web import NOW, Web

from doorward.core.wire import meta
from doorward.core.wire.codes import SUPPORTED


async def test_a_server_tells_what_it_speaks_and_what_it_can(web: Web):
    answer = await web.ask("server/discover")
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    result = answer.result
    assert result["resultType"] == "complete"
    assert result["supportedVersions"] == list(SUPPORTED)
    assert set(result["capabilities"]) == {"completions", "logging", "prompts", "resources", "tools"}
    assert result["_meta"][meta.SERVER]["name"] == "doorward"
    assert "workshop" in result["instructions"]
    assert "mcp-session-id" not in answer.headers


async def test_a_call_runs_through_the_gate_and_is_recorded(house: McpHouse):
    web = await house.web("clerk")
    answer = await web.call("probe_echo", text="hello")
    assert answer.result["structuredContent"] == {"text": "hello"}
    assert answer.result["_meta"]["doorward/code"] == "ok"
    (row,) = await house.call(answer.result["_meta"]["doorward/call"])
    assert (row["door"], row["caller"], row["room"], row["status"]) == ("mcp", "clerk", "workshop", "done")
    assert row["command"] == "probe/echo"


@pytest.mark.parametrize("name", ["probe_echo", "probe/echo", "probe-echo", "Probe.Echo", "probe__echo"])
async def test_a_tool_is_found_in_every_spelling_that_can_mean_only_it(web: Web, name: str):
    assert (await web.call(name, text="x")).result["structuredContent"] == {"text": "x"}


async def test_an_unknown_tool_is_an_error_that_names_the_nearest(web: Web):
    answer = await web.call("probe_ecko", text="x")
    assert answer.status == 400
    assert answer.error["code"] == -32602
    assert "probe/echo" in answer.error["message"]


@pytest.mark.parametrize("method", ["nothing/here", "initialize", "ping", "logging/setLevel", "resources/subscribe"])
async def test_a_method_that_is_not_there_is_404_with_its_id(web: Web, method: str):
    answer = await web.ask(method)
    assert answer.status == 404
    assert answer.error["code"] == -32601
    assert answer.last["id"] == 1


@pytest.mark.parametrize(
    ("leave_out", "words"), [(meta.VERSION, "protocolVersion"), (meta.CAPABILITIES, "clientCapabilities")]
)
async def test_a_request_that_does_not_say_enough_is_refused(web: Web, leave_out: str, words: str):
    body, headers = web.stateless("tools/list")
    value = json.loads(body)
    del value["params"]["_meta"][leave_out]
    answer = await web.whole(web.raw(json.dumps(value).encode(), headers))
    assert (answer.status, answer.error["code"]) == (400, -32602)
    assert words in answer.error["message"]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (meta.VERSION, 5),
        (meta.CAPABILITIES, []),
        (meta.CLIENT, 5),
        (meta.LOG_LEVEL, "loud"),
        ("progressToken", 1.5),
    ],
)
async def test_what_is_said_in_a_wrong_type_is_refused(web: Web, key: str, value: Any):
    answer = await web.ask("tools/list", None, **{key: value})
    assert (answer.status, answer.error["code"]) == (400, -32602)
    assert key in answer.error["message"]


async def test_meta_that_is_no_object_is_refused(web: Web):
    body, headers = web.stateless("tools/list")
    value = json.loads(body)
    value["params"]["_meta"] = []
    answer = await web.whole(web.raw(json.dumps(value).encode(), headers))
    assert (answer.status, answer.error["code"]) == (400, -32602)


async def test_a_request_without_meta_is_refused(web: Web):
    _, headers = web.stateless("tools/list")
    body = b'{"jsonrpc":"2.0","id":"a","method":"tools/list"}'
    answer = await web.whole(web.raw(body, headers))
    assert (answer.status, answer.error["code"], answer.last["id"]) == (400, -32602, "a")


async def test_who_the_client_is_need_not_be_said(web: Web):
    body, headers = web.stateless("tools/list")
    value = json.loads(body)
    del value["params"]["_meta"][meta.CLIENT]
    assert (await web.whole(web.raw(json.dumps(value).encode(), headers))).status == 200


async def test_a_version_that_is_not_spoken_is_refused_with_those_that_are(web: Web):
    body, headers = web.stateless("tools/list", **{meta.VERSION: "1999-01-01"})
    answer = await web.whole(web.raw(body, headers | {"mcp-protocol-version": "1999-01-01"}))
    assert (answer.status, answer.error["code"]) == (400, -32022)
    assert answer.error["data"] == {"supported": list(SUPPORTED), "requested": "1999-01-01"}
    assert f"valid: {NOW}, and after `initialize` 2025-11-25" in answer.error["message"]


async def test_a_version_with_a_handshake_is_refused_without_one(web: Web):
    body, headers = web.stateless("tools/list", **{meta.VERSION: "2025-11-25"})
    answer = await web.whole(web.raw(body, headers | {"mcp-protocol-version": "2025-11-25"}))
    assert (answer.status, answer.error["code"]) == (400, -32022)
    assert "needs `initialize` first" in answer.error["message"]
    assert answer.error["data"] == {"supported": [NOW], "requested": "2025-11-25"}


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("mcp-protocol-version", "2025-11-25"),
        ("mcp-protocol-version", None),
        ("mcp-method", "tools/list"),
        ("mcp-method", "Tools/call"),
        ("mcp-method", None),
        ("mcp-name", "probe_number"),
        ("mcp-name", "=?base64?cHJvYmVfbnVtYmVy?="),
        ("mcp-name", "=?base64?not base64?="),
        ("mcp-name", None),
    ],
)
async def test_headers_that_do_not_say_what_the_body_says_are_refused(
    house: McpHouse, web: Web, header: str, value: str | None
):
    before = await house.ledger("probe/echo")
    body, headers = web.stateless("tools/call", {"name": "probe_echo", "arguments": {"text": "x"}})
    headers.pop(header)
    if value is not None:
        headers[header] = value
    answer = await web.whole(web.raw(body, headers))
    assert (answer.status, answer.error["code"], answer.last["id"]) == (400, -32020, 1)
    assert await house.ledger("probe/echo") == before


async def test_a_name_in_base64_means_what_it_encodes(web: Web):
    body, headers = web.stateless("tools/call", {"name": "probe_echo", "arguments": {"text": "x"}})
    for name in ("=?base64?cHJvYmVfZWNobw==?=", "  probe_echo\t"):
        headers["mcp-name"] = name
        assert (await web.whole(web.raw(body, headers))).result["structuredContent"] == {"text": "x"}


async def test_a_header_that_is_there_twice_is_not_read(web: Web):
    body, headers = web.stateless("tools/list")

    class Twice(dict[str, str]):
        def items(self) -> Any:
            return [*super().items(), ("mcp-method", "tools/call")]

    answer = await web.whole(web.raw(body, Twice(headers)))
    assert answer.status == 400
    assert "twice" in answer.error["message"]


async def test_lists_say_how_long_they_may_be_kept_and_for_whom(web: Web):
    for method in ("tools/list", "prompts/list", "resources/list", "resources/templates/list", "server/discover"):
        result = (await web.ask(method)).result
        assert result["ttlMs"] >= 0, method
        assert result["cacheScope"] == "private", method
    read = (await web.ask("resources/read", {"uri": "doorward://files/"})).result
    assert (read["ttlMs"], read["cacheScope"]) == (0, "private")


async def test_a_notification_is_taken_without_an_answer(web: Web):
    body = json.dumps({"jsonrpc": "2.0", "method": "notifications/whatever"}).encode()
    answer = await web.whole(web.raw(body, web.headers(mcp_protocol_version=NOW)))
    assert (answer.status, answer.messages) == (202, [])


async def test_a_parameter_that_only_looks_like_a_known_one_is_refused(web: Web):
    for key in ("Arguments", "argumentſ", "ARGUMENTS"):
        answer = await web.ask("tools/call", {"name": "probe_echo", key: {"text": "x"}})
        assert answer.error["code"] == -32602, key
        assert "arguments" in answer.error["message"]
