"""Commands by phrases that were taught, by their names, and by their examples."""

from __future__ import annotations

import time

import pytest
from house_prompts import ask, tool

from doorward.agents.house.commands import match_slots
from doorward.core.command import Example

DEPLOY = tool(
    "shop/deploy",
    schema={"properties": {"branch": {"type": "string"}, "times": {"type": "integer"}}},
    uses=(
        Example("ship {branch}", {"branch": "{branch}"}),
        Example("ship {branch} {times} times to {place}", {"times": "{times}", "note": "{branch} to {place}"}),
    ),
    reads_only=False,
)
STOCK = tool(
    "shop/stock",
    description="Show how many lamps the warehouse holds.",
    uses=(Example("lamps in the warehouse", {"kind": "lamp"}),),
)
CLEAR = tool(
    "shop/clear",
    description="Empty the warehouse of lamps.",
    uses=(Example("empty the whole warehouse", {}),),
    reads_only=False,
)
SORT = tool("shell/sort", schema={"properties": {"files": {"type": "array"}}, "required": ["files"]})


@pytest.mark.parametrize(
    ("request_", "calls"),
    [
        ("ship main", [("shop/deploy", {"branch": "main"})]),
        ("Ship “Main”!", [("shop/deploy", {"branch": "Main"})]),
        ("ship main 3 times to Oslo", [("shop/deploy", {"times": 3, "note": "main to Oslo"})]),
        ("lamps in the warehouse", [("shop/stock", {"kind": "lamp"})]),
        ("please show me the lamps in the warehouse", [("shop/stock", {"kind": "lamp"})]),
        ("run sort on notes/a.txt", [("shell/sort", {"files": ["notes/a.txt"]})]),
        ("sort the lines of notes/a.txt", [("shell/sort", {"files": ["notes/a.txt"]})]),
        ("ship main, but not now", []),
        ("ship main if it is ready", []),
        ("empty the whole warehouse", []),
        ("how many lamps in the warehouse", []),
        ("broken lamps in the warehouse", []),
        ("lamps", []),
        ("sort my socks", []),
        ("sort", []),
    ],
)
async def test_a_request_names_a_command(request_: str, calls: list[object]) -> None:
    assert (await ask(request_, tools=(DEPLOY, STOCK, CLEAR, SORT))).calls == calls


@pytest.mark.parametrize(
    ("says", "text", "found"),
    [
        ("deploy {branch} to {place}", "Deploy  main to  staging", {"branch": "main", "place": "staging"}),
        ("deploy {branch} to {place}", "deploy main", None),
        ("deploy {branch}", "undeploy main", None),
        ("{one} is {one}", "red is Red", {"one": "red"}),
        ("{one} is {one}", "red is blue", None),
        ("{one}{two}", "ab", None),
        ("say {text}", "say a\nb", None),
    ],
)
def test_slots_are_filled_from_the_words_between(says: str, text: str, found: dict[str, str] | None) -> None:
    assert match_slots(says, text) == found


def test_a_long_text_is_matched_in_no_time() -> None:
    begun = time.perf_counter()
    assert match_slots("a {x} b {y} c {z} d", "a b c " * 600 + " " * 300) is None
    assert time.perf_counter() - begun < 0.5
