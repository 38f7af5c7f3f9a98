"""The examination: generated questions asked in a generated house through `agent/ask`, and their verdicts."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from bench.houses.count_kinds import COUNT_KINDS
from bench.houses.expectations import Answer
from bench.houses.file_kinds import FILE_KINDS
from bench.houses.judge import Verdict, judge
from bench.houses.link_kinds import LINK_KINDS
from bench.houses.order_kinds import ORDER_KINDS
from bench.houses.plan import Plan, make_plan
from bench.houses.question import Question
from bench.houses.record_kinds import RECORD_KINDS
from bench.houses.seed import open_plan
from bench.houses.snapshot import Snapshots
from bench.houses.wording import Speaker
from bench.questions.seed import SETTINGS, Seeded
from bench.questions.state import Ran, Watch
from doorward.config.settings import KeeperSettings, ModelSettings, PersonaSettings, Settings

ASK = "agent/ask"
KINDS: dict[str, Callable[[Speaker], Question | None]] = {
    one.__name__: one for one in (*COUNT_KINDS, *RECORD_KINDS, *LINK_KINDS, *FILE_KINDS, *ORDER_KINDS)
}
_TRIES = 40
_PATIENCE = 840
_ANSWER_PATIENCE = 600
HOUSE = "house"


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """One question with its answer, its verdict, and what was run for it."""

    house: str
    question: Question
    answer: str
    ended: str
    ran: list[Ran]
    seconds: float
    """How long the answer took, beside the commands that it ran."""
    verdict: Verdict


def make_questions(plan: Plan, amount: int, kinds: Sequence[str] = ()) -> list[Question]:
    """So many questions, of every kind in turn, in a chance order."""
    chance = random.Random(f"order {plan.world.work.name} {plan.world.seed}")
    names = list(kinds or KINDS)
    chance.shuffle(names)
    made: list[Question] = []
    empty: set[str] = set()
    for turn in range(amount + len(names)):
        name = names[turn % len(names)]
        if len(made) == amount or len(empty) == len(names):
            break
        speaker = Speaker(plan, random.Random(f"{plan.world.work.name} {plan.world.seed} {name} {turn}"))
        question = next((one for _ in range(_TRIES) if (one := KINDS[name](speaker))), None)
        if question is None:
            empty.add(name)
        else:
            made.append(question)
    return made


async def examine(
    folder: Path, house: str, seed: int, model: str, amount: int, kinds: Sequence[str] = ()
) -> AsyncIterator[Asked]:
    """Ask one house everything, and put it back as it was after each question."""
    plan = make_plan(house, seed)
    async with open_plan(plan, folder, _settings(model)) as seeded:
        asker = _Asker(seeded, house, model)
        await asker.begin()
        for question in make_questions(plan, amount, kinds):
            yield await asker.ask(question)


def _settings(model: str) -> Settings:
    """A model that runs on this machine gets the time that it needs, and no other model answers for it."""
    if model == HOUSE:
        return SETTINGS
    return msgspec.structs.replace(
        SETTINGS,
        keeper=KeeperSettings(seconds=_PATIENCE),
        personas=PersonaSettings(answer_seconds=_ANSWER_PATIENCE),
        models=ModelSettings(fallback=""),
    )


class _Asker:
    def __init__(self, seeded: Seeded, house: str, model: str) -> None:
        self._house, self._model = house, model
        self._watch = Watch(seeded)
        self._snapshots = Snapshots(seeded, self._watch)

    async def begin(self) -> None:
        await self._snapshots.begin()

    async def ask(self, question: Question) -> Asked:
        session, place = "", await self._watch.place()
        for words in question.before:
            session = str(_told(await self._prompt(words, session)).get("sessionId", session))
        between = await self._snapshots.changes()
        begun = await self._watch.place()
        outcome = await self._prompt(question.says, session)
        told = _told(outcome)
        ran = await self._watch.ran(begun)
        changes = await self._snapshots.changes()
        text = " ".join(str(told[one]) for one in ("response", "error") if told.get(one))
        took = {one.call: one.duration for one in ran}
        calls = [str(one.get("execution", "")) for one in told.get("toolCalls", ())]
        others = [one for one in ran if one.command != ASK]
        verdict = judge(question, Answer(question.says, text), str(told.get("ended", "")), others, between, changes)
        await self._clean_up(told, place)
        return Asked(
            house=self._house,
            question=question,
            answer=text,
            ended=str(told.get("ended", "")),
            ran=others,
            seconds=max(0.0, took.get(outcome.call, 0.0) - sum(took.get(one, 0.0) for one in calls)),
            verdict=verdict,
        )

    async def _clean_up(self, told: dict[str, Any], place: int) -> None:
        """Deny what waits, and take back what was done."""
        for one in told.get("toolCalls", ()):
            if one.get("ticket"):
                await self._watch.ask("approval/deny", {"id": one["ticket"]})
        await self._snapshots.restore(await self._watch.ran(place))

    async def _prompt(self, words: str, session: str) -> Any:
        params = {"prompt": words, "model": self._model, **({"session": session} if session else {})}
        return await self._watch.ask(ASK, params)


def _told(outcome: Any) -> dict[str, Any]:
    """The answer; what was refused or failed before there was one is its sentence."""
    return outcome.result if isinstance(outcome.result, dict) else {"response": outcome.message, "ended": outcome.code}
