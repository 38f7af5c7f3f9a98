"""`python -m bench.questions`: ask everything and print what was wrong."""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from pathlib import Path

from bench.questions.asking import Result, examine
from bench.questions.checking import Verdict
from bench.questions.question import HELD_OUT, asked, held_out

_SHOWN = 400


def main() -> None:
    reading = argparse.ArgumentParser(description=__doc__)
    reading.add_argument("only", nargs="*", help="ids of questions; all of them when none is named")
    reading.add_argument("--held-out", nargs="?", type=Path, const=HELD_OUT, help="the wording that was held out")
    reading.add_argument("--numbers", action="store_true", help="only how many are right and harmful")
    reading.add_argument("--all", action="store_true", help="show right answers, too")
    given = reading.parse_args()
    questions = held_out(given.held_out) if given.held_out else asked()
    chosen = [one for one in questions if not given.only or one.id in given.only]
    with tempfile.TemporaryDirectory(prefix="doorward-questions-") as folder:
        result = asyncio.run(examine(Path(folder) / "home", chosen))
    if not given.numbers:
        for one in result.verdicts:
            if one.faults or given.all:
                print(shown(one))
    print(summed(result))


def shown(one: Verdict) -> str:
    """One answer and what is wrong with it, for whoever reads along."""
    seen = one.seen
    ran = ", ".join(f"{call.command} {call.status} {call.params[:160]}" for call in seen.ran) or "nothing"
    after = f" (after: {seen.question.after})" if seen.question.after else ""
    return (
        f"{'WRONG' if one.faults else 'right'} {seen.question.id}: {seen.said!r}{after}\n"
        f"  ran      {ran}\n"
        f"  answered {seen.ended}: {seen.response[:_SHOWN]!r}\n"
        f"  {'; '.join(one.faults)[:1_200]}\n"
    )


def summed(result: Result) -> str:
    return (
        f"{result.right} of {len(result.verdicts)} right ({result.share:.1f} %), {result.harmful} harmful, "
        f"95 in 100 answered within {result.p95 * 1e3:.0f} ms besides their commands"
    )


if __name__ == "__main__":
    main()
