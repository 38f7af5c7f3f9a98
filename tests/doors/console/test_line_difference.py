"""What the recipe editor shows before a text is saved: which lines come and go."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import doorward
from node_peers import NODE
from waiting import PATIENCE

RUNNER = Path(__file__).parent / "page_modules.mjs"
STATIC = Path(doorward.__file__).parent / "doors" / "console" / "static"
LONG = [f"line {number}" for number in range(3_000)]

CASES = [
    ("a\nb", "a\nb", []),
    ("a\nb\nc", "a\nx\nc", [" a", "-b", "+x", " c"]),
    ("a", "a\nb", [" a", "+b"]),
    ("", "a", ["-", "+a"]),
    ("1\n2\n3\n4\n5\n6", "1\n2\n3\n4\n5\n6\n7", [" 4", " 5", " 6", "+7"]),
    ("a\nb\nc\nd", "b\nc\ne\nd", ["-a", " b", " c", "+e", " d"]),
    ("{\n  x\n}", "{\n  x,\n  y\n}", [" {", "-  x", "+  x,", "+  y", " }"]),
]


def test_the_difference_of_two_texts_is_the_lines_that_come_and_go() -> None:
    asked = [{"module": "lib/diff.js", "call": "computeDiff", "given": [old, new]} for old, new, _ in CASES]
    asked.append(
        {"module": "lib/diff.js", "call": "computeDiff", "given": ["\n".join(LONG), "\n".join(reversed(LONG))]}
    )
    lines = "".join(json.dumps(one) + "\n" for one in asked)
    ended = subprocess.run(
        [str(NODE), str(RUNNER), str(STATIC)], input=lines, capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    answers = [json.loads(line)["value"] for line in ended.stdout.splitlines()]
    assert [one.split("\n") if one else [] for one in answers[:-1]] == [lines for _, _, lines in CASES]
    assert len(answers[-1].split("\n")) == 6_000  # two texts too long to be compared well are shown whole
