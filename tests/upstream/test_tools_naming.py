"""What tools are called: by rule, never by order of arrival, and never by the name of something else."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doorward.core.names import WIRE, is_canonical, normalise
from doorward.upstream.tool_names import ToolKey, ToolNames, name_tools, why_unusable

SERVERS = st.sampled_from(["a", "a_b", "a-b", "b", "mcp", "data", "a" * 31])
TOOLS = st.one_of(
    st.sampled_from(
        ["b_c", "c", "b.c", "B_C", "list", "List", "_list", "读", "x" * 60, "x" * 61, "x" * 200, "servers"]
    ),
    st.text("abC1._- /é读", max_size=5).map(lambda text: f"{text}z"),
)
SOME = st.lists(st.builds(ToolKey, SERVERS, TOOLS), min_size=1, max_size=12, unique=True)
TAKEN = frozenset(("data_list", "mcp_servers", "a_b_c", "mcp_a_c"))


@settings(max_examples=60, deadline=None)
@given(SOME, st.randoms())
def test_the_order_of_arrival_changes_no_name(tools, chance):
    before = name_tools(tools, TAKEN)
    chance.shuffle(tools)
    assert name_tools(tools, TAKEN) == before


@settings(max_examples=60, deadline=None)
@given(SOME)
def test_every_tool_has_names_of_its_own_that_every_door_takes(tools):
    names = name_tools(tools, TAKEN)
    assert set(names) == set(tools)
    assert all(is_canonical(one.canonical) and WIRE.fullmatch(one.wire) for one in names.values())
    assert len({one.canonical for one in names.values()}) == len({one.wire for one in names.values()}) == len(tools)


@settings(max_examples=60, deadline=None)
@given(SOME)
def test_no_tool_has_a_name_that_means_something_else(tools):
    names = name_tools(tools, TAKEN)
    canonical = {normalise(one.canonical): tool for tool, one in names.items()}
    for tool, one in names.items():
        assert normalise(one.wire) not in TAKEN
        assert canonical.get(normalise(one.wire), tool) == tool


@settings(max_examples=60, deadline=None)
@given(SOME, SOME)
def test_a_tool_keeps_its_names_whatever_others_come_unless_they_would_share_one(tools, others):
    alone, together = name_tools(tools), name_tools([*tools, *others])
    spelt = {one for tool, names in together.items() if tool not in alone for one in names}
    for tool, names in alone.items():
        if names != together[tool]:
            plain = name_tools([tool])[tool]
            rivals = [name_tools([other])[other] for other in others if other != tool]
            assert any({*plain} & {*rival} or _near(plain, rival) for rival in rivals) or {*names} & spelt


def _near(one: ToolNames, other: ToolNames) -> bool:
    """Whether a wire name of one reads like the canonical name of the other."""
    return normalise(one.wire) == normalise(other.canonical) or normalise(other.wire) == normalise(one.canonical)


def test_tools_that_would_share_a_name_all_get_a_mark():
    names = name_tools(
        [ToolKey("a", "b_c"), ToolKey("a_b", "c"), ToolKey("z", "Get"), ToolKey("z", "get"), ToolKey("z", "put")]
    )
    wires = [names[ToolKey("a", "b_c")].wire, names[ToolKey("a_b", "c")].wire]
    assert all(wire.startswith("a_b_c_") for wire in wires)
    assert [names[ToolKey("z", name)].wire for name in ("Get", "get", "put")] == ["z_Get", "z_get", "z_put"]
    canonical = [names[ToolKey("z", name)].canonical for name in ("Get", "get")]
    assert all(name.startswith("mcp/z/get-") for name in canonical)
    assert names[ToolKey("z", "put")].canonical == "mcp/z/put"


def test_a_tool_cannot_take_the_marked_name_of_another():
    marked = name_tools([ToolKey("a", "b_c"), ToolKey("a_b", "c")])[ToolKey("a_b", "c")].wire
    thief = ToolKey("a", marked.removeprefix("a_"))
    names = name_tools([ToolKey("a", "b_c"), ToolKey("a_b", "c"), thief])
    assert names[thief].wire != marked
    assert names[ToolKey("a_b", "c")].wire != marked


@pytest.mark.parametrize(
    ("tool", "why"),
    [
        ("", "no letter"),
        ("___", "no letter"),
        ("x" * 257, "257 characters"),
        ("read\u200bfile", "invisible characters"),
        ("read\nfile", "invisible characters"),
        ("read_file", ""),
        ("read file", ""),
        ("读取", ""),
    ],
)
def test_a_name_that_is_no_usable_text_is_not_used(tool, why):
    assert why in why_unusable(tool)
    assert bool(why) is bool(why_unusable(tool))
