"""The agent loop: ask the model, run the calls of its answer, give it the results, until it answers.

Personas and the keeper share it. They differ in their prompt, their calls, and what people see.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Literal

import msgspec

from doorward.agents import tool_results
from doorward.agents.answers import ModelAnswer, OnText, parse_answer, read_answer, report_unreadable
from doorward.agents.calls.parsed import ParsedCall
from doorward.agents.grounding import (
    CallStep,
    Evidence,
    correct_unfounded,
    describe_unfounded,
    find_unfounded,
    is_unsure,
)
from doorward.agents.models.model import ChatTurn, LoadableModel, Model, ModelFailed, NoAction, Prompt
from doorward.agents.small_models.call_checks import NO_COMMANDS, REPEATED, UNUSED_RESULT, check_id
from doorward.agents.small_models.collection_lines import is_about_data
from doorward.agents.small_models.context import FIND, NextStep, is_about_files
from doorward.agents.small_models.size import is_small
from doorward.agents.token_budget import IN_PROCESS_MODELS, turn_text
from doorward.commands.agent_services import KeeperOutcome
from doorward.config.settings import PersonaSettings
from doorward.core.ids import new_id
from doorward.core.names import normalise

_MAX_FAULTS = 2
"""Faulty calls of one kind after which the loop of a small model ends."""
_MAX_QUERY = 300
_MAX_SHOWN = 1_000
_MAX_STATE = 100
"""The characters in which a result says its command and status."""


class LoopLimits(msgspec.Struct, frozen=True, kw_only=True):
    rounds: int
    """Model requests."""
    calls: int
    """Calls of one answer."""
    tokens: float = float("inf")
    seconds: float | None = None


class LoopEnd(msgspec.Struct, frozen=True, kw_only=True):
    """How the loop ended: one word, the text of the last answer, and the reason if there is no complete answer."""

    ended: KeeperOutcome | Literal["inactive", "cut", "no_answer", "left"]
    text: str = ""
    error: str = ""
    no_action: NoAction | None = None


class CallResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one call, run or not."""

    text: str = ""
    """The result for the model; empty if it follows after an approval."""
    end: LoopEnd | None = None
    """Ends the loop after the calls of this answer."""
    step: CallStep | None = None
    """The call, if it was made."""
    full: str = ""
    """The whole result, if `text` is a short form of it."""
    fault: str = ""
    """What is wrong with the call itself, such as its name; empty if it is a proper call."""
    skip: str = ""
    """Why the further calls of this answer are not run; empty to run them."""


class AgentLoop(ABC):
    def __init__(self, limits: LoopLimits, answer_limits: PersonaSettings, rounds: int = 0) -> None:
        """`rounds` is the number of rounds before the loop was resumed."""
        self.transcript: list[ChatTurn] = []
        """The answers, calls and results so far. To resume, fill it before `run`."""
        self.rounds = rounds
        self.tokens = 0
        self.unreadable = 0
        """Number of unreadable calls."""
        self.limits = limits
        self.may_wait = True
        """Whether the loop may still wait for a rate limited model, which it does once."""
        self.small = False
        """Whether the model is small: it gets a short context and less patience."""
        self._answer_limits = answer_limits
        self._corrected = False
        self.steps: list[CallStep] = []
        """The calls of this turn."""
        self._was_sent_back = False
        """Whether an answer was sent back because it stands on nothing."""
        self.next_step: NextStep = "any"
        """What a small model may write next."""
        self._made: set[str] = set()
        """The calls so far, to detect repetitions of small models."""
        self._faults: Counter[str] = Counter()

    @property
    @abstractmethod
    def asked(self) -> str:
        """The request."""

    @abstractmethod
    def find_model(self) -> Model | None:
        """Return the model for the next answer; None ends the loop. Raises `ModelFailed`."""

    @abstractmethod
    def use_fallback(self, end: LoopEnd) -> bool:
        """Switch to the fallback model if the loop failed and can start again; return whether it does."""

    @abstractmethod
    def build_prompt(self, model: Model) -> Prompt:
        """Build a prompt that ends with the transcript. Runs in a thread."""

    @abstractmethod
    def start_draft(self, model: Model) -> OnText:
        """Show that the model begins an answer; return the function that receives its text."""

    @abstractmethod
    def show_waiting(self, seconds: float | None) -> AbstractContextManager[None]:
        """Show that the model is rate limited for some seconds or, with None, that it loads."""

    @abstractmethod
    def correct(self, prose: str) -> str:
        """Return a correction for an answer without calls, or an empty text to accept it."""

    @abstractmethod
    def withdraw_draft(self) -> None:
        """Take back an answer that people may have seen while it was written."""

    @abstractmethod
    async def start_calls(self, prose: str, response: str) -> None:
        """Show the prose of an answer before its calls run. `response` is the id of the answer."""

    @abstractmethod
    def find_quotations(self, calls: Sequence[ParsedCall], shown: Prompt, results: Sequence[str]) -> list[str]:
        """Return for each call the reason not to run it, if it quotes others or the output of a command.

        `shown` is the prompt without the transcript, `results` are the results in the transcript. Runs in a thread.
        """

    @abstractmethod
    def check_call(self, call: ParsedCall) -> CallResult | None:
        """Return a result if a call must not run, otherwise None."""

    @abstractmethod
    async def run_call(self, call: ParsedCall) -> CallResult: ...

    @abstractmethod
    def find_commands(self, query: str) -> list[str]:
        """Return lines about commands that fit a query, and offer these from now on. Runs in a thread."""

    def may_repeat(self, call: ParsedCall) -> bool:
        """Whether it makes sense to repeat a call, as of a status query."""
        return False

    @abstractmethod
    def describe_skipped(self, count: int, reason: str) -> tuple[str, str]:
        """Return the results of skipped calls: of the first, and of each further one.

        Without a reason, the answer holds more calls than the limit.
        """

    async def run(self) -> LoopEnd:
        """Run until there is an answer or a limit is reached. A fallback model starts from the beginning."""
        while self.use_fallback(end := await self._run_in_time()):
            self.transcript.clear()
            self.rounds = self.tokens = self.unreadable = 0
            self._corrected = self._was_sent_back = False
            self.next_step = "any"
            self.steps.clear()
            self._made.clear()
            self._faults.clear()
        return end

    async def _run_in_time(self) -> LoopEnd:
        try:
            async with asyncio.timeout(self.limits.seconds) as limit:
                return await self._run_rounds()
        except TimeoutError:
            if not limit.expired():
                raise
            return LoopEnd(ended="time_limit")
        except ModelFailed as failure:
            return LoopEnd(ended="no_answer", error=failure.message)

    async def _run_rounds(self) -> LoopEnd:
        end = None
        while end is None:
            if self.rounds >= self.limits.rounds:
                return LoopEnd(ended="turn_limit")
            if self.tokens >= self.limits.tokens:
                return LoopEnd(ended="token_limit")
            model = self.find_model()
            if model is None:
                return LoopEnd(ended="inactive")
            self.rounds += 1
            end = await self._run_round(model)
        return end

    async def _run_round(self, model: Model) -> LoopEnd | None:
        """Get one answer and run its calls; return an end if the loop is over."""
        self.small = is_small(model)
        on_text = self.start_draft(model)
        if isinstance(model, LoadableModel) and not model.loaded:
            with self.show_waiting(None):
                await model.load()
        prompt = await asyncio.to_thread(self.build_prompt, model)
        self.next_step = "any"
        answer = await self.ask(model, prompt, on_text)
        if answer.cut:
            return LoopEnd(ended="cut", text=answer.text, error=answer.cut)
        parsed, unreadable = await parse_answer(answer)
        if not parsed.calls and not unreadable:
            return await self._accept_or_correct(model, prompt, answer, parsed.prose)
        await self.start_calls(parsed.prose, new_id())
        natively = bool(answer.asked) and not any(one.in_text for one in answer.asked)
        quotations = [""] * len(parsed.calls) if natively else await self._quotations_in(parsed.calls, prompt)
        self.transcript.append(ChatTurn(role="assistant", text=answer.text, calls=answer.asked))
        end = await self._run_calls(parsed.calls, quotations)
        self.transcript += report_unreadable(unreadable)
        self.unreadable += len(unreadable)
        return end

    async def ask(self, model: Model, prompt: Prompt, on_text: OnText) -> ModelAnswer:
        """Ask the model. If it is rate limited, wait and ask again, once per loop."""
        try:
            return await read_answer(model, prompt, self._answer_limits, on_text)
        except ModelFailed as failure:
            wait, longest = failure.retry_after, self._answer_limits.wait_seconds
            if failure.fault != "rate_limited" or wait is None or wait > longest or not self.may_wait:
                raise
            self.may_wait = False
        with self.show_waiting(wait):
            await asyncio.sleep(wait)
        return await read_answer(model, prompt, self._answer_limits, on_text)

    async def _accept_or_correct(self, model: Model, prompt: Prompt, answer: ModelAnswer, prose: str) -> LoopEnd | None:
        """End with an answer without calls, unless it needs a correction or stands on no result.

        A model is corrected once for each of the two. Then an answer that stands on nothing is replaced by an honest
        one. The house model is not checked: what it says comes from results.
        """
        correction = "" if self._corrected else self.correct(prose) or self._point_to_result(prose)
        if correction:
            self._corrected = True
            self._send_back(answer, correction)
            return None
        end = LoopEnd(ended="answered", text=prose, no_action=answer.lost)
        if model.name in IN_PROCESS_MODELS or not prose:
            return end
        results = [turn.text for turn in self.transcript if turn.role == "result" and turn.tool]
        why = await asyncio.to_thread(self._find_unfounded, prose, prompt, results)
        if not why:
            return end
        if self._was_sent_back:
            return LoopEnd(ended="answered", text=describe_unfounded(why, self.steps))
        self._was_sent_back = True
        self.withdraw_draft()
        self._send_back(answer, correct_unfounded(why, results))
        return None

    def _point_to_result(self, prose: str) -> str:
        """Tell a small model that gives up although its last result holds something to use it."""
        last = self.transcript[-1] if self.transcript else None
        if not self.small or last is None or last.role != "result" or not is_unsure(prose):
            return ""
        return UNUSED_RESULT if tool_results.DATA_START in last.text and ": done." in last.text[:_MAX_STATE] else ""

    def _send_back(self, answer: ModelAnswer, correction: str) -> None:
        if answer.text:
            self.transcript.append(ChatTurn(role="assistant", text=answer.text))
        self.transcript.append(ChatTurn(role="result", text=correction))

    def _find_unfounded(self, prose: str, prompt: Prompt, results: Sequence[str]) -> str:
        before = prompt.turns[: len(prompt.turns) - len(self.transcript)]
        asked = next((turn.text for turn in reversed(before) if turn.role == "user"), "")
        evidence = Evidence(
            asked=asked,
            conversation="\n".join(map(turn_text, before)),
            instructions=prompt.instructions,
            results=results,
            steps=self.steps,
            changed_before=bool(prompt.changes) or any(turn.role == "result" for turn in before),
            about_data=is_about_data(asked, prompt.data) or is_about_files(asked, prompt.files),
        )
        return find_unfounded(prose, evidence)

    async def _quotations_in(self, calls: Sequence[ParsedCall], prompt: Prompt) -> list[str]:
        before = prompt.turns[: len(prompt.turns) - len(self.transcript)]
        results = [turn.text for turn in self.transcript if turn.role == "result"]
        shown = msgspec.structs.replace(prompt, turns=before)
        return await asyncio.to_thread(self.find_quotations, calls, shown, results)

    async def _run_calls(self, calls: Sequence[ParsedCall], quotations: Sequence[str]) -> LoopEnd | None:
        """Run the calls of one answer in order and record each result."""
        end = None
        for number, (call, quotation) in enumerate(zip(calls, quotations, strict=True)):
            if number >= self.limits.calls:
                self._skip_calls(calls[number:], "")
                break
            result = CallResult(text=quotation) if quotation else await self._check_and_run(call)
            self.add_result(call, result.text, result.full)
            if result.step is not None:
                self.steps.append(result.step)
            end = end or result.end or self._end_after_faults(result)
            if result.skip:
                self._skip_calls(calls[number + 1 :], result.skip)
                break
        return end

    async def _check_and_run(self, call: ParsedCall) -> CallResult:
        checked = self.check_call(call)
        if checked is None and self.small:
            checked = await self._find_commands(call) or self._check_repeated(call) or self._check_id(call)
        return checked or await self.run_call(call)

    async def _find_commands(self, call: ParsedCall) -> CallResult | None:
        """Answer a call of the tool with which small models find more commands."""
        if normalise(call.name) != FIND:
            return None
        given = dict(call.args) if call.args is not None else call.params or {}
        lines = await asyncio.to_thread(self.find_commands, str(given.get("query", ""))[:_MAX_QUERY])
        return CallResult(text="\n".join(["Commands:", *lines]) if lines else NO_COMMANDS)

    def _check_repeated(self, call: ParsedCall) -> CallResult | None:
        key = repr((call.name, call.params, call.args))
        if key in self._made and not self.may_repeat(call):
            self.next_step = "answer"
            return CallResult(text=REPEATED, fault="it repeated a call")
        self._made.add(key)
        return None

    def _check_id(self, call: ParsedCall) -> CallResult | None:
        texts = [self.asked, *(turn.text for turn in self.transcript if turn.role == "result" and turn.tool)]
        refusal = check_id(call, texts)
        return CallResult(text=refusal, fault="it guessed an id") if refusal else None

    def _end_after_faults(self, result: CallResult) -> LoopEnd | None:
        """End the loop of a small model at its second faulty call of a kind: more tries do not help it."""
        if not self.small or not result.fault:
            return None
        self._faults[result.fault] += 1
        if self._faults[result.fault] < _MAX_FAULTS:
            self.next_step = self.next_step if self.next_step == "answer" else "call"
            return None
        why = f"the model did not find the right call ({result.fault})"
        return LoopEnd(ended="answered", text=self.describe_found(why))

    def describe_found(self, why: str) -> str:
        """Say honestly that there is no answer, with the last result that holds something."""
        results = [turn.text for turn in self.transcript if turn.tool and ": done." in turn.text[:_MAX_STATE]]
        last = next((data for text in reversed(results) if (data := tool_results.extract_data(text))), "")
        return f"I could not find out: {why}." + (f"\nThe last result was:\n{last[:_MAX_SHOWN]}" if last else "")

    def _skip_calls(self, calls: Sequence[ParsedCall], reason: str) -> None:
        """Record that calls were not run. Each native call needs a result; for calls in the text, one is enough."""
        texts = self.describe_skipped(len(calls), reason)
        for number, call in enumerate(calls if calls and calls[0].id else calls[:1]):
            self.add_result(call, texts[number > 0])

    def add_result(self, call: ParsedCall, text: str, full: str = "") -> None:
        """Add the result of a call to the transcript, if there is one yet."""
        if text:
            name = call.name[:64]
            self.transcript.append(ChatTurn(role="result", text=text, answers=call.id, tool=name, full=full))
