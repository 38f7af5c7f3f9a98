"""All measures, run one after the other in a folder that is thrown away."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from doorward.bench import calls, decisions, memory, pages, programs
from doorward.bench.lines import LINES, Line
from doorward.bench.sizes import Sizes


class Measure(NamedTuple):
    keys: tuple[str, ...]
    """The lines it fills."""
    run: Callable[[Path, Sizes], dict[str, float]]
    long: bool = False
    """Whether it takes so long that only a full run has it."""


MEASURES = (
    Measure(
        ("step", "gate", "gate_outside", "gate_single", "calls", "changes", "plain", "of_plain"),
        calls.measure,
    ),
    Measure(("decision", "decision_first"), decisions.measure),
    Measure(("page_newest", "page_middle", "page_gate"), pages.measure, long=True),
    Measure(("help", "python", "run", "start", "idle"), programs.measure),
    Measure(("growth",), memory.measure, long=True),
)


def run(full: bool, sizes: Sizes | None = None) -> Iterator[tuple[Line, float | None]]:
    """Every line with its number as soon as it is known; None for what only a full run measures."""
    lines = {line.key: line for line in LINES}
    with tempfile.TemporaryDirectory(prefix="doorward-bench-") as folder:
        for one in MEASURES:
            found = one.run(Path(folder), sizes or Sizes()) if full or not one.long else {}
            for key in one.keys:
                yield lines[key], found.get(key)
