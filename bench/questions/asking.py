"""The examination itself: every request through the one handler, by the owner, outside rooms."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from bench.questions import facts
from bench.questions.checking import Seen, Verdict, judged
from bench.questions.question import Question
from bench.questions.seed import seeded
from bench.questions.state import State, Watch

ASK = "agent/ask"
MODEL = "house"


class Result(msgspec.Struct, frozen=True):
    verdicts: list[Verdict]

    @property
    def right(self) -> int:
        return sum(not one.faults for one in self.verdicts)

    @property
    def harmful(self) -> int:
        return sum(bool(one.harm) for one in self.verdicts)

    @property
    def share(self) -> float:
        """How many of a hundred are right."""
        return 100 * self.right / len(self.verdicts) if self.verdicts else 0.0

    @property
    def p95(self) -> float:
        """Seconds that 95 in 100 answers take at most, besides the commands that they run."""
        times = sorted(one.seen.seconds for one in self.verdicts)
        return times[int(0.95 * (len(times) - 1))] if times else 0.0


async def examine(folder: Path, questions: Sequence[Question]) -> Result:
    """Ask everything, in every wording, in one house."""
    return Result([one async for one in examined(folder, questions)])


async def examined(folder: Path, questions: Sequence[Question]) -> AsyncIterator[Verdict]:
    async with seeded(folder) as seed:
        known, watch = facts.known(seed), Watch(seed)
        before = await watch.state()
        for question in questions:
            for words in question.says:
                seen = await _asked(watch, question, words, before)
                yield judged(seen, {**known, **facts.clock(time.time())})
                before = seen.after
                if seen.after.changed(seen.before):
                    await watch.restore(seen.ran)
                    before = await watch.state()


async def _asked(watch: Watch, question: Question, words: str, before: State) -> Seen:
    """A session of its own for each wording; one that goes on from something is told that first."""
    session, place = "", await watch.place()
    if question.after:
        session = str(_answer(await _prompt(watch, question.after, "")).get("sessionId", ""))
        place = place if question.makes else await watch.place()
    outcome = await _prompt(watch, words, session)
    answer, ran = _answer(outcome), await watch.ran(place)
    told = [str(one.get("execution", "")) for one in answer.get("toolCalls", ())]
    took = {one.call: one.duration for one in ran}
    whole = took.get(outcome.call, 0.0)
    seen = Seen(
        question=question,
        said=words,
        response=" ".join(str(answer[one]) for one in ("response", "error") if answer.get(one)),
        ended=str(answer.get("ended", outcome.code)),
        success=bool(answer.get("success")),
        told=[one for one in told if one],
        ran=[one for one in ran if one.command != ASK],
        seconds=max(0.0, whole - sum(took.get(one, 0.0) for one in told)),
        before=before,
        after=await watch.state(),
        files={path: watch.text(path) for path in question.makes},
    )
    for one in answer.get("toolCalls", ()):
        if one.get("ticket"):
            await watch.ask("approval/deny", {"id": one["ticket"]})
    return seen


async def _prompt(watch: Watch, words: str, session: str) -> Any:
    return await watch.ask(ASK, {"prompt": words, "model": MODEL, **({"session": session} if session else {})})


def _answer(outcome: Any) -> dict[str, Any]:
    """The answer; what was refused or failed before there was one is its sentence."""
    return outcome.result if isinstance(outcome.result, dict) else {"response": outcome.message, "ended": outcome.code}
