from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doorward.core.escape_invisible import escape_invisible, to_storable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text", "plain text"),
        ("héllo ☂ 漢字 😀", "héllo ☂ 漢字 😀"),
        ("a\nb\tc", "a\nb\tc"),
        ("a\rb", "a\\rb"),
        ("\x00\x1b[31m\x7f", "\\u0000\\u001b[31m\\u007f"),
        ("safe\u202etxt.exe", "safe\\u202etxt.exe"),
        ("\u2066a\u2069", "\\u2066a\\u2069"),
        ("a\u200bb\u200cc\u200dd\u2060e\ufefff", "a\\u200bb\\u200cc\\u200dd\\u2060e\\ufefff"),
        ("soft\u00adhyphen", "soft\\u00adhyphen"),
        ("\u2028\u2029", "\\u2028\\u2029"),
        ("rm\u00a0-rf\u2003/\u3000", "rm\\u00a0-rf\\u2003/\\u3000"),
        ("\u3164\u115f\uffa0\u2800", "\\u3164\\u115f\\uffa0\\u2800"),
        ("a\ufe0fb\U000e0101", "a\\ufe0fb\\U000e0101"),
        ("tag\U000e0061", "tag\\U000e0061"),
        ("private\ue000\U0010ffff", "private\\ue000\\U0010ffff"),
        ("half\ud800", "half\\ud800"),
        ("", ""),
    ],
    ids=ascii,
)
def test_what_a_screen_would_hide_is_written_out(text: str, shown: str) -> None:
    assert escape_invisible(text) == shown


def test_on_one_line_breaks_are_written_out_too() -> None:
    assert escape_invisible("a\nb\tc d", lines=False) == "a\\nb\\tc d"
    assert escape_invisible("plain", lines=False) == "plain"


def test_no_character_at_all_slips_through() -> None:
    """Every one there is, each seen by itself: what is left as it is has a form of its own."""
    unseen = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"}
    for code in range(sys.maxunicode + 1):
        char = chr(code)
        if escape_invisible(char) == char and char not in " \n\t":
            assert unicodedata.category(char) not in unseen, hex(code)


@given(st.text())
def test_what_is_shown_hides_nothing_when_shown_again(text: str) -> None:
    shown = escape_invisible(text, lines=False)
    assert escape_invisible(shown, lines=False) == shown
    assert "\n" not in shown


@given(st.text(st.characters()))
def test_what_is_storable_can_be_written_and_is_else_unchanged(text: str) -> None:
    stored = to_storable(text)
    assert stored.encode().decode() == stored
    assert len(stored) == len(text)
    if not any("\ud800" <= char <= "\udfff" for char in text):
        assert stored == text
