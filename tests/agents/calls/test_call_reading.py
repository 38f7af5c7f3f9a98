"""Reading answers: whatever a model writes, it costs little, breaks nothing, and runs nothing that is quoted (R9.4)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doorward.agents.calls.answer_parser import MAX_CALLS, MAX_FAULTS, _Parser, parse
from doorward.agents.calls.json_calls import parse_native_call
from doorward.agents.calls.parsed import ParsedCall
from doorward.agents.models.model import NativeCall
from json_texts import FORBIDDEN

CALLS = [
    entry["text"]
    for file in sorted(Path(__file__).with_name("corpus").glob("*.json"))
    for entry in json.loads(file.read_text())
    if entry["calls"] or entry["faults"]
]
PIECES = [
    *("EXECUTE: ", "execute: ", "a/b ", "--c=", "--c", "{", "}", "[", "]", '"', "'", "\\", ":", ",", "\n", "\n\n", " "),
    *("<tool_call>", "</tool_call>", "<tool_use>", "<tool_name>", "<parameters>", "<function=a>", "<parameter=b>"),
    *(
        '<invoke name="a">',
        "</invoke>",
        "<think>",
        "</think>",
        "<!--",
        "-->",
        "```",
        "```json\n",
        "~~~",
        "`",
        "> ",
        "- ",
    ),
    *("[TOOL_CALLS]", "[ARGS]", "<|python_tag|>", "<|message|>", "to=a", "a(b=1)", "Action: a\nAction Input: ", "**"),
    *('{"name": "a", "arguments": {}}', '{"name": "a", "arguments": ', "“", "”", "For example:", "word", ". ", "\r\n"),
]
texts = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=5)), max_size=30).map("".join)
names = st.from_regex(r"[a-z]{1,8}/[a-z]{1,8}", fullmatch=True)
words = st.lists(st.from_regex(r"[a-z]{1,8}", fullmatch=True), min_size=1, max_size=6).map(" ".join)


@settings(max_examples=60)
@given(texts)
def test_no_text_breaks_it_and_what_is_read_is_whole(text: str) -> None:
    reading = parse(text)
    for call in reading.calls:
        assert call.name
        assert (call.params is None) != (call.args is None)
    assert all(sentence.endswith(".") for sentence in reading.faults)
    assert len(reading.prose) <= len(text)


@settings(max_examples=60)
@given(texts)
def test_nothing_within_a_quotation_is_a_call(text: str) -> None:
    quoted = "\n".join(f"> {line}" for line in text.splitlines())
    assert (parse(quoted).calls, parse(quoted).faults) == ((), ())


@settings(max_examples=60)
@given(texts)
def test_nothing_within_a_block_of_text_is_a_call(text: str) -> None:
    inside = text.replace("`", "'")
    reading = parse(f"So it stands there.\n```text\n{inside}\n```\n")
    assert (reading.calls, reading.faults) == ((), ())


@settings(max_examples=60)
@given(texts)
def test_nothing_within_a_thought_is_a_call_or_is_shown(text: str) -> None:
    inside = text.replace("<", "(")
    assert parse(f"<think>{inside}</think>Yes.").prose == "Yes."
    assert parse(f"<think>{inside}</think>Yes.").calls == ()


@settings(max_examples=20)
@given(st.lists(st.tuples(words, names, st.dictionaries(st.sampled_from("abcd"), st.text(max_size=20))), max_size=6))
def test_calls_between_words_are_found_in_order_and_the_words_stay(said: list[tuple[str, str, dict[str, str]]]) -> None:
    text = "".join(
        f"{before}.\n\nEXECUTE: {name}{''.join(f' --{key}={json.dumps(value)}' for key, value in params.items())}\n\n"
        for before, name, params in said
    )
    reading = parse(text)
    assert [(one.name, dict(one.args or ())) for one in reading.calls] == [(name, params) for _, name, params in said]
    assert reading.prose == "\n\n".join(f"{before}." for before, _, _ in said)
    assert reading.faults == ()


@pytest.mark.parametrize("lead", ["For example:\n", "You can write this:\n\n", "Anna said:\n"])
def test_no_spelling_of_the_corpus_is_a_call_when_it_is_introduced_as_an_example(lead: str) -> None:
    """A spelling that is marked as nothing else can be, such as a whole answer, has no introduction."""
    one_piece = [
        text for text in CALLS if "\n" not in text.strip() and text.lstrip().startswith(("EXECUTE", "<tool", "<f"))
    ]
    assert len(one_piece) > 60
    for text in one_piece:
        assert parse(lead + text).calls == (), text


def test_at_most_so_many_calls_are_read_and_the_rest_is_counted() -> None:
    reading = parse("EXECUTE: a/b --c=1\n" * (MAX_CALLS + 9_950))
    assert len(reading.calls) == MAX_CALLS
    assert reading.faults == (
        f"Only the first {MAX_CALLS} of your calls were read; 9950 more in the same answer were not made.",
    )
    assert reading.prose == ""


def test_at_most_so_many_faults_are_told() -> None:
    reading = parse("EXECUTE: a b\n" * 100)
    assert len(reading.faults) == MAX_FAULTS + 1
    assert reading.faults[-1] == "90 more calls cannot be read."


def test_a_fault_says_what_is_wrong_what_would_be_valid_and_what_was_given() -> None:
    (fault,) = parse('<tool_call>{"name": "data_list", "arguments": {"limit": NaN}}</tool_call>').faults
    assert "NaN is not a JSON number" in fault
    assert 'valid is {"name": "data_list"' in fault
    assert 'given \'{"name"' in fault


@pytest.mark.parametrize(
    "piece", [*PIECES, '\\"', "<a:invoke name='b'>", "<tool_use><name>a</name><input><", "EXECUTE: a --b={"]
)
def test_reading_looks_at_each_character_a_few_times_however_long_the_answer_is(piece: str) -> None:
    """Steps are counted, not seconds: an answer twice as long takes no more looks at each of its characters."""
    for more in ("", "\n", " x"):
        text = (piece + more) * (8_000 // len(piece + more))
        reader = _Parser(text)
        reader.parse()
        assert reader.page.characters_scanned <= 12 * len(text)


def test_tags_that_all_differ_are_looked_at_a_few_times_as_well() -> None:
    text = "".join(f"<tool_use><name>a</name><input><k{number}>v</tool_use>" for number in range(500))
    reader = _Parser(text)
    reader.parse()
    assert reader.page.characters_scanned <= 12 * len(text)


@pytest.mark.parametrize("arguments", ["", "  ", "{}"])
def test_a_native_call_without_arguments_has_none(arguments: str) -> None:
    wanted = parse_native_call(NativeCall("call_1", "ai_report", arguments))
    assert isinstance(wanted, ParsedCall)
    assert (wanted.name, wanted.params, wanted.id) == ("ai_report", {}, "call_1")


def test_a_native_call_keeps_its_arguments_and_its_id() -> None:
    wanted = parse_native_call(NativeCall("call_1", "data_list", '{"collection": "rooms", "approved": true}'))
    assert isinstance(wanted, ParsedCall)
    assert (wanted.params, wanted.id) == ({"collection": "rooms", "approved": True}, "call_1")


@pytest.mark.parametrize("arguments", ["[]", "null", "5", '"{}"', '{"a": 1', "{'a': 1}"])
def test_a_native_call_whose_arguments_are_no_object_is_a_fault(arguments: str) -> None:
    fault = parse_native_call(NativeCall("call_1", "data_list", arguments))
    assert isinstance(fault, str)
    assert fault.startswith("The call of 'data_list' was not made: its arguments must be one JSON object;")


def test_what_json_forbids_is_a_fault_in_every_spelling() -> None:
    for raw in FORBIDDEN:
        text = raw.decode("utf-8", "surrogateescape")
        assert isinstance(parse_native_call(NativeCall("1", "a", '{"b": ' + text + "}")), str), text
        for spelling in ('<tool_call>{"name": "a", "arguments": {"b": %s}}</tool_call>', 'EXECUTE: a {"b": %s}'):
            reading = parse(spelling % text)
            assert reading.calls == (), text
