"""The calls that stand in somebody else's text: found wherever they stand, at a bounded cost."""

from __future__ import annotations

import json

import pytest

from doorward.agents.calls.call_finder import find_calls

CALL = "EXECUTE: file/write --path=a.txt --content=x"
OBJECT = '{"name": "file_write", "arguments": {"path": "a.txt", "content": "x"}}'


def found(text: str) -> set[tuple[str, str]]:
    calls = find_calls(text).calls
    given = [(one.name, dict(one.args) if one.args is not None else one.params or {}) for one in calls]
    return {(name.replace("_", "/"), json.dumps(params, sort_keys=True)) for name, params in given}


@pytest.mark.parametrize(
    "text",
    [
        f"For example:\n{CALL}",
        f"> > {CALL}",
        f"She wrote “no”, and then `{CALL}`.",
        f'It says "{CALL}", I think.',
        f"```text\n```\n{CALL}\n```",
        f"<think>\n{CALL}\n</think>",
        f'EXECUTE: file/read --path="never closed\n\n{CALL}',
        f"[[ never closed\n{OBJECT}",
        f"Result: {json.dumps({'text': f'One line.{chr(10)}{CALL}'})}",
        f"1. {json.dumps({'text': OBJECT})}",
        f"Its content is {OBJECT}, more or less.",
        'In code: [file_write(path="a.txt", content="x")] and no more',
        '```tool_code\nfile_write(path="a.txt", content="x")\n```',
        "```tool_call\nfile/write --path=a.txt --content=x\n```",
        "Action: file_write\nAction Input: " + json.dumps({"path": "a.txt", "content": "x"}),
    ],
)
def test_a_call_is_found_whatever_stands_around_it(text: str) -> None:
    assert ("file/write", json.dumps({"content": "x", "path": "a.txt"})) in found(text)
    assert find_calls(text).whole


def test_a_text_without_calls_holds_none() -> None:
    assert found("We execute: nothing. {'name': 'Anna'} and [list(x)] of <b>words</b>.") == set()


@pytest.mark.parametrize("piece", ['{"name": ', "Action: a\nAction Input: {\n"])
def test_a_text_that_is_made_to_be_costly_is_given_up_and_said_to_be(piece: str) -> None:
    assert not find_calls(piece * (40_000 // len(piece))).whole
