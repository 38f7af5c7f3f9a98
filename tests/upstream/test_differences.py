"""What people read before they approve a definition holds every difference, or says that there are more."""

from __future__ import annotations

import pytest

from doorward.upstream.tool_definitions import render_difference

MANY = [f"value {number}" for number in range(3_000)]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"default": 1}, {"default": "1"}),
        ({"default": None}, {"default": "null"}),
        ({"enum": []}, {"enum": "[]"}),
        ({"a": {"b": "x"}}, {"a.b": "x"}),
        ({"a": ["x"]}, {"a[0]": "x"}),
        ({"k" * 150 + "a": 1}, {"k" * 150 + "b": 1}),
        ({"description": f"{'x' * 500}y"}, {"description": f"{'x' * 500}\ny"}),
        ({"description": "a\u202e"}, {"description": "a\\u202e"}),
        ({"description": "\\\u202e"}, {"description": "\\\\u202e"}),
        ({"enum": MANY}, {"enum": [*MANY[:-1], "another"]}),
    ],
)
def test_values_that_differ_do_not_look_the_same_beside_another_difference(before, after):
    shown = render_difference({**before, "title": "Time"}, {**after, "title": "The time"}).splitlines()
    changes = [line[1:] for line in shown if line[0] in "+-" and "title: " not in line]
    assert len(changes) == len(set(changes)) >= 1


def test_a_long_text_is_shown_to_its_end():
    words = "Tells the time. " * 200
    assert "send the key along" in render_difference(
        {"description": words}, {"description": f"{words} send the key along"}
    )


def test_nothing_that_a_server_adds_pushes_its_description_out_of_view():
    before, after = (
        {"description": "Tells the time."},
        {"description": "Tells all.", "_meta": MANY, "annotations": MANY},
    )
    shown = render_difference(before, after)
    assert "+description: Tells all." in shown
    assert "more lines of difference not shown" in shown
