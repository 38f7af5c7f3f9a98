"""The official conformance suite, as an independent judge of the client for upstream servers."""

from __future__ import annotations

from pathlib import Path

import pytest
from client_suite import run
from conform import summary
from official_suite import REVISIONS


@pytest.mark.parametrize("revision", REVISIONS)
async def test_every_required_client_scenario_passes(revision: str, tmp_path: Path) -> None:
    verdict = await run(revision, tmp_path / revision)
    assert not verdict.missing, f"{summary(verdict, 'client')}\n{verdict.said[-3_000:]}"
    assert not verdict.faults, summary(verdict, "client")
