"""Frames: one strict JSON-RPC message each, or an error that can be sent back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from doorward.core.wire import frames
from doorward.core.wire.frames import WireError, WireNotification, WireRequest, WireResponse
from json_texts import FORBIDDEN, OURS_REFUSED


def refused(text: bytes, **more: Any) -> WireError:
    with pytest.raises(WireError) as error:
        frames.parse_frame(text, **more)
    answer = json.loads(error.value.frame())
    assert (answer["jsonrpc"], answer["error"]["code"]) == ("2.0", error.value.code)
    assert answer["error"]["message"].endswith((".", "?"))
    return error.value


def test_a_request_a_notification_and_a_response_are_told_apart():
    assert frames.parse_frame(b'{"jsonrpc":"2.0","id":1,"method":"a/b","params":{"x":[1]}}') == WireRequest(
        1, "a/b", {"x": [1]}
    )
    assert frames.parse_frame(b'{"jsonrpc":"2.0","id":"","method":"ping"}') == WireRequest("", "ping", {})
    assert frames.parse_frame(b'{"jsonrpc":"2.0","method":"n"}') == WireNotification("n", {})
    assert frames.parse_frame(b'{"jsonrpc":"2.0","id":7,"result":{"a":1}}') == WireResponse(7, {"a": 1})
    error = {"code": -1, "message": "no"}
    assert frames.parse_frame(json.dumps({"jsonrpc": "2.0", "id": 7, "error": error}).encode()) == WireResponse(
        7, {}, error
    )


def test_what_is_no_strict_json_is_a_parse_error():
    for text in (*FORBIDDEN, *(text for text, _ in OURS_REFUSED)):
        assert refused(text).code == -32700, text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b'{"a":1,"a":2}', "is JSON that is not accepted here: the key 'a' appears twice"),
        (b"[" * 65 + b"]" * 65, "is JSON that is not accepted here: the JSON text nests too deeply"),
        (b"[18446744073709551616]", "is JSON that is not accepted here: the number 18446744073709551616 is too large"),
        (b'{"a":NaN}', "is not JSON: NaN is not a JSON number"),
        (b"{", "is not JSON: not valid JSON at line 1"),
    ],
)
def test_json_that_is_not_taken_is_not_said_to_be_none(text: bytes, said: str):
    assert f"The message {said}" in refused(text).message


def test_a_frame_that_is_too_large_is_not_read():
    assert "the JSON text has 101 bytes; the limit is 100" in refused(b" " * 101, max_bytes=100).message


@pytest.mark.parametrize("text", [b"[]", b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]'])
def test_a_batch_is_refused(text: bytes):
    assert "Batches" in refused(text).message


@pytest.mark.parametrize(
    "frame",
    [
        {"jsonrpc": "2.0", "id": 1, "Method": "ping"},
        {"jsonrpc": "2.0", "id": 1, "method": "ping", "paramſ": {}},
        {"jsonrpc": "2.0", "id": 1, "method": "ping", "Params": {}},
        {"jsonrpc": "2.0", "id": 1, "method": "ping", "extra": 1},
        {"jsonrpc": "2.0", "id": 1, "method": "ping", "result": {}},
        {"jsonrpc": "2.0", "id": 1, "result": {}, "error": {"code": 1, "message": "x"}},
        {"jsonrpc": "2.0", "id": 1, "result": {}, "Error": 1},
        {"jsonrpc": "1.0", "id": 1, "method": "ping"},
        {"id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "id": 1, "method": ""},
        {"jsonrpc": "2.0", "id": 1, "method": 5},
        {"jsonrpc": "2.0", "id": 1, "method": "x" * 201},
        {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []},
        {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": None},
        {"jsonrpc": "2.0", "id": None, "method": "ping"},
        {"jsonrpc": "2.0", "id": True, "method": "ping"},
        {"jsonrpc": "2.0", "id": 1.5, "method": "ping"},
        {"jsonrpc": "2.0", "id": [1], "method": "ping"},
        {"jsonrpc": "2.0", "id": 2**53, "method": "ping"},
        {"jsonrpc": "2.0", "id": "x" * 257, "method": "ping"},
        {"jsonrpc": "2.0", "id": 1},
        {"jsonrpc": "2.0", "result": {}},
        {"jsonrpc": "2.0", "id": 1, "result": []},
        {"jsonrpc": "2.0", "id": 1, "error": "no"},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": "x", "message": "y"}},
        {},
        5,
        "ping",
        None,
    ],
)
def test_what_is_no_message_is_an_invalid_request(frame: Any):
    assert refused(json.dumps(frame).encode()).code == -32600


def test_a_refusal_carries_the_id_where_it_could_be_read():
    assert refused(b'{"jsonrpc":"2.0","id":"mine","method":"ping","extra":1}').id == "mine"
    assert refused(b'{"jsonrpc":"2.0","id":null,"method":"ping"}').id is None


@pytest.mark.parametrize("key", ["Name", "nAME", "ｎａｍｅ", "argumentſ"])
def test_a_key_that_only_looks_like_a_known_one_is_refused(key: str):
    with pytest.raises(WireError, match="did you mean"):
        frames.refuse_lookalikes({key: 1}, ("name", "arguments"), "tools/call")
    frames.refuse_lookalikes({"name": 1, "another": 2}, ("name", "arguments"), "tools/call")


def test_frames_are_written_as_they_are_read():
    assert json.loads(frames.answer("a\n", b'{"x":1}')) == {"jsonrpc": "2.0", "id": "a\n", "result": {"x": 1}}
    assert frames.parse_frame(frames.request(3, "ping")) == WireRequest(3, "ping", {})
    assert frames.parse_frame(frames.request(3, "ping", {"a": 1})) == WireRequest(3, "ping", {"a": 1})
    assert frames.parse_frame(frames.notification("n")) == WireNotification("n", {})
    assert frames.parse_frame(frames.notification("n", {"a": "\n"})) == WireNotification("n", {"a": "\n"})
    failed = frames.parse_frame(frames.failure(3, -5, "no", {"why": 1}))
    assert failed == WireResponse(3, {}, {"code": -5, "message": "no", "data": {"why": 1}})
    assert b"\n" not in frames.notification("n", {"a": "\n\r"})
