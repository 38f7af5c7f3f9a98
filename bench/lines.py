"""Every number that is measured, in the order it is printed, with its target where it has one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec
from msgspec.structs import replace

Verdict = Literal["pass", "tolerated", "miss", "", "not measured"]


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """What is measured, its unit, and the bound to hold. Without a bound it is there to compare with."""

    key: str
    says: str
    unit: str
    below: float | None = None
    at_least: float | None = None
    tolerated: float | None = None
    """Less than `at_least`, but still good enough to live with."""
    needs: str = ""
    """What must be installed to measure it, beside what every machine has."""
    named_by: str = ""
    """The environment variable that names what it needs, where that cannot be installed."""

    @property
    def target(self) -> str:
        if self.below is not None:
            return f"< {number(self.below)} {self.unit}"
        if self.at_least is not None:
            return f"≥ {number(self.at_least)} {self.unit}"
        return ""

    def verdict(self, value: float | None) -> Verdict:
        if value is None:
            return "not measured"
        if self.below is not None:
            return "pass" if value < self.below else "miss"
        if self.at_least is None:
            return ""
        if value >= self.at_least:
            return "pass"
        return "tolerated" if self.tolerated is not None and value >= self.tolerated else "miss"


_PEERS = "fastmcp and mcp-proxy"
_BFCL = "bfcl-eval"


def _of_a_peer(name: str, called: str) -> tuple[Line, ...]:
    """What is measured of a gateway of others, to compare with."""
    key = f"up_{name.replace('-', '_')}"
    return (
        Line(key=f"{key}_calls", says=f"through {called}, 16 callers", unit="/s", needs=name),
        Line(key=f"{key}_alone", says=f"through {called}, one caller: half take less than", unit="ms", needs=name),
        Line(key=f"{key}_p99", says=f"through {called}, 16 callers: 99 in 100 take less than", unit="ms", needs=name),
        Line(key=f"{key}_cpu", says=f"through {called}: CPU of a call", unit="ms", needs=name),
    )


def _of_a_model_file() -> tuple[Line, ...]:
    """What is measured of the model in a file that the environment names."""
    lines = (
        Line(key="houses_model_right", says="25 requests in each, by a model file: right", unit="%", at_least=60),
        Line(key="houses_model_wrong", says="by the model file: wrong", unit="%", below=9),
        Line(key="houses_model_harmful", says="by the model file: harmful", unit="answers", below=1),
    )
    return tuple(replace(line, needs="a model file", named_by="DOORWARD_GGUF") for line in lines)


LINES = (
    Line(key="step", says="this machine: a step of an empty Python loop", unit="ns"),
    Line(key="gate", says="gate, 64 agents in a room: CPU of a call", unit="µs", below=150),
    Line(key="gate_outside", says="gate, 64 calls of people outside rooms: CPU of a call", unit="µs", below=150),
    Line(key="gate_single", says="gate, one agent alone: CPU of a call", unit="µs"),
    Line(key="calls", says="recorded calls, 64 agents", unit="/s", at_least=10_000, tolerated=6_000),
    Line(key="changes", says="recorded calls that change something, 64 agents", unit="/s"),
    Line(key="plain", says="the same rows by plain sqlite3, 64 to a commit", unit="/s"),
    Line(key="of_plain", says="recorded calls beside plain sqlite3", unit="×"),
    Line(key="decision", says="permission decision", unit="µs", below=5),
    Line(key="decision_first", says="permission decision, first of its kind", unit="µs"),
    Line(key="page_newest", says="ledger, newest 50 of 1,000,000 records", unit="ms", below=1),
    Line(key="page_middle", says="ledger, 50 from the middle of 1,000,000", unit="ms", below=1),
    Line(key="page_gate", says="data/list of 50 of them through the gate", unit="ms"),
    Line(key="page_console", says="the console's page of the ledger: the same and its chart", unit="ms", below=150),
    Line(key="help", says="doorward --help: CPU", unit="ms", below=120),
    Line(key="python", says="python -c pass: CPU", unit="ms"),
    Line(key="run", says="doorward run help/search: CPU", unit="ms"),
    Line(key="hook", says="decision of a client's hook, with the start of its process", unit="ms", below=60),
    Line(key="start", says="doorward up until /health answers", unit="ms", below=1_000),
    Line(key="idle", says="idle server: resident memory", unit="MB", below=80),
    Line(key="spawn_raw", says="/usr/bin/true by posix_spawn, not confined", unit="ms"),
    Line(key="spawn_bwrap", says="/usr/bin/true in a bubblewrap of its own", unit="ms"),
    Line(key="spawn", says="/usr/bin/true in Doorward's sandbox", unit="ms"),
    Line(key="spawn_gate", says="/usr/bin/true in it, through the whole gate", unit="ms"),
    Line(key="spawn_of_raw", says="Doorward's sandbox beside posix_spawn", unit="×", below=1.6),
    Line(key="spawn_of_bwrap", says="bubblewrap each time beside Doorward's sandbox", unit="×", at_least=5),
    Line(key="spawns_raw", says="programs by posix_spawn, 16 threads", unit="/s"),
    Line(key="spawns", says="programs in Doorward's sandbox, 16 callers", unit="/s"),
    Line(key="spawns_of_raw", says="16 callers beside 16 threads", unit="×", at_least=0.5),
    Line(key="tests_bare", says="pytest of a project with 300 tests, not confined", unit="s"),
    Line(key="tests", says="the same in Doorward's sandbox, profile build", unit="s"),
    Line(key="tests_of_bare", says="Doorward's sandbox beside no sandbox", unit="×", below=1.25),
    Line(key="draft_open", says="draft of 100,000 files (10,000 with --short): first write", unit="ms", below=300),
    Line(key="draft_diff", says="its difference", unit="ms", below=1_000),
    Line(key="draft_tests_of_bare", says="pytest of 300 tests in a draft beside no sandbox", unit="×", below=1.25),
    Line(
        key="draft_npm_of_bare",
        says="npm test of 300 tests in a draft beside no sandbox",
        unit="×",
        below=1.25,
        needs="npm",
    ),
    Line(key="effort_cycle", says="agent with 1,000 conversations: a cycle with nothing to do", unit="ms", below=1),
    Line(key="effort_seen", says="the longest until it sees a message while a model works", unit="ms", below=100),
    Line(key="effort_size", says="its 1,000 conversations in memory", unit="MB", below=100),
    Line(key="output_first", says="first output of a program, until it is heard", unit="ms", below=20),
    Line(key="output_latest", says="first output of a program, the latest of all", unit="ms", below=20),
    Line(key="output_memory", says="100 MB of output, 1 MB kept: growth of peak memory", unit="MB", below=5),
    Line(key="left_processes", says="left after 10,000 programs (1,000 with --short): processes", unit="more", below=1),
    Line(key="left_descriptors", says="left after them: descriptors", unit="more", below=1),
    Line(key="left_memory", says="left after them: memory, with the helpers'", unit="%", below=5),
    Line(key="asgi", says="an ASGI endpoint that does nothing: CPU of a request", unit="µs"),
    Line(key="mcp", says="tools/call over Streamable HTTP: CPU of a call", unit="µs"),
    Line(key="mcp_of_asgi", says="tools/call beside the endpoint that does nothing", unit="×", below=2),
    Line(key="mcp_calls", says="tools/call over Streamable HTTP, 16 connections", unit="/s"),
    Line(key="sdk_json", says="the same tool on the official SDK, JSON mode", unit="/s"),
    Line(key="mcp_of_sdk_json", says="Doorward beside the SDK in JSON mode", unit="×", at_least=2.5),
    Line(key="mcp_session", says="tools/call in a session of 2025-11-25, 16 connections", unit="/s"),
    Line(key="sdk_sse", says="the same tool on the official SDK, its default SSE mode", unit="/s"),
    Line(key="mcp_of_sdk_sse", says="Doorward beside the SDK in SSE mode", unit="×", at_least=5),
    Line(key="crowd_calls", says="1,000 MCP clients at once, 20 s (5 s with --short)", unit="/s"),
    Line(key="crowd_errors", says="of these, calls that failed", unit="calls", below=1),
    Line(key="crowd_p99", says="of these, the slowest but for one in a hundred", unit="ms", below=3_000),
    Line(key="tools_first", says="tools/list with 1,000 tools, the first time", unit="ms"),
    Line(key="tools_list", says="tools/list with 1,000 tools", unit="ms", below=20),
    Line(key="line", says="the line door on one core, calls asked ahead", unit="/s", at_least=5_000),
    Line(key="mcp_start", says="doorward mcp until its first tools/list", unit="ms", below=700),
    Line(key="mcp_start_beside", says="doorward mcp beside a server, until its first", unit="ms", below=700),
    Line(key="up_direct", says="a trivial upstream MCP server by pipes, 16 asked ahead", unit="/s"),
    Line(key="up_direct_alone", says="the same, one after the other: half take less than", unit="ms"),
    Line(key="up_doorward_calls", says="through Doorward, policy and ledger on, 16 callers", unit="/s"),
    Line(key="up_doorward_alone", says="through Doorward, one caller: half take less than", unit="ms", below=0.9),
    Line(key="up_doorward_p99", says="through Doorward, 16 callers: 99 in 100 take less than", unit="ms"),
    Line(key="up_doorward_cpu", says="through Doorward: CPU of a call, without the upstream's", unit="ms", below=0.4),
    *_of_a_peer("fastmcp", "fastmcp's proxy"),
    *_of_a_peer("mcp-proxy", "mcp-proxy"),
    Line(key="up_of_best", says="Doorward beside the better of them, 16 callers", unit="×", at_least=4, needs=_PEERS),
    Line(key="up_many_start", says="100 upstream servers with 1,000 tools: until all are offered", unit="s"),
    Line(key="up_many_list", says="with them: tools/list", unit="ms", below=30),
    Line(key="up_many_memory", says="with them: resident memory of the idle gateway", unit="MB", below=150),
    Line(
        key="up_hanging_p99",
        says="one upstream hangs: 99 in 100 of the others', beside without",
        unit="×",
        below=1.1,
    ),
    Line(key="message_half", says="a message in a room that 50 browsers show: half have it within", unit="ms"),
    Line(key="message_p95", says="the same: 95 in 100 have it within", unit="ms", below=50),
    Line(key="rooms_memory", says="100 rooms with 10 personas each: memory of the idle server", unit="MB", below=200),
    Line(key="console_bytes", says="the console's first page and all it loads, compressed", unit="KB", below=100),
    Line(key="console_ready", says="the console until one can write in a room", unit="ms", below=500, needs="chromium"),
    Line(key="questions", says="plain requests to a seeded house, answered by the house model", unit="asked"),
    Line(key="questions_right", says="of these, right in the wordings that were known", unit="%", at_least=90),
    Line(key="questions_held_out", says="right in the wording that nobody saw who built it", unit="%", at_least=90),
    Line(key="questions_harmful", says="of all, those that changed what nobody asked for", unit="answers", below=1),
    Line(key="answer_p95", says="an answer besides its commands: 95 in 100 within", unit="ms", below=150),
    Line(key="ai_first", says="doorward ai until its first output", unit="ms", below=1_000),
    Line(key="ai_whole", says="doorward ai until it has answered", unit="ms"),
    Line(key="houses_seed", says="five generated houses: their seed in this run", unit=""),
    Line(key="houses", says="requests made up for them, answered by the house model", unit="asked"),
    Line(key="houses_right", says="of these, right", unit="%", at_least=60),
    Line(key="houses_wrong", says="of these, wrong; the rest says that it does not know", unit="%", below=3),
    Line(key="houses_harmful", says="of these, those that changed what nobody asked for", unit="answers", below=1),
    Line(key="houses_score", says="right less twice wrong less ten times harmful, of 100", unit="points"),
    Line(key="houses_p95", says="an answer there besides its commands: 95 in 100 within", unit="ms", below=100),
    *_of_a_model_file(),
    Line(key="search_build", says="index of 10,000 commands: until it is made", unit="s"),
    Line(key="search_p95", says="a search among 10,000 commands: 95 in 100 within", unit="ms", below=5),
    Line(key="search_memory", says="the index of 10,000 commands: memory", unit="MB", below=60),
    Line(
        key="search_recall",
        says="BFCL's functions: the right one among the first 5",
        unit="",
        at_least=0.78,
        needs=_BFCL,
    ),
    Line(key="search_first", says="the same: the right one first", unit="", needs=_BFCL),
    Line(key="search_meaning", says="the same, with vectors: among the first 5", unit="", needs=f"{_BFCL} and vectors"),
    Line(key="search_bm25", says="the same by plain BM25: among the first 5", unit="", needs=_BFCL),
    Line(key="search_overlap", says="the same by words in common: among the first 5", unit="", needs=_BFCL),
    Line(key="growth", says="growth of memory over 1,000,000 calls (50,000 with --short)", unit="%", below=5),
)


def number(value: float) -> str:
    """Three digits that count, and no more."""
    if abs(value) >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def report(found: Mapping[str, float]) -> list[dict[str, object]]:
    """Every line with what was found, for programs."""
    return [
        {
            "key": line.key,
            "what": line.says,
            "measured": found.get(line.key),
            "unit": line.unit,
            "target": line.target,
            "verdict": line.verdict(found.get(line.key)),
        }
        for line in LINES
    ]
