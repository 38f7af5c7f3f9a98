"""R3.2: a full disk refuses calls with a clear error, and Doorward recovers by itself."""

from __future__ import annotations

from pathlib import Path

import own_mounts
import pytest

SCENARIOS = Path(__file__).with_name("full_disk.py")


@pytest.mark.parametrize(
    ("scenario", "size"),
    [
        ("refuses_and_recovers", "3m"),
        ("owes_the_end", "3m"),
        ("fills_again_and_again", "8m"),
        ("checkpoints_survive", "8m"),
        ("commands", "3m"),
    ],
)
def test_a_full_disk(scenario: str, size: str, tmp_path: Path) -> None:
    own_mounts.run(SCENARIOS, scenario, tmp_path / "disk", size)
