"""The keeper's loop: ask the model, run its calls, give it the results, until it answers.

The loop is limited in model calls, tokens, time, and the energy of the caller.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterator, Sequence

import msgspec

from doorward.agents.answers import (
    ModelAnswer,
    RateLimitRetry,
    correct_missing_call,
    find_unloaded,
    only_mentions_command,
    parse_answer,
    report_unreadable,
)
from doorward.agents.calls.parsed import ParsedAnswer, ParsedCall
from doorward.agents.drafts import StepDraft
from doorward.agents.keeper.prompt import KeeperContext, build_prompt
from doorward.agents.keeper.tool_runner import ToolRun, ToolRunner
from doorward.agents.keeper.tools import mentions_tool_call, reasons_not_to_run, server_descriptions
from doorward.agents.models.model import ChatTurn, Model, ModelFailed, Prompt
from doorward.agents.quotations import QuotationCheck
from doorward.agents.token_budget import IN_PROCESS_MODELS
from doorward.commands.agent_services import KeeperOutcome, KeeperToolCall
from doorward.commands.context import Context
from doorward.core.errors import NotAuthenticated, OutOfEnergy
from doorward.core.ids import new_id

log = logging.getLogger(__name__)

_NOT_DONE = "Nothing was done; the answer says why."
_REPEAT_LIMIT = 4
"""Number of the repetition from which the same call in a row is no longer run."""
_REPEAT_ABORT = 6
_REPEATED_CALL = (
    "It was not made: you made this same call three times in a row. Use its result, do something else, or answer."
)
_AFTER_PENDING = "It was not made: a call before it waits for a person's approval."
_EMPTY_ANSWER = "Your answer is empty. Answer in words or, if you need to look something up first, call a tool."


class LoopEnd(msgspec.Struct, frozen=True, kw_only=True):
    """How the loop ended: one word, the text of the answer and, if the request was not done, the reason."""

    ended: KeeperOutcome
    text: str = ""
    error: str = ""
    waits: ToolRun | None = None
    """The call that waits for approval."""
    asked: ParsedCall | None = None
    """That call as the model made it."""


class KeeperLoop:
    def __init__(
        self, ctx: Context, brief: KeeperContext, model: Model, hands: ToolRunner, seconds: float, debug: bool
    ) -> None:
        self.model = model
        self.calls: list[KeeperToolCall] = []
        self.turns = 0
        self.tokens = 0
        self.transcript: list[ChatTurn] = []
        """The transcript of this request."""
        self._ctx = ctx
        self._context = brief
        self._runner = hands
        self._seconds = seconds
        self._debug = debug
        self._last_key: tuple[object, ...] = ()
        """The last call, to detect repetitions."""
        self._repeats = 0
        self._last_answer_start = 0
        """Index of the first call of the model's last answer."""
        self._unreadable = 0
        """Number of unreadable calls."""
        self._corrected = False
        self._retry = RateLimitRetry()
        self._quotations = QuotationCheck(ctx.services.registry)

    async def run(self) -> LoopEnd:
        """Run until there is an answer or a limit is reached."""
        try:
            async with asyncio.timeout(self._seconds) as limit:
                return await self._run_turns()
        except TimeoutError:
            if not limit.expired():
                raise
            self.calls += self._runner.interrupted_calls()
            by = "keeper.seconds" if self._seconds >= self._context.limits.seconds else "the recipe's timeoutSeconds"
            error = f"The keeper did not finish within its time limit of {self._seconds:g} s ({by})."
            return LoopEnd(ended="time_limit", error=error)
        except ModelFailed as failure:
            return LoopEnd(ended="model_failed", error=f"{self.model.name} gave no answer: {failure.message}")

    async def _run_turns(self) -> LoopEnd:
        limits = self._context.limits
        while self.turns < limits.turns:
            if self.tokens >= limits.tokens:
                used = f"The keeper used {self.tokens} of at most {limits.tokens} tokens (keeper.tokens)"
                return LoopEnd(ended="token_limit", error=f"{used} without finishing.")
            self.turns += 1
            end = await self._run_turn()
            if end is not None:
                return end
        return LoopEnd(
            ended="turn_limit",
            error=f"The keeper asked its model {limits.turns} times, the limit (keeper.turns), without finishing.",
        )

    async def _run_turn(self) -> LoopEnd | None:
        """Get one answer and run its calls; return an end if the loop is over."""
        self._ctx.execution.step("thinking", {"turn": self.turns, "model": self.model.name})
        if (loads := find_unloaded(self.model)) is not None:
            loading = {"turn": self.turns, "model": self.model.name, "state": "loading"}
            self._ctx.execution.step("thinking", loading)
            await loads.load()
        given = await asyncio.to_thread(build_prompt, self._context, self.model, tuple(self.transcript))
        voice = StepDraft(self._ctx.execution)
        limits = self._ctx.services.settings.personas
        got = await self._retry.ask(self.model, given, limits, voice.update, self._note_wait)
        self._count_tokens(given, got)
        if got.cut:
            return LoopEnd(
                ended="model_failed", text=got.text.strip(), error=f"{self.model.name} was cut off: {got.cut}"
            )
        reading, unreadable = await parse_answer(got)
        if not reading.calls and not unreadable:
            return self._handle_prose(got, reading, voice)
        self._stream_prose(reading.prose, voice)
        self.transcript.append(ChatTurn(role="assistant", text=got.text, calls=got.asked))
        end = await self._run_calls(reading, await self._find_quotations(got, reading, given))
        self.transcript += report_unreadable(unreadable)
        self._unreadable += len(unreadable)
        return end

    @contextlib.contextmanager
    def _note_wait(self, seconds: float) -> Iterator[None]:
        note = f"{self.model.name} is rate limited. Trying again in {seconds:.0f} s."
        self._ctx.execution.step("note", {"text": note})
        yield

    def _handle_prose(self, got: ModelAnswer, reading: ParsedAnswer, voice: StepDraft) -> LoopEnd | None:
        """End with an answer without calls. If it is empty or only talks about calls, first correct the model once."""
        prose = reading.prose.strip()
        talks = not prose or only_mentions_command(prose, self._context.offered) or mentions_tool_call(prose)
        if talks and not self._corrected:
            self._corrected = True
            if got.text:
                self.transcript.append(ChatTurn(role="assistant", text=got.text))
            self.transcript.append(
                ChatTurn(role="result", text=correct_missing_call("the person who asked") if prose else _EMPTY_ANSWER)
            )
            return None
        if not prose:
            return LoopEnd(ended="model_failed", error=f"{self.model.name} gave an empty answer.")
        voice.finish(prose)
        if got.lost is not None and not got.lost.understood:
            return LoopEnd(ended="not_understood", text=prose, error="The keeper does not know how to do that.")
        return LoopEnd(
            ended="answered", text=prose, error=_NOT_DONE if got.lost is not None else self._failure_reason()
        )

    def _failure_reason(self) -> str:
        """Return why an answer is not a success: no call was done, or not all calls of the last answer were.

        A shell line that ended with a non-zero exit code may still be a valid test, such as grep, and does not count.
        """
        if self.calls and all(one["status"] != "done" for one in self.calls):
            return "None of the calls was done; each call says why."
        if self._unreadable and not self.calls:
            return f"Nothing was run: the calls of {self.model.name} cannot be read."
        last = [
            one
            for one in self.calls[self._last_answer_start :]
            if one["status"] != "failed" or one["input"].keys() != {"command"}
        ]
        undone = sum(one["status"] != "done" for one in last)
        if not undone:
            return ""
        return f"{undone} of the last {len(last)} calls {'was' if undone == 1 else 'were'} not done."

    def _stream_prose(self, prose: str, voice: StepDraft) -> None:
        """Stream the prose beside calls. It is not the answer, but followers see it."""
        if prose.strip():
            voice.finish(prose.strip())

    async def _find_quotations(self, got: ModelAnswer, reading: ParsedAnswer, given: Prompt) -> list[str]:
        """Return for each call the reason not to run it, if it quotes others or the output of a command."""
        if got.asked:
            return [""] * len(reading.calls)
        said = given.turns[: len(given.turns) - len(self.transcript) + 1]
        others = [turn.text for turn in said if turn.role != "result"] + self._context.recent_lines
        given_back = [turn.text for turn in self.transcript if turn.role == "result"] + server_descriptions(
            given.instructions
        )
        return await asyncio.to_thread(reasons_not_to_run, self._quotations, reading.calls, others, given_back)

    async def _run_calls(self, reading: ParsedAnswer, repeated: Sequence[str]) -> LoopEnd | None:
        """Run the calls of one answer in order and record each result."""
        most = self._context.limits.calls
        self._runner.start_answer(new_id())
        self._last_answer_start = len(self.calls)
        for number, wanted in enumerate(reading.calls):
            if number >= most:
                rest = len(reading.calls) - number
                self._skip(reading.calls[number:], f"{rest} calls were not made: one answer may hold {most} calls.")
                return None
            if repeated[number]:
                self._add_result(wanted, repeated[number])
                continue
            stuck = self._repetition_reason(wanted)
            if stuck is not None:
                self._add_result(wanted, stuck)
                if self._repeats >= _REPEAT_ABORT:
                    error = f"{self.model.name} made the same call {self._repeats} times in a row."
                    return LoopEnd(ended="model_failed", error=error)
                continue
            done = await self._runner.run(wanted)
            end = self.record(wanted, done)
            if end is not None:
                self._skip(reading.calls[number + 1 :], _AFTER_PENDING)
                return end
        return None

    def _repetition_reason(self, wanted: ParsedCall) -> str | None:
        """Return why a repeated call is not run, or None to run it."""
        again = self._last_key == _call_key(wanted)
        self._last_key, self._repeats = _call_key(wanted), self._repeats + 1 if again else 1
        return None if self._repeats < _REPEAT_LIMIT or self._runner.is_status_query(wanted) else _REPEATED_CALL

    def record(self, wanted: ParsedCall, done: ToolRun) -> LoopEnd | None:
        """Record the result of a call; return an end if the loop cannot continue after it."""
        self.calls.append(done.call)
        if done.call["status"] == "parked":
            return LoopEnd(ended="waiting", waits=done, asked=wanted)
        self._add_result(wanted, done.told)
        if done.code == NotAuthenticated.code:
            raise NotAuthenticated(done.message)
        if done.code == OutOfEnergy.code:
            return LoopEnd(ended="energy_limit", error=done.message)
        return None

    def _skip(self, calls: Sequence[ParsedCall], why: str) -> None:
        for wanted in calls if calls and calls[0].id else calls[:1]:
            self._add_result(wanted, why)

    def _add_result(self, wanted: ParsedCall, text: str) -> None:
        self.transcript.append(ChatTurn(role="result", text=text, answers=wanted.id, tool=wanted.name[:64]))

    def _count_tokens(self, given: Prompt, got: ModelAnswer) -> None:
        """Add the cost of an answer: as the provider counted it, or by our own count. The house model is free."""
        if self.model.name in IN_PROCESS_MODELS:
            pass
        elif got.spent is not None:
            self.tokens += got.spent.input_tokens + got.spent.output_tokens
        else:
            shown = "".join((given.instructions, *(turn.rendered_text for turn in given.turns)))
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


def _call_key(wanted: ParsedCall) -> tuple[object, ...]:
    return wanted.name, repr(wanted.params), wanted.args
