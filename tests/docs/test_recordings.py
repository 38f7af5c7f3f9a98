"""The recorded terminal sessions of the documents are what a real shell shows when the same is typed again."""

from __future__ import annotations

import html
import re
import runpy
from pathlib import Path

import pytest
from console_blocks import ANYTHING, ROOT, compare

RECORDER = runpy.run_path(str(ROOT / "docs" / "record.py"))
RECORDINGS = ROOT / "docs" / "recordings"
_VARIES = re.compile(r"  (confidence \d+%|or: )")
"""How sure the house is, and what else it thought of, may change with what it learns; that it says so may not."""


@pytest.mark.parametrize("name", RECORDER["SESSIONS"])
def test_a_recorded_session_goes_the_same_way_again(name: str, tmp_path: Path) -> None:
    expected = [
        found[0] + ANYTHING if (found := _VARIES.match(line)) else line
        for line in (RECORDINGS / f"{name}.txt").read_text().splitlines()
    ]
    again = RECORDER["plain"](RECORDER["recorded"](name, tmp_path / ".doorward"))
    difference = compare([re.sub(r"(?<=confidence )\d+%", ANYTHING, line) for line in expected], again, {})
    assert not difference, f"run `make recording`\n{difference}"


@pytest.mark.parametrize("name", RECORDER["SESSIONS"])
def test_the_picture_of_a_session_shows_its_text_and_fetches_nothing(name: str) -> None:
    drawn = (RECORDINGS / f"{name}.svg").read_text()
    assert set(re.findall(r"https?://[^\"']*", drawn)) == {"http://www.w3.org/2000/svg"}
    shown = html.unescape(re.sub(r"<[^>]*>", "", drawn)).replace("\xa0", " ")
    typed = [line for line in RECORDER["SESSIONS"][name] if len(line) > 1]
    assert [line for line in typed if line not in shown] == []
