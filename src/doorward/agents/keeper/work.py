"""One piece of work of the keeper: it thinks, does something, looks at what came of it, and so on to an answer.

Each way in which that ends is an `End`. What it may use up on the way is limited: how often its model is asked, how
many tokens that costs, how long all of it takes, and the energy of whoever it acts for.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterator, Sequence

import msgspec

from doorward.agents.answering import Answer
from doorward.agents.budget import FREE
from doorward.agents.calls.wanted import Reading, Wanted
from doorward.agents.heard import correction, heard, only_talks, told_of
from doorward.agents.keeper.briefing import Brief, prompt
from doorward.agents.keeper.hands import Done, Hands
from doorward.agents.keeper.own_tools import shows_a_call
from doorward.agents.keeper.quoted import of_servers, why_not
from doorward.agents.keeper.voice import Voice
from doorward.agents.models.model import Model, ModelFailed, Prompt, Turn
from doorward.agents.patience import Patience
from doorward.agents.quoting import Quotations
from doorward.agents.standing_in import must_load
from doorward.backends.context import Context
from doorward.backends.keeper_desk import Ended, ToolCall
from doorward.errors import NotAuthenticated, OutOfEnergy
from doorward.ids import new_id

log = logging.getLogger(__name__)

_IDLE = "It did nothing of what was asked; the answer says why."
_SAME = 4
"""From this time on, the same call in a row is not made again."""
_MOST_SAME = 6
_STUCK = (
    "It was not made: you made just this call three times in a row. Use what it gave, do something else, or answer."
)
_BEHIND = "It was not made: a call before it waits for a person, and what comes of that is not known yet."
_NOTHING = "You answered nothing. Answer in words or, if you need to find something out first, call a tool."


class End(msgspec.Struct, frozen=True, kw_only=True):
    """How it ended, in one word, in the words of the answer, and, where it was not done, why."""

    ended: Ended
    text: str = ""
    error: str = ""
    waits: Done | None = None
    """The call that waits for a person."""
    asked: Wanted | None = None
    """That call, as the model asked for it."""


class Work:
    def __init__(self, ctx: Context, brief: Brief, model: Model, hands: Hands, seconds: float, debug: bool) -> None:
        self.model = model
        self.calls: list[ToolCall] = []
        self.turns = 0
        self.tokens = 0
        self.so_far: list[Turn] = []
        """What the model said and was told for this request."""
        self._ctx = ctx
        self._brief = brief
        self._hands = hands
        self._seconds = seconds
        self._debug = debug
        self._before: tuple[object, ...] = ()
        """The call that was wanted last, and how often in a row."""
        self._same = 0
        self._last = 0
        """Where the calls of the model's last answer begin."""
        self._unread = 0
        """How many calls could not be read."""
        self._corrected = False
        self._patience = Patience()
        self._quotations = Quotations(ctx.house.registry)

    async def done(self) -> End:
        """Work until there is an answer, or no more may be used up."""
        try:
            async with asyncio.timeout(self._seconds) as limit:
                return await self._thought()
        except TimeoutError:
            if not limit.expired():
                raise
            self.calls += self._hands.stopped()
            by = "keeper.seconds" if self._seconds >= self._brief.limits.seconds else "the recipe's timeoutSeconds"
            error = f"The keeper was not done within {self._seconds:g} s, the most it has ({by})."
            return End(ended="time_limit", error=error)
        except ModelFailed as failure:
            return End(ended="model_failed", error=f"{self.model.name} gave no answer: {failure.message}")

    async def _thought(self) -> End:
        limits = self._brief.limits
        while self.turns < limits.turns:
            if self.tokens >= limits.tokens:
                used = f"The keeper used {self.tokens} tokens, of at most {limits.tokens} (keeper.tokens)"
                return End(ended="token_limit", error=f"{used}, and was not done.")
            self.turns += 1
            end = await self._turn()
            if end is not None:
                return end
        return End(
            ended="turn_limit",
            error=f"The keeper asked its model {limits.turns} times, the most it may (keeper.turns), and was not done.",
        )

    async def _turn(self) -> End | None:
        """One answer of the model and what it asks for; an end when there is nothing more to do."""
        self._ctx.execution.step("thinking", {"turn": self.turns, "model": self.model.name})
        if (loads := must_load(self.model)) is not None:
            loading = {"turn": self.turns, "model": self.model.name, "state": "loading"}
            self._ctx.execution.step("thinking", loading)
            await loads.load()
        given = await asyncio.to_thread(prompt, self._brief, self.model, tuple(self.so_far))
        voice = Voice(self._ctx.execution)
        limits = self._ctx.house.settings.personas
        got = await self._patience.answer(self.model, given, limits, voice.told, self._waiting)
        self._count(given, got)
        if got.cut:
            return End(ended="model_failed", text=got.text.strip(), error=f"{self.model.name} broke off: {got.cut}")
        reading, unreadable = await heard(got)
        if not reading.calls and not unreadable:
            return self._words(got, reading, voice)
        self._say(reading.prose, voice)
        self.so_far.append(Turn(role="assistant", text=got.text, calls=got.asked))
        end = await self._do(reading, await self._repeated(got, reading, given))
        self.so_far += told_of(unreadable)
        self._unread += len(unreadable)
        return end

    @contextlib.contextmanager
    def _waiting(self, seconds: float) -> Iterator[None]:
        note = f"{self.model.name} is asked too often, and again in {seconds:.0f} s."
        self._ctx.execution.step("note", {"text": note})
        yield

    def _words(self, got: Answer, reading: Reading, voice: Voice) -> End | None:
        """An answer without a call: the end, unless the model only talks about what it would do, or says nothing."""
        prose = reading.prose.strip()
        talks = not prose or only_talks(prose, self._brief.offered) or shows_a_call(prose)
        if talks and not self._corrected:
            self._corrected = True
            if got.text:
                self.so_far.append(Turn(role="assistant", text=got.text))
            self.so_far.append(Turn(role="result", text=correction("whoever asked") if prose else _NOTHING))
            return None
        if not prose:
            return End(ended="model_failed", error=f"{self.model.name} answered nothing.")
        voice.finish(prose)
        if got.lost is not None and not got.lost.understood:
            return End(ended="not_understood", text=prose, error="The keeper does not know how to do that.")
        return End(ended="answered", text=prose, error=_IDLE if got.lost is not None else self._undone())

    def _undone(self) -> str:
        """Why an answer is no success: nothing that was tried was done, or not all that was tried last.

        A line of the shell that ran and ended with an exit code may have been a question, such as that of grep.
        """
        if self.calls and all(one["status"] != "done" for one in self.calls):
            return "Nothing of what it tried was done; each call says why."
        if self._unread and not self.calls:
            return f"Nothing was run: {self.model.name} asked for calls that cannot be read."
        last = [
            one for one in self.calls[self._last :] if one["status"] != "failed" or one["input"].keys() != {"command"}
        ]
        undone = sum(one["status"] != "done" for one in last)
        if not undone:
            return ""
        return f"{undone} of the {len(last)} calls that it made last {'was' if undone == 1 else 'were'} not done."

    def _say(self, prose: str, voice: Voice) -> None:
        """What a model says beside its calls is not its answer, but whoever follows may hear it."""
        if prose.strip():
            voice.finish(prose.strip())

    async def _repeated(self, got: Answer, reading: Reading, given: Prompt) -> list[str]:
        """Of each call in a text why it is not made, should it stand in what others wrote or what a command gave."""
        if got.asked:
            return [""] * len(reading.calls)
        said = given.turns[: len(given.turns) - len(self.so_far) + 1]
        others = [turn.text for turn in said if turn.role != "result"] + self._brief.typed
        given_back = [turn.text for turn in self.so_far if turn.role == "result"] + of_servers(given.instructions)
        return await asyncio.to_thread(why_not, self._quotations, reading.calls, others, given_back)

    async def _do(self, reading: Reading, repeated: Sequence[str]) -> End | None:
        """Make the calls of one answer, one after the other, and remember what came of each."""
        most = self._brief.limits.calls
        self._hands.answering(new_id())
        self._last = len(self.calls)
        for number, wanted in enumerate(reading.calls):
            if number >= most:
                rest = len(reading.calls) - number
                self._leave(reading.calls[number:], f"{rest} calls were not made: one answer is read up to {most}.")
                return None
            if repeated[number]:
                self._result(wanted, repeated[number])
                continue
            stuck = self._is_stuck(wanted)
            if stuck is not None:
                self._result(wanted, stuck)
                if self._same >= _MOST_SAME:
                    error = f"{self.model.name} asked for the same call {self._same} times in a row, to no end."
                    return End(ended="model_failed", error=error)
                continue
            done = await self._hands.do(wanted)
            end = self.took(wanted, done)
            if end is not None:
                self._leave(reading.calls[number + 1 :], _BEHIND)
                return end
        return None

    def _is_stuck(self, wanted: Wanted) -> str | None:
        """Why a call is not made: it was made before, and nothing else since. None when it is made."""
        again = self._before == _key(wanted)
        self._before, self._same = _key(wanted), self._same + 1 if again else 1
        return None if self._same < _SAME or self._hands.tells_how_it_stands(wanted) else _STUCK

    def took(self, wanted: Wanted, done: Done) -> End | None:
        """Remember what came of a call; an end when the work cannot go on behind it."""
        self.calls.append(done.call)
        if done.call["status"] == "parked":
            return End(ended="waiting", waits=done, asked=wanted)
        self._result(wanted, done.told)
        if done.code == NotAuthenticated.code:
            raise NotAuthenticated(done.message)
        if done.code == OutOfEnergy.code:
            return End(ended="energy_limit", error=done.message)
        return None

    def _leave(self, calls: Sequence[Wanted], why: str) -> None:
        for wanted in calls if calls and calls[0].id else calls[:1]:
            self._result(wanted, why)

    def _result(self, wanted: Wanted, text: str) -> None:
        self.so_far.append(Turn(role="result", text=text, answers=wanted.id, tool=wanted.name[:64]))

    def _count(self, given: Prompt, got: Answer) -> None:
        """What an answer cost: as its provider counted, or else by our own count. The house's own costs nothing."""
        if self.model.name in FREE:
            pass
        elif got.spent is not None:
            self.tokens += got.spent.input_tokens + got.spent.output_tokens
        else:
            shown = "".join((given.instructions, *(turn.spoken for turn in given.turns)))
            self.tokens += self.model.count(shown) + self.model.count(got.text)
        if self._debug:
            log.info(
                "keeper: turn %d of call %s with %s: %d characters of instructions, %d turns, %d tools; %d characters "
                "and %d calls came back; %d tokens so far",
                self.turns,
                self._ctx.call.id,
                self.model.name,
                len(given.instructions),
                len(given.turns),
                len(given.tools),
                len(got.text),
                len(got.asked),
                self.tokens,
            )


def _key(wanted: Wanted) -> tuple[object, ...]:
    return wanted.name, repr(wanted.params), wanted.args
