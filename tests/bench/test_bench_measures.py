"""The measures run, and every target has its line. What they find depends on the machine and is not judged here."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from bench.__main__ import show
from bench.lines import LINES, Line, number, report
from bench.questions.question import HELD_OUT
from bench.sizes import Sizes
from bench.suite import MEASURES, ONLY_FULL, Measure, sandbox

from bench import console_page, upstream_peers

TINY = Sizes(
    rounds=1,
    callers=4,
    calls=16,
    decisions=200,
    rows=300,
    pages=2,
    starts=1,
    warm_up=40,
    lifetime=100,
    spawns=4,
    tests=10,
    files=600,
    outputs=2,
    flood=10_000_000,
    programs=100,
    door_calls=16,
    clients=20,
    crowd_seconds=0.2,
    tools=30,
    upstreams=2,
    gateway_seconds=0.05,
    browsers=3,
    messages=3,
    rooms=2,
    personas=2,
    questions=2,
    houses=1,
    house_questions=3,
    searched=50,
    searches=5,
    searches_of_others=5,
)
NEEDS_PEERS = {line.key for line in LINES if line.needs}
"""The gateways of others are installed for `make bench` alone, and a browser has tests of its own."""
KEPT_AWAY = set() if HELD_OUT.is_file() else {"questions_held_out"}
"""The wordings that nobody may see who builds are not laid beside the others before all is built."""
IF_INSTALLED = {"draft_npm_of_bare"}
MAY_SHRINK = {
    "growth",
    "crowd_errors",
    "left_processes",
    "left_descriptors",
    "left_memory",
    "questions_held_out",
    "questions_harmful",
    "houses_right",
    "houses_wrong",
    "houses_harmful",
    "houses_score",
}


@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.keys[0])
def test_a_measure_fills_its_lines_with_sane_numbers(
    measure: Measure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upstream_peers, "INSTALLED", tmp_path / "nothing")
    monkeypatch.setattr(console_page, "BROWSERS", ())
    monkeypatch.delenv("DOORWARD_GGUF", raising=False)
    found = measure.run(tmp_path, TINY)
    assert set(found) - IF_INSTALLED == set(measure.keys) - NEEDS_PEERS - KEPT_AWAY
    for key, value in found.items():
        assert math.isfinite(value)
        assert value > 0 or key in MAY_SHRINK


def test_every_line_is_filled_by_one_measure_in_the_order_they_are_printed() -> None:
    assert [line.key for line in LINES] == [key for measure in MEASURES for key in measure.keys]


def test_the_table_lists_every_number_with_its_target_and_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    show(((line, line.below or line.at_least or 1.0) for line in LINES), "full")
    printed = capsys.readouterr().out.splitlines()
    for line in LINES:
        (shown,) = (one for one in printed if one.startswith(f"{line.says}  "))
        assert line.target in shown
        assert shown.endswith({True: "miss", False: "pass" if line.at_least else line.unit}[line.below is not None])


def test_what_was_not_measured_is_listed_with_the_way_to_measure_it(capsys: pytest.CaptureFixture[str]) -> None:
    show(((line, None) for line in LINES), "full")
    printed = capsys.readouterr().out
    assert printed.count("left out by --short") == len(ONLY_FULL) > 0
    assert printed.count("not possible here") == len(LINES) - len(ONLY_FULL) - len(NEEDS_PEERS)
    named = {line.key for line in LINES if line.named_by}
    assert printed.count("is not installed; `make bench` installs it") == len(NEEDS_PEERS - named)
    assert printed.count("DOORWARD_GGUF does not name a model file") == len(named)


def test_the_table_says_how_well_programs_are_confined_here(capsys: pytest.CaptureFixture[str]) -> None:
    show([], "degraded: no namespaces")
    assert "sandbox: degraded: no namespaces\n" in capsys.readouterr().out
    assert sandbox().startswith(("full", "degraded: ", "off: "))


def test_programs_get_every_line_measured_or_not() -> None:
    items = report({"help": 80.0})
    assert [item["key"] for item in items] == [line.key for line in LINES]
    assert {item["key"]: item["verdict"] for item in items}["help"] == "pass"
    assert {item["key"]: item["verdict"] for item in items}["growth"] == "not measured"


@pytest.mark.parametrize(
    ("value", "verdict"),
    [(None, "not measured"), (5_999.0, "miss"), (6_000.0, "tolerated"), (9_999.0, "tolerated"), (10_000.0, "pass")],
)
def test_a_rate_passes_is_tolerated_or_misses(value: float | None, verdict: str) -> None:
    line = Line(key="rate", says="calls", unit="/s", at_least=10_000, tolerated=6_000)
    assert line.verdict(value) == verdict


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0712, "0.07"), (4.99, "4.99"), (58.66, "58.7"), (120.4, "120"), (10_311.7, "10,312"), (5, "5")],
)
def test_numbers_are_shown_with_the_digits_that_count(value: float, shown: str) -> None:
    assert number(value) == shown
