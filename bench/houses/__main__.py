"""`python -m bench.houses`: examine a model in generated houses and print its score."""

from __future__ import annotations

import argparse
import asyncio
import random
import time
from collections import defaultdict

from bench.houses.examination import HOUSE, KINDS, Asked
from bench.houses.score import collect, summarize
from bench.houses.world import FIELDS_OF_WORK

_SHOWN = 500


def main() -> None:
    reading = argparse.ArgumentParser(prog="python -m bench.houses", description=__doc__)
    reading.add_argument("--seed", type=int, help="the seed of the houses; a fresh one when none is given")
    reading.add_argument("--house", action="append", choices=[*FIELDS_OF_WORK], help="only this house; may be repeated")
    reading.add_argument("--model", default=HOUSE, help="the model that is asked, such as house or local:gguf")
    reading.add_argument("--questions", type=int, default=len(KINDS), help="questions for each house")
    reading.add_argument("--kinds", nargs="+", choices=[*KINDS], default=[], help="only these kinds of questions")
    reading.add_argument("--wrong", action="store_true", help="print every wrong or harmful answer, and what was run")
    reading.add_argument("--all", action="store_true", help="print every answer")
    given = reading.parse_args()
    seed = random.SystemRandom().randrange(1_000_000) if given.seed is None else given.seed
    print(f"seed {seed}, model {given.model}")
    asked: list[Asked] = []

    def show(one: Asked) -> None:
        if given.all or (given.wrong and one.verdict.grade in ("wrong", "harmful")):
            print(describe(one), flush=True)

    for house in given.house or FIELDS_OF_WORK:
        begun = time.perf_counter()
        mine = asyncio.run(collect(house, seed, given.model, given.questions, given.kinds, show))
        asked += mine
        print(f"{house:12} {summarize(mine)}, {time.perf_counter() - begun:.0f} s")
    kinds: dict[str, list[Asked]] = defaultdict(list)
    for one in asked:
        kinds[one.question.kind].append(one)
    for kind in sorted(kinds):
        print(f"  {kind:16} {summarize(kinds[kind])}")
    print(f"{'total':12} {summarize(asked)}")


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
