"""Values in headers: carried unchanged, or as Base64, and always back to what they were."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorward.core.wire import http


@pytest.mark.parametrize(
    ("value", "header"),
    [
        ("us-west1", "us-west1"),
        ("two words", "two words"),
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ("", "=?base64??="),
    ],
)
def test_a_value_is_written_as_the_protocol_has_it(value: str, header: str):
    assert http.encode_header(value) == header
    assert http.decode_header(header) == value


@given(st.text())
def test_every_value_comes_back(value: str):
    header = http.encode_header(value)
    assert header.isascii()
    assert header.strip() == header
    assert http.decode_header(header) == value


@pytest.mark.parametrize("header", ["=?base64?not base64?=", "=?base64?/w==?=", "=?base64?YQ?=", "a\x00b", "é", " a"])
def test_a_header_that_carries_no_value_is_refused(header: str):
    with pytest.raises(ValueError, match=r"^it "):
        http.decode_header(header)


def test_the_marks_count_only_as_they_are_written():
    assert http.decode_header("=?BASE64?YQ==?=") == "=?BASE64?YQ==?="
