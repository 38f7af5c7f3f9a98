"""`make conformance`: the official suite against Doorward, as a server and as a client, both revisions, summed up."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

import client_suite
from fixture import Fixture, serving
from official_suite import REVISIONS, Verdict, run


async def judge(fixture: Fixture, folder: Path) -> list[Verdict]:
    """What the suite finds, revision by revision, against one server."""
    return [await run(fixture.url, revision, folder / revision) for revision in REVISIONS]


def summary(verdict: Verdict, leg: str = "server") -> str:
    """For people: how many scenarios and checks there were, and all that is wrong."""
    passed = sum(check.status == "SUCCESS" for check in verdict.checks if check.scenario in verdict.required)
    wrong = [str(check) for check in verdict.faults] + [f"{name}: no check passed" for name in verdict.missing]
    lines = [
        f"{verdict.revision}, as a {leg}: {len(verdict.required)} required scenarios, {passed} checks passed, "
        f"{len(wrong)} faults"
    ]
    lines += [f"  {fault}" for fault in wrong]
    also = [name for name, good in verdict.extra.items() if good]
    fails = [name for name, good in verdict.extra.items() if not good]
    lines.append(f"  not required, and passed all the same: {', '.join(also) or 'none'}")
    lines.append(f"  not required, and not passed: {', '.join(fails) or 'none'}")
    return "\n".join(lines)


async def main() -> int:
    with tempfile.TemporaryDirectory(prefix="doorward-conformance-") as folder:
        async with serving(Path(folder)) as fixture:
            verdicts = await judge(fixture, Path(folder))
        as_client = [await client_suite.run(revision, Path(folder) / "client" / revision) for revision in REVISIONS]
    for verdict in verdicts:
        print(summary(verdict))
    for verdict in as_client:
        print(summary(verdict, "client"))
    return int(any(verdict.faults or verdict.missing for verdict in [*verdicts, *as_client]))


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
