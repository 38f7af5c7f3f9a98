"""The keeper's loop: its prompt, its tool calls and its steps, and how a request ended."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator, Sequence

import msgspec

from doorward.agents import tool_results
from doorward.agents.answers import ModelAnswer, OnText, correct_missing_call, only_mentions_command
from doorward.agents.calls.parsed import ParsedCall
from doorward.agents.drafts import StepDraft
from doorward.agents.grounding import CallStep
from doorward.agents.keeper.prompt import KeeperContext, build_prompt
from doorward.agents.keeper.tool_runner import ToolRun, ToolRunner
from doorward.agents.keeper.tools import mentions_tool_call, reasons_not_to_run, server_descriptions
from doorward.agents.loop import AgentLoop, CallResult, LoopEnd, LoopLimits
from doorward.agents.models.model import ChatTurn, Model, Prompt
from doorward.agents.quotations import QuotationCheck
from doorward.agents.small_models.context import find_commands, find_example
from doorward.agents.small_models.results import CALL_FAULTS, describe_fault, describe_next, describe_result, shorten
from doorward.agents.token_budget import IN_PROCESS_MODELS
from doorward.commands.agent_services import KeeperToolCall
from doorward.commands.context import Context
from doorward.core.errors import NotAuthenticated, OutOfEnergy

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


FindFallback = Callable[[Model, str], Model | None]
"""Returns the fallback for a model that failed for this reason."""


class KeeperLoop(AgentLoop):
    def __init__(
        self,
        ctx: Context,
        brief: KeeperContext,
        model: Model,
        hands: ToolRunner,
        seconds: float,
        find_fallback: FindFallback | None,
        debug: bool,
    ) -> None:
        own = brief.limits
        limits = LoopLimits(rounds=own.turns, calls=own.calls, tokens=own.tokens, seconds=seconds)
        super().__init__(limits, ctx.services.settings.personas)
        self.model = model
        self.calls: list[KeeperToolCall] = []
        self.waiting: tuple[ParsedCall, ToolRun] | None = None
        """The call that waits for approval, as the model made it, and its result."""
        self.dollars = 0.0
        """The cost of the answers so far, as far as the price is known."""
        self._ctx = ctx
        self._context = brief
        self._runner = hands
        self._seconds = seconds
        self._find_fallback = find_fallback
        self._debug = debug
        self._draft = StepDraft(ctx.execution)
        self._last_key: tuple[object, ...] = ()
        """The last call, to detect repetitions."""
        self._repeats = 0
        self._last_answer_start = 0
        """Index of the first call of the model's last answer."""
        self._quotations = QuotationCheck(ctx.services.registry)

    async def run(self) -> LoopEnd:
        """Run until there is an answer or a limit is reached."""
        end = self._describe_end(await super().run())
        if end.ended == "time_limit":
            self.calls += self._runner.interrupted_calls()
        if end.ended in ("answered", "not_understood"):
            self._draft.finish(end.text)
        return end

    def resume(self, turns: Sequence[ChatTurn], call: ParsedCall, done: ToolRun) -> LoopEnd | None:
        """Restore the transcript, with the result of the approved call; return an end if the work cannot continue."""
        self.transcript += turns
        result = self._record(call, done)
        self.add_result(call, result.text)
        if result.step is not None:
            self.steps.append(result.step)
        return result.end

    @property
    def asked(self) -> str:
        return self._context.asked

    def find_model(self) -> Model:
        return self.model

    def use_fallback(self, end: LoopEnd) -> bool:
        end = self._describe_end(end)
        if end.ended != "model_failed" or end.text or self.calls or self._find_fallback is None:
            return False
        other = self._find_fallback(self.model, end.error)
        if other is None:
            return False
        self.model, self._find_fallback = other, None
        self.may_wait = True  # once for each model
        return True

    def build_prompt(self, model: Model) -> Prompt:
        return build_prompt(self._context, model, self.transcript, next_step=self.next_step)

    async def ask(self, model: Model, prompt: Prompt, on_text: OnText) -> ModelAnswer:
        answer = await super().ask(model, prompt, on_text)
        self.tokens += _count_tokens(model, prompt, answer)
        if answer.spent is not None and answer.spent.dollars:
            self.dollars += answer.spent.dollars
        if self._debug:
            self._log_answer(prompt, answer)
        return answer

    def start_draft(self, model: Model) -> OnText:
        self._ctx.execution.step("thinking", {"turn": self.rounds, "model": model.name})
        self._draft = StepDraft(self._ctx.execution)
        return self._draft.update

    @contextlib.contextmanager
    def show_waiting(self, seconds: float | None) -> Iterator[None]:
        name = self.model.name
        if seconds is None:
            self._ctx.execution.step("thinking", {"turn": self.rounds, "model": name, "state": "loading"})
        else:
            self._ctx.execution.step("note", {"text": f"{name} is rate limited. Trying again in {seconds:.0f} s."})
        yield

    def correct(self, prose: str) -> str:
        if not prose:
            return _EMPTY_ANSWER
        talks = only_mentions_command(prose, self._context.offered) or mentions_tool_call(prose)
        return correct_missing_call("the person who asked") if talks else ""

    def withdraw_draft(self) -> None:
        self._draft = StepDraft(self._ctx.execution)

    async def start_calls(self, prose: str, response: str) -> None:
        """Stream the prose beside calls. It is not the answer, but followers see it."""
        if prose:
            self._draft.finish(prose)
        self._runner.start_answer(response)
        self._last_answer_start = len(self.calls)

    def find_quotations(self, calls: Sequence[ParsedCall], shown: Prompt, results: Sequence[str]) -> list[str]:
        said = [turn.text for turn in shown.turns if turn.role != "result"] + self._context.recent_lines
        given = [*results, *server_descriptions(shown.instructions)]
        if self.small:
            given.append(tool_results.extract_blocks(shown.instructions))
        return reasons_not_to_run(self._quotations, calls, said, given)

    def check_call(self, call: ParsedCall) -> CallResult | None:
        """Return a result for a call that was repeated too often, or None to run it."""
        key = call.name, repr(call.params), call.args
        self._last_key, self._repeats = key, self._repeats + 1 if self._last_key == key else 1
        if self._repeats < _REPEAT_LIMIT or self.may_repeat(call):
            return None
        if self._repeats < _REPEAT_ABORT:
            return CallResult(text=_REPEATED_CALL)
        error = f"{self.model.name} made the same call {self._repeats} times in a row."
        return CallResult(text=_REPEATED_CALL, end=LoopEnd(ended="model_failed", error=error), skip=_REPEATED_CALL)

    async def run_call(self, call: ParsedCall) -> CallResult:
        done = await self._runner.run(call)
        result = self._record(call, done)
        if not self.small or not result.text:
            return result
        return msgspec.structs.replace(self._shorten(call, done, result), full=result.text)

    def _shorten(self, call: ParsedCall, done: ToolRun, result: CallResult) -> CallResult:
        """Return the result as a small model reads it."""
        outcome = done.outcome
        if outcome is None:
            text = f"{shorten(result.text)}\n{describe_next(self._context.asked)}"
            return msgspec.structs.replace(result, text=text)
        if outcome.status == "done":
            text = self._runner.redact(describe_result(outcome, done.params, self._context.data, self._context.asked))
            return msgspec.structs.replace(result, text=text)
        fault = outcome.code if outcome.code in CALL_FAULTS else ""
        example = find_example(self._context.small, call.name)
        text = self._runner.redact(describe_fault(outcome, done.params, self._context.data, example))
        return msgspec.structs.replace(result, text=text, fault=fault and f"{fault}: {outcome.command}")

    def may_repeat(self, call: ParsedCall) -> bool:
        return self._runner.is_status_query(call)

    def find_commands(self, query: str) -> list[str]:
        lines = find_commands(self._context.small, query)
        self._context.found += [one.tool.command for one in lines if one.tool.command not in self._context.found]
        return [one.text for one in lines]

    def describe_skipped(self, count: int, reason: str) -> tuple[str, str]:
        text = reason or f"{count} calls were not made: one answer may hold {self.limits.calls} calls."
        return text, text

    def _record(self, call: ParsedCall, done: ToolRun) -> CallResult:
        self.calls.append(done.call)
        step = CallStep(done.command or str(done.call["input"].get("command", "")), done.call["status"], done.changes)
        if done.call["status"] == "parked":
            self.waiting = call, done
            return CallResult(end=LoopEnd(ended="waiting"), skip=_AFTER_PENDING)
        if done.code == NotAuthenticated.code:
            raise NotAuthenticated(done.message)
        if done.code == OutOfEnergy.code:
            return CallResult(text=done.told, end=LoopEnd(ended="energy_limit", error=done.message), skip=done.message)
        return CallResult(text=done.told, step=step)

    def _describe_end(self, end: LoopEnd) -> LoopEnd:
        """Return the outcome of the request, with the reason if it was not done."""
        name, limits = self.model.name, self._context.limits
        match end.ended:
            case "answered":
                return self._describe_answer(end)
            case "cut":
                return LoopEnd(ended="model_failed", text=end.text.strip(), error=f"{name} was cut off: {end.error}")
            case "no_answer":
                return LoopEnd(ended="model_failed", error=f"{name} gave no answer: {end.error}")
            case "turn_limit":
                error = f"The keeper asked its model {limits.turns} times, the limit (keeper.turns), without finishing."
            case "token_limit":
                used = f"The keeper used {self.tokens} of at most {limits.tokens} tokens (keeper.tokens)"
                error = f"{used} without finishing."
            case "time_limit":
                by = "keeper.seconds" if self._seconds >= limits.seconds else "the recipe's timeoutSeconds"
                error = f"The keeper did not finish within its time limit of {self._seconds:g} s ({by})."
            case _:
                return end
        return LoopEnd(ended=end.ended, error=error)

    def _describe_answer(self, end: LoopEnd) -> LoopEnd:
        if not end.text:
            return LoopEnd(ended="model_failed", error=f"{self.model.name} gave an empty answer.")
        if end.no_action is None:
            return msgspec.structs.replace(end, error=self._failure_reason())
        if end.no_action.understood:
            return msgspec.structs.replace(end, error=_NOT_DONE)
        return msgspec.structs.replace(end, ended="not_understood", error="The keeper does not know how to do that.")

    def _failure_reason(self) -> str:
        """Return why an answer is not a success: no call was done, or not all calls of the last answer were.

        A shell line that ended with a non-zero exit code may still be a valid test, such as grep, and does not count.
        """
        if self.calls and all(one["status"] != "done" for one in self.calls):
            return "None of the calls was done; each call says why."
        if self.unreadable and not self.calls:
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

    def _log_answer(self, prompt: Prompt, answer: ModelAnswer) -> None:
        log.info(
            "keeper: turn %d of call %s with %s: %d characters of instructions, %d turns, %d tools; %d characters "
            "and %d calls came back; %d tokens so far",
            self.rounds,
            self._ctx.call.id,
            self.model.name,
            len(prompt.instructions),
            len(prompt.turns),
            len(prompt.tools),
            len(answer.text),
            len(answer.asked),
            self.tokens,
        )


def _count_tokens(model: Model, prompt: Prompt, answer: ModelAnswer) -> int:
    """Return the tokens of an answer: as the provider counted them, or by our own count. The house model is free."""
    if model.name in IN_PROCESS_MODELS:
        return 0
    if answer.spent is not None:
        return answer.spent.input_tokens + answer.spent.output_tokens
    shown = "".join((prompt.instructions, *(turn.rendered_text for turn in prompt.turns)))
    return model.count(shown) + model.count(answer.text)
