"""The official suite against Doorward as a client: each scenario is a server of the suite, and one start of ours."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from official_suite import Check, Verdict, left_in, ran, required

_DRIVER = Path(__file__).with_name("client_driver.py")
_TURN = Path(__file__).with_name("client_turn.py")
_PATIENCE_MS = 120_000


async def run(revision: str, folder: Path) -> Verdict:
    """Everything that `revision` requires of a client; results are left in `folder`."""
    turns = folder.with_name(f"{folder.name}-turns")
    turns.mkdir(parents=True)
    command = shlex.join([sys.executable, "-S", str(_TURN), str(turns), sys.executable, str(_DRIVER)])
    said = await ran(
        *("client", "--command", command, "--requirements", revision),
        *("--timeout", str(_PATIENCE_MS), "--output-dir", str(folder)),
    )
    return Verdict(revision, required(revision, "client"), [*left_in(folder, "client"), *_broken(folder)], said)


def _broken(folder: Path) -> list[Check]:
    """Scenarios in which the driver broke, which the suite itself does not count as a fault."""
    return [
        Check(
            file.parent.relative_to(folder).as_posix()[: -len("-2026-01-01T00-00-00-000Z")], "driver", "FAILURE", text
        )
        for file in sorted(folder.rglob("stderr.txt"))
        if "Traceback" in (text := file.read_text())
    ]
