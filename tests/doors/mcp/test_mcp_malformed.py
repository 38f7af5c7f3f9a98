"""Whatever is sent to the door gets an answer, and none of it breaks anything."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp_house import McpHouse
from mcp_web import Web

from doorward.config.settings import McpSettings, Settings
from doorward.core.model import Credential
from json_texts import FORBIDDEN, OURS_REFUSED
from waiting import PATIENCE

REFUSED = (*FORBIDDEN, *(text for text, _ in OURS_REFUSED))


async def test_every_text_that_is_no_json_gets_an_answer(web: Web):
    for text in REFUSED:
        for body in (text, b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":' + text + b"}"):
            answer = await web.whole(web.raw(body))
            assert answer.status == 400, text
            assert answer.error["code"] in (-32700, -32600), text


async def test_a_batch_is_refused_with_an_answer(web: Web):
    for body in (b"[]", b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]'):
        answer = await web.whole(web.raw(body))
        assert (answer.status, answer.error["code"], answer.last["id"]) == (400, -32600, None)
        assert "Batches" in answer.error["message"]


async def test_a_body_that_is_too_large_is_refused_and_not_read(own_house: Callable[..., Any]):
    async with own_house(changes=Settings(mcp=McpSettings(largest_message=1_000))) as house:
        web = await house.web()
        for length in ({}, {"content_length": "10"}):
            answer = await web.whole(web.raw(b"x" * 1_001, web.headers(**length)))
            assert (answer.status, answer.error["code"]) == (413, -32600)
        announced = web.raw(None, web.headers(content_length=str(1_000_000_000)))
        assert (await web.whole(announced)).status == 413


@pytest.mark.parametrize("length", ["100000", None, "many"])
async def test_nothing_large_is_read_of_a_stranger(house: McpHouse, length: str | None):
    stranger = Web(house.server.public, "garbage", "/mcp/workshop")
    headers = stranger.headers() | ({"content-length": length} if length else {})
    answer = await stranger.whole(stranger.raw(None, headers))
    assert answer.status == 401


async def test_a_body_that_ends_early_is_refused(web: Web):
    exchange = web.raw(None, web.headers())
    exchange._gone.set()
    assert (await web.whole(exchange)).status == 400


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "", "application/jsonx"])
async def test_only_json_is_taken(web: Web, kind: str):
    body, headers = web.stateless("tools/list")
    answer = await web.whole(web.raw(body, headers | {"content-type": kind}))
    assert answer.status == 415


@pytest.mark.parametrize(
    ("header", "value", "status"),
    [
        ("content-encoding", "gzip", 415),
        ("content-encoding", "identity", 200),
        ("content-type", "application/json; charset=latin-1", 415),
        ("content-type", 'application/json; Charset="UTF-8"', 200),
    ],
)
async def test_a_message_comes_as_it_is_and_in_utf_8(web: Web, header: str, value: str, status: int):
    body, headers = web.stateless("tools/list")
    answer = await web.whole(web.raw(body, headers | {header: value}))
    assert answer.status == status
    assert status == 200 or value in answer.error["message"]


async def test_what_a_client_does_not_accept_is_not_sent_to_it(web: Web):
    body, headers = web.stateless("tools/list")
    for accept in ("application/json;q=0, text/event-stream", "text/event-stream"):
        answer = await web.whole(web.raw(body, headers | {"accept": accept}))
        assert answer.status == 406
        assert answer.error["message"] == (f"The Accept header must include application/json; given {accept!r}.")
    assert (await web.whole(web.raw(body, headers | {"accept": "application/json"}))).status == 200


async def test_a_client_must_take_json(web: Web):
    body, headers = web.stateless("tools/list")
    assert (await web.whole(web.raw(body, headers | {"accept": "text/html"}))).status == 406
    assert (await web.whole(web.raw(body, headers | {"accept": "*/*"}))).status == 200
    del headers["accept"]
    assert (await web.whole(web.raw(body, headers))).status == 200


_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
_KEYS = ("jsonrpc", "id", "method", "params", "result", "error", "Method", "ID")
_METHODS = ("initialize", "ping", "tools/list", "tools/call", "resources/read", "prompts/get", "completion/complete")
_PARAMS = ("name", "arguments", "_meta", "uri", "cursor", "ref", "argument", "protocolVersion", "capabilities", "level")


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    frame=st.fixed_dictionaries(
        {"jsonrpc": st.just("2.0") | _VALUES, "method": st.sampled_from(_METHODS) | _VALUES},
        optional={
            "id": st.integers(0, 9) | _VALUES,
            "params": st.dictionaries(st.sampled_from(_PARAMS), _VALUES, max_size=4) | _VALUES,
            "result": _VALUES,
            "error": _VALUES,
        },
    )
    | st.dictionaries(st.sampled_from(_KEYS), _VALUES, max_size=4)
    | _VALUES
)
async def test_no_frame_breaks_a_session(house: McpHouse, frame: Any):
    sent: list[bytes] = []

    async def send(text: bytes) -> None:
        sent.append(text)

    peer = house.door.make_peer(Credential(owner=True, speak_as="fuzz"), "workshop", None, send, "stdio")
    await house.door.receive(peer, json.dumps(frame).encode())
    async with asyncio.timeout(PATIENCE):
        while peer.tasks:
            await asyncio.wait(list(peer.tasks))
    for text in sent:
        answer = json.loads(text)
        assert answer["jsonrpc"] == "2.0"
        assert answer.get("error", {}).get("code") != -32603, (frame, answer)
    asked = isinstance(frame, dict) and "method" in frame and type(frame.get("id")) in (int, str)
    assert len(sent) >= int(asked)
    await house.door.close(peer)
