"""The official conformance suite, as an independent judge of the MCP door."""

from __future__ import annotations

from pathlib import Path

from conform import judge, summary
from fixture import serving
from official_suite import REVISIONS


async def test_every_required_server_scenario_of_both_revisions_passes_and_its_calls_pass_the_gate(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path) as fixture:
        verdicts = await judge(fixture, tmp_path)
        recorded = await fixture.recorded()
    assert tuple(verdict.revision for verdict in verdicts) == REVISIONS
    for verdict in verdicts:
        assert not verdict.missing, f"{summary(verdict)}\n{verdict.said[-3_000:]}"
        assert not verdict.faults, summary(verdict)
    assert {("test/simple_text", "ok"), ("test/error_handling", "command_failed"), ("file/list", "ok")} <= recorded
