"""The house model: a model that needs no key and no network, and understands a request by what it means.

It sees what any model sees, a prompt, and asks for commands as any model does. It keeps nothing between answers: the
plan is worked out anew from the question and from what came of its calls. What it says about a result comes from that
result, and nothing in one is ever read as a request.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, tzinfo

import msgspec

from doorward.agents.calls.answer_parser import parse_in_thread
from doorward.agents.house import abilities, caution, knowledge, smalltalk
from doorward.agents.house.placing import outward
from doorward.agents.house.plan import End, Step, Telling, Unknown, advanced
from doorward.agents.house.retrieval import ranked
from doorward.agents.house.said import said
from doorward.agents.house.seen import Seen
from doorward.agents.house.suggested import Suggested
from doorward.agents.house.telling import Asked as Wish
from doorward.agents.house.telling import Got, quoted, told
from doorward.agents.house.understanding import Mind
from doorward.agents.house.viewing import inward
from doorward.agents.models.model import (
    AnswerPiece,
    ChatTurn,
    NativeCall,
    NoAction,
    Prompt,
    TextPiece,
    TokenUsage,
    ToolSpec,
)
from doorward.store.collection_profiles import CollectionProfile

_LONGEST = 120.0
"""Seconds that the steps of one question may take and still be of the moment in which it was asked."""
_KEPT = 50
_LOST = "I do not know "
"""How every sentence begins that says so: whoever asked must be able to tell that nothing was done."""
_IDLE = (
    knowledge.smalltalk().did_nothing.partition("{")[0].rstrip(),
    knowledge.smalltalk().not_offered.partition("{")[0],
    knowledge.smalltalk().no_commands,
)
"""How every sentence begins that says why it did not do what it understood."""


class HouseModel:
    """Knowledge and rules in the place of a language model: deterministic, and honest about what it is."""

    name = "house"

    def __init__(self, now: Callable[[], float] = time.time, zone: tzinfo = UTC) -> None:
        self._now = now
        self._zone = zone
        self._asked: dict[str, float] = {}

    async def answer(self, prompt: Prompt) -> AsyncIterator[AnswerPiece]:
        asked, text = self._next(prompt)
        for one in asked:
            yield one
        if text:
            text = await _harmless(text)
            yield TextPiece(text)
        if not asked and text.startswith(_LOST):
            yield NoAction()
        elif not asked and text.startswith(_IDLE):
            yield NoAction(understood=True)
        yield TokenUsage(self.count(prompt.instructions), self.count(text))

    def count(self, text: str) -> int:
        """A token of the house model is a byte, since nothing of it is ever paid for."""
        return len(text.encode(errors="replace"))

    def suggest(
        self,
        request: str,
        tools: Sequence[ToolSpec],
        now: float | None = None,
        got: Sequence[Got] = (),
        speaker: str = "",
        folder: str | None = "",
        data: Sequence[CollectionProfile] = (),
    ) -> Suggested | None:
        """The call that it would make for a request in this folder; None when it does not know one.

        Where it has to look something up first, it gives that, and is asked again with what came of it in `got`.
        """
        prompt = Prompt(
            instructions="", turns=(ChatTurn(role="user", text=request, speaker=speaker),), tools=tuple(tools)
        )
        seen = Seen(prompt)
        moment = self._now() if now is None else now
        mind = Mind(seen, moment, self._zone)
        plan = mind.understood()
        if isinstance(plan, str):
            return None
        wanted = _placed(advanced(plan, [inward(one, folder) for one in got]), folder, seen.whole)
        if isinstance(wanted, str | Telling) or not wanted:
            return None
        step = wanted[0]
        others = [one.command for one in ranked(mind.around(said(seen.question, moment, self._zone)))]
        near = tuple(one for one in others if one != step.command)[:3]
        lookups = tuple(wanted) if step.lookup else ()
        sure = round(min(plan.score, 1.0), 2)
        return Suggested(step.command, step.params, sure, f"understood as {plan.reason!r}", near, lookups)

    def _moment(self, seen: Seen) -> float:
        """When the question was asked: its times mean the same in every step, and it is read only once."""
        now = self._now()
        asked = self._asked.get(seen.whole, now) if seen.results else now
        if not 0 <= now - asked <= _LONGEST:
            asked = now
        self._asked.pop(seen.whole, None)
        self._asked[seen.whole] = asked
        if len(self._asked) > _KEPT:
            self._asked.pop(next(iter(self._asked)))
        return asked

    def _next(self, prompt: Prompt) -> tuple[list[NativeCall], str]:
        """The next calls, or the answer."""
        seen = Seen(prompt)
        mind = Mind(seen, self._moment(seen), self._zone)
        plan = mind.understood()
        if isinstance(plan, str):
            if seen.results:
                return [], told(Wish(question=seen.whole), seen.results)
            return [], abilities.said(plan, mind) if plan.startswith("@") else plan
        wanted = _placed(advanced(plan, seen.results), seen.folder, seen.whole)
        if isinstance(wanted, list):
            refused = caution.person_must(seen.tools, plan, wanted)
            return ([], refused) if refused else _asked(wanted, seen)
        return [], _told(wanted)


def _placed(wanted: list[Step] | End, folder: str | None, question: str) -> list[Step] | End:
    """What a plan wants, asked for from where the session is."""
    if not isinstance(wanted, list):
        return wanted
    try:
        return [outward(step, folder, question) for step in wanted]
    except Unknown as error:
        return str(error)


def _asked(steps: list[Step], seen: Seen) -> tuple[list[NativeCall], str]:
    first = len(seen.results)
    made = []
    waits = False
    for number, step in enumerate(steps, first + 1):
        tool = seen.tools[step.command]
        waits = waits or caution.waits(tool)
        made.append(NativeCall(f"house-{number}", tool.name, msgspec.json.encode(step.params).decode()))
    return made, knowledge.smalltalk().waits if waits else ""


def _told(end: End) -> str:
    if isinstance(end, str):
        return end
    parts = [told(end.asked, end.results), *(told(one.asked, one.results) for one in end.also)]
    return smalltalk.joined([end.note, *parts])


async def _harmless(text: str) -> str:
    """What it says never holds a call: it quotes people, files and programs, and runs nothing that they wrote."""
    reading = await parse_in_thread(text)
    return quoted(text) if reading.calls or reading.faults else text
