"""The official MCP conformance suite: run against a server or a client, and read back check by check."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Literal, NamedTuple

from node_peers import CONFORMANCE, NODE, package

Leg = Literal["server", "client"]
REVISIONS = ("2025-11-25", "2026-07-28")
_PATIENCE = 240.0
_WRONG = {"FAILURE", "WARNING"}
_RESULT = {
    "server": re.compile(r"server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z"),
    "client": re.compile(r"(.+)-\d{4}-\d\d-\d\dT[\d-]+Z"),
}


class Check(NamedTuple):
    """One thing that the suite looked at."""

    scenario: str
    id: str
    status: str
    message: str

    def __str__(self) -> str:
        return f"{self.scenario}: {self.id}: {self.status}{f': {self.message}' if self.message else ''}"


class Verdict(NamedTuple):
    """What the suite found for one revision of the specification."""

    revision: str
    required: list[str]
    checks: list[Check]
    said: str

    @property
    def missing(self) -> list[str]:
        """Required scenarios of which there is no check that passed: they prove nothing."""
        return [name for name in self.required if not any(c.status == "SUCCESS" for c in self._of(name))]

    @property
    def faults(self) -> list[Check]:
        """What is wrong in required scenarios; a warning stands for something that a server should do."""
        return [check for name in self.required for check in self._of(name) if check.status in _WRONG]

    @property
    def extra(self) -> dict[str, bool]:
        """Scenarios that this revision does not require, and whether they pass all the same."""
        names = dict.fromkeys(check.scenario for check in self.checks if check.scenario not in self.required)
        return {name: self._passes({check.status for check in self._of(name)}) for name in names}

    @staticmethod
    def _passes(statuses: set[str]) -> bool:
        return "SUCCESS" in statuses and not statuses & _WRONG

    def _of(self, scenario: str) -> list[Check]:
        return [check for check in self.checks if check.scenario == scenario]


def required(revision: str, leg: Leg) -> list[str]:
    """The scenarios that a revision requires, from the suite's own frozen list."""
    text = (package(CONFORMANCE) / "requirements" / f"{revision}.yaml").read_text()
    section = text.partition(f"\n{leg}:\n")[2].partition("\n\n")[0]
    names = [line.removeprefix("  - ") for line in section.splitlines() if line.startswith("  - ")]
    assert names, f"no required {leg} scenario is listed for {revision}"
    return names


async def run(url: str, revision: str, folder: Path) -> Verdict:
    """Everything that `revision` requires of a server, against the one at `url`; results are left in `folder`."""
    said = await ran("server", "--url", url, "--requirements", revision, "--output-dir", str(folder))
    return Verdict(revision, required(revision, "server"), left_in(folder, "server"), said)


async def ran(*words: str) -> str:
    """What the suite says when it is called with these words."""
    process = await asyncio.create_subprocess_exec(
        NODE,
        package(CONFORMANCE) / "dist" / "index.js",
        *words,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(_PATIENCE):
            said, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return said.decode()


def left_in(folder: Path, leg: Leg) -> list[Check]:
    """All checks of all results; some scenarios have a folder in their names."""
    return [check for file in sorted(folder.rglob("checks.json")) for check in _checks(file.parent, folder, leg)]


def _checks(result: Path, folder: Path, leg: Leg) -> list[Check]:
    name = result.relative_to(folder).as_posix()
    found = _RESULT[leg].fullmatch(name)
    assert found, f"the suite left {name}, which is not the result of a {leg} scenario"
    return [
        Check(found[1], one["id"], one["status"], one.get("errorMessage") or "")
        for one in json.loads((result / "checks.json").read_text())
    ]
