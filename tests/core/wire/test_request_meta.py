"""What a request says about itself."""

from __future__ import annotations

from typing import Any

import pytest

from doorward.core.wire import meta
from doorward.core.wire.frames import WireError


def test_what_is_said_is_read_and_the_rest_left_alone():
    said = meta.parse_meta(
        "x",
        {
            "_meta": {
                "progressToken": 5,
                meta.VERSION: "2026-07-28",
                meta.CAPABILITIES: {"roots": {}},
                meta.CLIENT: {"name": "me", "version": "1"},
                meta.LOG_LEVEL: "notice",
                "traceparent": "00-x",
            }
        },
    )
    assert said == meta.RequestMeta(5, "2026-07-28", {"roots": {}}, "me", "notice")
    assert meta.parse_meta("x", {}) is meta.NO_META
    assert meta.parse_meta("x", {"_meta": {}}) is meta.NO_META


@pytest.mark.parametrize(
    "given",
    [
        None,
        [],
        "x",
        5,
        {"progressToken": 1.5},
        {"progressToken": True},
        {"progressToken": {}},
        {meta.VERSION: 5},
        {meta.CAPABILITIES: []},
        {meta.CLIENT: "me"},
        {meta.LOG_LEVEL: "loud"},
        {meta.LOG_LEVEL: ["info"]},
    ],
)
def test_what_cannot_be_is_refused(given: Any):
    with pytest.raises(WireError) as refusal:
        meta.parse_meta("x", {"_meta": given})
    assert refusal.value.code == -32602


def test_a_name_of_a_client_is_cut_and_never_trusted():
    assert meta.parse_meta("x", {"_meta": {meta.CLIENT: {"name": "n" * 500}}}).client == "n" * 200
    assert meta.parse_meta("x", {"_meta": {meta.CLIENT: {"name": 5}}}).client == ""
