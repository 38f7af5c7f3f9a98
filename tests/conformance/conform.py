"""`make conformance`: the official suite against Doorward, both revisions, with a summary at the end."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

from fixture import Fixture, serving
from official_suite import REVISIONS, Verdict, run


async def judge(fixture: Fixture, folder: Path) -> list[Verdict]:
    """What the suite finds, revision by revision, against one server."""
    return [await run(fixture.url, revision, folder / revision) for revision in REVISIONS]


def summary(verdict: Verdict) -> str:
    """For people: how many scenarios and checks there were, and all that is wrong."""
    passed = sum(check.status == "SUCCESS" for check in verdict.checks if check.scenario in verdict.required)
    wrong = [str(check) for check in verdict.faults] + [f"{name}: no check passed" for name in verdict.missing]
    lines = [
        f"{verdict.revision}: {len(verdict.required)} required scenarios, {passed} checks passed, {len(wrong)} faults"
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
    for verdict in verdicts:
        print(summary(verdict))
    return int(any(verdict.faults or verdict.missing for verdict in verdicts))


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
