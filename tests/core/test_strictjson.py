from __future__ import annotations

import json
import math
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorward.core import strictjson
from json_texts import ALLOWED, FORBIDDEN, OURS_REFUSED, OURS_TAKEN

_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
    max_leaves=20,
)


def test_the_corpus_is_as_large_as_promised_and_names_nothing_twice() -> None:
    assert len(FORBIDDEN) >= 150
    assert len(ALLOWED) >= 60
    texts = [*FORBIDDEN, *(text for text, _ in ALLOWED), *(text for text, *_ in (*OURS_REFUSED, *OURS_TAKEN))]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("text", FORBIDDEN, ids=lambda text: ascii(text)[:40])
def test_what_json_forbids_is_refused(text: bytes) -> None:
    with pytest.raises(strictjson.NotJson):
        strictjson.loads(text)


@pytest.mark.parametrize("text", FORBIDDEN, ids=lambda text: ascii(text)[:40])
def test_what_json_forbids_is_refused_as_text_too(text: bytes) -> None:
    """As an argument of a command line comes: bytes that are no UTF-8 are halves of surrogate pairs there."""
    with pytest.raises(strictjson.NotJson):
        strictjson.loads(text.decode("utf-8", "surrogateescape"))


@pytest.mark.parametrize(("text", "value"), ALLOWED, ids=lambda text: ascii(text)[:40])
def test_what_json_allows_is_read_right(text: bytes, value: Any) -> None:
    assert _same(strictjson.loads(text), value)
    assert _same(strictjson.loads(text.decode()), value)


@pytest.mark.parametrize(("text", "why"), OURS_REFUSED, ids=lambda text: ascii(text)[:40])
def test_what_readers_disagree_about_is_refused(text: bytes, why: str) -> None:
    with pytest.raises(strictjson.NotJson):
        strictjson.loads(text)


@pytest.mark.parametrize(("text", "value", "why"), OURS_TAKEN, ids=lambda text: ascii(text)[:40])
def test_what_is_harmless_though_unclear_is_taken(text: bytes, value: Any, why: str) -> None:
    assert value is None or _same(strictjson.loads(text), value)


@given(_values)
def test_every_value_survives_being_written_and_read(value: Any) -> None:
    for ascii_only in (True, False):
        assert _same(strictjson.loads(json.dumps(value, ensure_ascii=ascii_only)), value)


@given(st.binary(max_size=40))
def test_any_bytes_give_a_value_or_a_sentence(text: bytes) -> None:
    said = ""
    try:
        strictjson.loads(text)
    except strictjson.NotJson as refusal:
        said = str(refusal)
    assert said == "" or 10 < len(said) < 300


@given(st.text('[]{}",:\\u0aeE+-. tfn\n\ud800é', max_size=24))
def test_what_is_read_is_what_the_standard_reader_reads(text: str) -> None:
    try:
        value = strictjson.loads(text)
    except strictjson.NotJson:
        return
    assert _same(value, json.loads(text))


@pytest.mark.parametrize("filler", [b"a", b"\\n", b"\xc3\xa9", b"[", b'\\"'], ids=ascii)
def test_a_long_text_beside_many_brackets_costs_little_memory(filler: bytes) -> None:
    """A reader that tries again for each character of a text needs gigabytes for this one."""
    text = b'["' + filler * (2_000_000 // len(filler)) + b'",' + b"[]," * 70 + b"1]"
    tracemalloc.start()
    try:
        strictjson.loads(text)
        assert tracemalloc.get_traced_memory()[1] < 60_000_000
    finally:
        tracemalloc.stop()


def test_a_text_over_the_limit_is_refused_unread() -> None:
    with pytest.raises(strictjson.NotJson, match="the JSON text has 11 bytes; the limit is 10"):
        strictjson.loads(b'"123456789"', max_bytes=10)


def test_a_refusal_never_repeats_a_long_key() -> None:
    key = "k" * 1_000_000
    with pytest.raises(strictjson.NotJson) as refusal:
        strictjson.loads(f'{{"{key}":1,"{key}":2}}')
    assert len(str(refusal.value)) < 120


def _same(one: Any, other: Any) -> bool:
    """Equal, and of equal types all the way down: 1, 1.0 and true are three values."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, float):
        return one == other and math.copysign(1, one) == math.copysign(1, other)
    return bool(one == other)


@given(_values, st.booleans(), st.booleans(), st.data())
def test_a_text_is_read_alike_as_bytes_whatever_form_it_has(value: Any, compact: bool, ascii_: bool, data: Any) -> None:
    """Bytes in the form that most programs write are read by a shorter way."""
    text = json.dumps(value, ensure_ascii=ascii_, separators=(",", ":") if compact else None)
    for _ in range(data.draw(st.integers(0, 3))):
        place = data.draw(st.integers(0, len(text)))
        text = text[:place] + data.draw(st.sampled_from('"{}[],:019eE.-+\\ /u\t')) + text[place + 1 :]
    assert _outcome(text.encode()) == _outcome(text)


@pytest.mark.parametrize("text", ['{"a":1,"a":1}', '{"a":{"b":0,"b":0}}', '[{"":1,"":2}]', "9223372036854775808"])
def test_what_is_compact_is_no_less_strict(text: str) -> None:
    assert _outcome(text.encode()) == _outcome(text) == "refused"


def _outcome(text: str | bytes) -> str:
    try:
        return repr(strictjson.loads(text))
    except strictjson.NotJson:
        return "refused"
