"""All measures, run one after the other in a folder that is thrown away."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from bench import (
    builds,
    calls,
    console_page,
    crowd,
    decisions,
    drafts,
    effort,
    first_list,
    house_answers,
    leftovers,
    line_calls,
    mcp_calls,
    memory,
    output,
    pages,
    programs,
    room_live,
    room_many,
    search,
    spawn,
    tool_list,
    upstream_calls,
    upstream_many,
)
from bench.confined import scratch_sandbox
from bench.houses import measurement as houses
from bench.lines import LINES, Line
from bench.sizes import SHORT, Sizes


class Measure(NamedTuple):
    keys: tuple[str, ...]
    """The lines it fills."""
    run: Callable[[Path, Sizes], dict[str, float]]
    long: bool = False
    """Whether it takes so long that only a full run has it."""


_GATEWAYS = ("doorward", "fastmcp", "mcp_proxy")

MEASURES = (
    Measure(
        ("step", "gate", "gate_outside", "gate_single", "calls", "changes", "plain", "of_plain"),
        calls.measure,
    ),
    Measure(("decision", "decision_first"), decisions.measure),
    Measure(("page_newest", "page_middle", "page_gate", "page_console"), pages.measure, long=True),
    Measure(("help", "python", "run", "hook", "start", "idle"), programs.measure),
    Measure(
        (
            *("spawn_raw", "spawn_bwrap", "spawn", "spawn_gate", "spawn_of_raw", "spawn_of_bwrap"),
            *("spawns_raw", "spawns", "spawns_of_raw"),
        ),
        spawn.measure,
    ),
    Measure(("tests_bare", "tests", "tests_of_bare"), builds.measure),
    Measure(("draft_open", "draft_diff", "draft_tests_of_bare", "draft_npm_of_bare"), drafts.measure),
    Measure(("effort_cycle", "effort_seen", "effort_size"), effort.measure),
    Measure(("output_first", "output_latest", "output_memory"), output.measure),
    Measure(("left_processes", "left_descriptors", "left_memory"), leftovers.measure),
    Measure(
        (
            *("asgi", "mcp", "mcp_of_asgi", "mcp_calls", "sdk_json", "mcp_of_sdk_json"),
            *("mcp_session", "sdk_sse", "mcp_of_sdk_sse"),
        ),
        mcp_calls.measure,
    ),
    Measure(("crowd_calls", "crowd_errors", "crowd_p99"), crowd.measure),
    Measure(("tools_first", "tools_list"), tool_list.measure),
    Measure(("line",), line_calls.measure),
    Measure(("mcp_start", "mcp_start_beside"), first_list.measure),
    Measure(
        (
            *("up_direct", "up_direct_alone"),
            *(f"up_{gateway}_{what}" for gateway in _GATEWAYS for what in ("calls", "alone", "p99", "cpu")),
            "up_of_best",
        ),
        upstream_calls.measure,
    ),
    Measure(("up_many_start", "up_many_list", "up_many_memory", "up_hanging_p99"), upstream_many.measure),
    Measure(("message_half", "message_p95"), room_live.measure),
    Measure(("rooms_memory",), room_many.measure),
    Measure(("console_bytes", "console_ready"), console_page.measure),
    Measure(
        (
            *("questions", "questions_right", "questions_held_out", "questions_harmful"),
            *("answer_p95", "ai_first", "ai_whole"),
        ),
        house_answers.measure,
    ),
    Measure(
        (
            *("houses_seed", "houses", "houses_right", "houses_wrong", "houses_harmful", "houses_score", "houses_p95"),
            *("houses_model_right", "houses_model_wrong", "houses_model_harmful"),
        ),
        houses.measure,
    ),
    Measure(
        (
            *("search_build", "search_p95", "search_memory"),
            *("search_recall", "search_first", "search_meaning", "search_bm25", "search_overlap"),
        ),
        search.measure,
    ),
    Measure(("growth",), memory.measure),
)


ONLY_FULL = frozenset(key for measure in MEASURES if measure.long for key in measure.keys)
"""The lines that only a full run has."""


def run(full: bool, sizes: Sizes | None = None) -> Iterator[tuple[Line, float | None]]:
    """Every line with its number as soon as it is known; None for what only a full run, or another machine, has."""
    sizes = sizes or (Sizes() if full else SHORT)
    lines = {line.key: line for line in LINES}
    with tempfile.TemporaryDirectory(prefix="doorward-bench-") as folder:
        for one in MEASURES:
            found = one.run(Path(folder), sizes) if full or not one.long else {}
            for key in one.keys:
                yield lines[key], found.get(key)


def sandbox() -> str:
    """How well programs are confined on this machine; the numbers about programs say nothing without it."""

    async def level(folder: Path) -> str:
        async with scratch_sandbox(folder) as (found, _):
            return str(await found.level())

    with tempfile.TemporaryDirectory(prefix="doorward-bench-") as folder:
        return asyncio.run(level(Path(folder)))
