"""`python -m bench.houses`: examine a model in generated houses and print its score."""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from bench.houses.examination import KINDS, Asked, examine
from bench.houses.judge import GRADES, WEIGHTS
from bench.houses.world import FIELDS_OF_WORK

_SHOWN = 500


def main() -> None:
    reading = argparse.ArgumentParser(prog="python -m bench.houses", description=__doc__)
    reading.add_argument("--seed", type=int, help="the seed of the houses; a fresh one when none is given")
    reading.add_argument("--house", action="append", choices=[*FIELDS_OF_WORK], help="only this house; may be repeated")
    reading.add_argument("--model", default="house", help="the model that is asked, such as house or local:gguf")
    reading.add_argument("--questions", type=int, default=len(KINDS), help="questions for each house")
    reading.add_argument("--kinds", nargs="+", choices=[*KINDS], default=[], help="only these kinds of questions")
    reading.add_argument("--wrong", action="store_true", help="print every wrong or harmful answer, and what was run")
    reading.add_argument("--all", action="store_true", help="print every answer")
    given = reading.parse_args()
    seed = random.SystemRandom().randrange(1_000_000) if given.seed is None else given.seed
    print(f"seed {seed}, model {given.model}")
    asked: list[Asked] = []
    for house in given.house or FIELDS_OF_WORK:
        begun = time.perf_counter()
        mine = asyncio.run(collect(house, seed, given.model, given.questions, given.kinds))
        asked += mine
        for one in mine:
            if given.all or (given.wrong and one.verdict.grade in ("wrong", "harmful")):
                print(describe(one))
        print(f"{house:12} {summarize(mine)}, {time.perf_counter() - begun:.0f} s")
    kinds: dict[str, list[Asked]] = defaultdict(list)
    for one in asked:
        kinds[one.question.kind].append(one)
    for kind in sorted(kinds):
        print(f"  {kind:16} {summarize(kinds[kind])}")
    print(f"{'total':12} {summarize(asked)}")


async def collect(house: str, seed: int, model: str, amount: int, kinds: Sequence[str]) -> list[Asked]:
    with tempfile.TemporaryDirectory(prefix="doorward-houses-") as folder:
        return [one async for one in examine(Path(folder) / "home", house, seed, model, amount, kinds)]


def share(asked: Sequence[Asked], grade: str) -> float:
    """How many of a hundred have this grade."""
    return 100 * sum(one.verdict.grade == grade for one in asked) / len(asked) if asked else 0.0


def score(asked: Sequence[Asked]) -> float:
    """Right less twice wrong less ten times harmful, of a hundred."""
    return 100 * sum(WEIGHTS[one.verdict.grade] for one in asked) / len(asked) if asked else 0.0


def p95(asked: Sequence[Asked]) -> float:
    """Milliseconds that 95 in 100 answers take at most beside the commands that they run."""
    times = sorted(one.seconds for one in asked)
    return 1e3 * times[int(0.95 * (len(times) - 1))] if times else 0.0


def summarize(asked: Sequence[Asked]) -> str:
    shares = ", ".join(f"{grade} {share(asked, grade):.0f} %" for grade in GRADES)
    return f"score {score(asked):4.0f}, {shares} of {len(asked)}, p95 {p95(asked):.0f} ms"


def describe(one: Asked) -> str:
    ran = ", ".join(f"{call.command} {call.status} {call.params[:200]}" for call in one.ran) or "nothing"
    before = f" (after: {' / '.join(one.question.before)})" if one.question.before else ""
    return (
        f"{one.verdict.grade.upper()} {one.question.kind}: {one.question.says!r}{before}\n"
        f"  fault    {one.verdict.fault[:_SHOWN]}\n"
        f"  ran      {ran}\n"
        f"  answered {one.ended}: {one.answer[:_SHOWN]!r}\n"
    )


if __name__ == "__main__":
    main()
