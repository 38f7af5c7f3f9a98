"""The keeper's loop: ask the model, run its calls, give it the results, until it answers.

The loop is limited in model calls, tokens, time, and the energy of the caller.
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

_IDLE = "Nothing was done; the answer says why."
_SAME = 4
"""Number of the repetition from which the same call in a row is no longer run."""
_MOST_SAME = 6
_STUCK = "It was not made: you made this same call three times in a row. Use its result, do something else, or answer."
_BEHIND = "It was not made: a call before it waits for a person's approval."
_NOTHING = "Your answer is empty. Answer in words or, if you need to look something up first, call a tool."


class End(msgspec.Struct, frozen=True, kw_only=True):
    """How the loop ended: one word, the text of the answer and, if the request was not done, the reason."""

    ended: Ended
    text: str = ""
    error: str = ""
    waits: Done | None = None
    """The call that waits for approval."""
    asked: Wanted | None = None
    """That call as the model made it."""


class Work:
    def __init__(self, ctx: Context, brief: Brief, model: Model, hands: Hands, seconds: float, debug: bool) -> None:
        self.model = model
        self.calls: list[ToolCall] = []
        self.turns = 0
        self.tokens = 0
        self.so_far: list[Turn] = []
        """The transcript of this request."""
        self._ctx = ctx
        self._brief = brief
        self._hands = hands
        self._seconds = seconds
        self._debug = debug
        self._before: tuple[object, ...] = ()
        """The last call, to detect repetitions."""
        self._same = 0
        self._last = 0
        """Index of the first call of the model's last answer."""
        self._unread = 0
        """Number of unreadable calls."""
        self._corrected = False
        self._patience = Patience()
        self._quotations = Quotations(ctx.house.registry)

    async def done(self) -> End:
        """Run until there is an answer or a limit is reached."""
        try:
            async with asyncio.timeout(self._seconds) as limit:
                return await self._thought()
        except TimeoutError:
            if not limit.expired():
                raise
            self.calls += self._hands.stopped()
            by = "keeper.seconds" if self._seconds >= self._brief.limits.seconds else "the recipe's timeoutSeconds"
            error = f"The keeper did not finish within its time limit of {self._seconds:g} s ({by})."
            return End(ended="time_limit", error=error)
        except ModelFailed as failure:
            return End(ended="model_failed", error=f"{self.model.name} gave no answer: {failure.message}")

    async def _thought(self) -> End:
        limits = self._brief.limits
        while self.turns < limits.turns:
            if self.tokens >= limits.tokens:
                used = f"The keeper used {self.tokens} of at most {limits.tokens} tokens (keeper.tokens)"
                return End(ended="token_limit", error=f"{used} without finishing.")
            self.turns += 1
            end = await self._turn()
            if end is not None:
                return end
        return End(
            ended="turn_limit",
            error=f"The keeper asked its model {limits.turns} times, the limit (keeper.turns), without finishing.",
        )

    async def _turn(self) -> End | None:
        """Get one answer and run its calls; return an end if the loop is over."""
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
            return End(ended="model_failed", text=got.text.strip(), error=f"{self.model.name} was cut off: {got.cut}")
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
        note = f"{self.model.name} is rate limited. Trying again in {seconds:.0f} s."
        self._ctx.execution.step("note", {"text": note})
        yield

    def _words(self, got: Answer, reading: Reading, voice: Voice) -> End | None:
        """End with an answer without calls. If it is empty or only talks about calls, first correct the model once."""
        prose = reading.prose.strip()
        talks = not prose or only_talks(prose, self._brief.offered) or shows_a_call(prose)
        if talks and not self._corrected:
            self._corrected = True
            if got.text:
                self.so_far.append(Turn(role="assistant", text=got.text))
            self.so_far.append(Turn(role="result", text=correction("the person who asked") if prose else _NOTHING))
            return None
        if not prose:
            return End(ended="model_failed", error=f"{self.model.name} gave an empty answer.")
        voice.finish(prose)
        if got.lost is not None and not got.lost.understood:
            return End(ended="not_understood", text=prose, error="The keeper does not know how to do that.")
        return End(ended="answered", text=prose, error=_IDLE if got.lost is not None else self._undone())

    def _undone(self) -> str:
        """Return why an answer is not a success: no call was done, or not all calls of the last answer were.

        A shell line that ended with a non-zero exit code may still be a valid test, such as grep, and does not count.
        """
        if self.calls and all(one["status"] != "done" for one in self.calls):
            return "None of the calls was done; each call says why."
        if self._unread and not self.calls:
            return f"Nothing was run: the calls of {self.model.name} cannot be read."
        last = [
            one for one in self.calls[self._last :] if one["status"] != "failed" or one["input"].keys() != {"command"}
        ]
        undone = sum(one["status"] != "done" for one in last)
        if not undone:
            return ""
        return f"{undone} of the last {len(last)} calls {'was' if undone == 1 else 'were'} not done."

    def _say(self, prose: str, voice: Voice) -> None:
        """Stream the prose beside calls. It is not the answer, but followers see it."""
        if prose.strip():
            voice.finish(prose.strip())

    async def _repeated(self, got: Answer, reading: Reading, given: Prompt) -> list[str]:
        """Return for each call the reason not to run it, if it quotes others or the output of a command."""
        if got.asked:
            return [""] * len(reading.calls)
        said = given.turns[: len(given.turns) - len(self.so_far) + 1]
        others = [turn.text for turn in said if turn.role != "result"] + self._brief.typed
        given_back = [turn.text for turn in self.so_far if turn.role == "result"] + of_servers(given.instructions)
        return await asyncio.to_thread(why_not, self._quotations, reading.calls, others, given_back)

    async def _do(self, reading: Reading, repeated: Sequence[str]) -> End | None:
        """Run the calls of one answer in order and record each result."""
        most = self._brief.limits.calls
        self._hands.answering(new_id())
        self._last = len(self.calls)
        for number, wanted in enumerate(reading.calls):
            if number >= most:
                rest = len(reading.calls) - number
                self._leave(reading.calls[number:], f"{rest} calls were not made: one answer may hold {most} calls.")
                return None
            if repeated[number]:
                self._result(wanted, repeated[number])
                continue
            stuck = self._is_stuck(wanted)
            if stuck is not None:
                self._result(wanted, stuck)
                if self._same >= _MOST_SAME:
                    error = f"{self.model.name} made the same call {self._same} times in a row."
                    return End(ended="model_failed", error=error)
                continue
            done = await self._hands.do(wanted)
            end = self.took(wanted, done)
            if end is not None:
                self._leave(reading.calls[number + 1 :], _BEHIND)
                return end
        return None

    def _is_stuck(self, wanted: Wanted) -> str | None:
        """Return why a repeated call is not run, or None to run it."""
        again = self._before == _key(wanted)
        self._before, self._same = _key(wanted), self._same + 1 if again else 1
        return None if self._same < _SAME or self._hands.tells_how_it_stands(wanted) else _STUCK

    def took(self, wanted: Wanted, done: Done) -> End | None:
        """Record the result of a call; return an end if the loop cannot continue after it."""
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
        """Add the cost of an answer: as the provider counted it, or by our own count. The house model is free."""
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
