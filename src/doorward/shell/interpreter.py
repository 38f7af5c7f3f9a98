"""Run a script of the session shell, line by line and stage by stage; each stage is a call through the gate.

The stages of a pipe run one after another, and the output of one is the input of the next. A stage that is refused or
waits for approval ends its pipe, because the stages after it would have no input.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doorward.commands.catalogue.entry import MAX_INPUT
from doorward.commands.context import Context
from doorward.core.errors import DoorwardError
from doorward.shell import redirects, stages
from doorward.shell.expansion import Expansion, ExpansionBudget, expand_aliases
from doorward.shell.parser import ShellSyntaxError, parse_script
from doorward.shell.results import (
    NEVER_RAN,
    WRONG_USAGE,
    ScriptResult,
    StageFault,
    StageRecord,
    StageResult,
    error_line,
    fault_result,
)
from doorward.shell.secret_values import hide_secrets
from doorward.shell.session import ShellSession
from doorward.shell.syntax import Chain, Line, Pipeline, Script, Stage

MAX_OUTPUT = 1_000_000
_SHELL = "shell"


async def run_script(
    ctx: Context, session: ShellSession, text: str, *, aloud: bool = True, typed: bool = True
) -> ScriptResult:
    """Run a script in a session and return its result. Only a cancellation is raised.

    The caller holds the session with `ctx.house.sessions.using(session)`, so that built-ins find it by its id. With
    `aloud`, output is streamed to the client as it is produced; with `typed`, the text goes into the history.
    """
    if typed:
        session.add_history(text)
    try:
        script = parse_script(text)
    except ShellSyntaxError as fault:
        session.status = WRONG_USAGE
        return ScriptResult(stderr=error_line(_SHELL, fault.message), exit_code=WRONG_USAGE, bad=True)
    running = ScriptRun(ctx, session, aloud=aloud)
    for running.step_number, line in enumerate(script.lines, 1):
        await running.run_line(line)
        if running.result.bad or running.result.ticket or running.result.leaves:
            break
    return running.result


class ScriptRun:
    """One running script and its result so far."""

    def __init__(
        self, ctx: Context, session: ShellSession, *, aloud: bool, columns: int = 0, outer: ScriptRun | None = None
    ) -> None:
        self._outer_ctx = ctx
        self._session = session
        self._streams = aloud
        self._columns = columns
        self._budget: ExpansionBudget = outer._budget if outer else ExpansionBudget()
        self._expansion = Expansion(ctx, session, self._run_substitution, self._budget)
        self.step_number: int = outer.step_number if outer else 1
        """The number of the current step of a script."""
        self._remaining = {"stdout": MAX_OUTPUT, "stderr": MAX_OUTPUT}
        self.result: ScriptResult = ScriptResult(steps=outer.result.steps if outer else [])
        self._substitution: StageResult | None = None
        """The result of the last `$(…)` of the running stage."""

    @property
    def _ctx(self) -> Context:
        """The context for calls, which hides the secrets that variables hold by now."""
        return hide_secrets(self._outer_ctx, self._session)

    async def run_line(self, line: Line) -> None:
        for chain in line.chains:
            await self._run_chain(chain)
            if self.result.ticket or self.result.leaves:
                return

    async def run_command(self, name: str, params: Mapping[str, Any]) -> None:
        """Run a command by its name, with its own parameters."""
        try:
            made = await stages.call_command(self._ctx, self._session, name, params, streams=self._streams)
        except StageFault as fault:
            self._set_result(self._report_fault(name, fault))
            return
        self._record_stage(made)
        self._print("stdout", made.stdout, streamed=made.streamed)
        self._print("stderr", made.stderr, streamed=made.streamed)
        self._set_result(made)

    async def run_lines(self, script: Script) -> None:
        for line in script.lines:
            await self.run_line(line)
            if self.result.ticket or self.result.leaves:
                return

    async def _run_chain(self, chain: Chain) -> None:
        await self._run_pipeline(chain.first)
        for joint, pipeline in chain.rest:
            if self.result.ticket or self.result.leaves:
                return
            if (self.result.exit_code == 0) == (joint == "&&"):
                await self._run_pipeline(pipeline)

    async def _run_pipeline(self, pipeline: Pipeline) -> None:
        """Run the stages of a pipe. The exit code is that of the last stage, or of the stage that ended it early."""
        try:
            whole = expand_aliases(pipeline, self._session.aliases).stages
        except StageFault as fault:
            self._set_result(self._report_fault(_SHELL, fault))
            return
        piped: str | None = None
        for place, stage in enumerate(whole, 1):
            last = place == len(whole)
            made, printed = await self._run_stage(stage, piped, last=last)
            if made.ends_pipe and not last:
                self._print("stderr", error_line(_SHELL, f"the commands after {made.name} in the pipe were not run"))
            if made.ends_pipe or last:
                self._set_result(made)
                return
            piped = self._truncate_input(made, printed)

    def _set_result(self, made: StageResult) -> None:
        self.result.exit_code = self._session.status = made.exit_code
        self.result.bad = made.is_failed and not made.leaves
        self.result.ticket = made.ticket
        self.result.leaves = made.leaves
        self.result.code, self.result.retry_after = made.code, made.retry_after
        complaints = made.stderr.strip().rpartition("\n")[2]
        self.result.message = made.message or complaints or f"It ended with exit code {made.exit_code}."

    async def _run_stage(self, stage: Stage, piped: str | None, *, last: bool) -> tuple[StageResult, str]:
        """Run one stage; return its result and the output for the next stage."""
        name = _SHELL
        self._substitution = None
        try:
            if stage.sets:
                return await self._set_variables(stage), ""
            words = await self._expansion.expand_words(stage.words)
            if stage.words and not words:
                raise StageFault("the command is empty after expansion, so there is nothing to run")
            name = words[0] if words else _SHELL
            streams = await redirects.open_streams(self._ctx, self._session, self._expansion, stage, piped)
            self._check_substitution()
            if words:
                aloud = self._streams and last and not streams.is_redirected
                columns = self._columns if aloud else 0
                made = await stages.call_stage(
                    self._ctx, self._session, words, streams.piped, streams=aloud, columns=columns
                )
                self._record_stage(made)
            else:
                made = StageResult(name=name)
        except StageFault as fault:
            return self._report_fault(name, fault), ""
        except DoorwardError as error:
            return self._report_fault(name, StageFault(error.message)), ""
        if made.ends_pipe:
            self._print("stderr", made.stderr, streamed=made.streamed)
            return made, ""
        out, err, writes = await redirects.write_streams(self._ctx, name, streams, made)
        self._print("stderr", err, streamed=made.streamed)
        for write in writes:
            self._record_stage(write)
            if write.exit_code:
                made.exit_code, made.ticket, made.stderr = write.exit_code, write.ticket, write.stderr
        if last:
            self._print("stdout", out, streamed=made.streamed)
        return made, out

    def _report_fault(self, name: str, fault: StageFault) -> StageResult:
        made = fault_result(name, fault)
        self._print("stderr", made.stderr)
        return made

    async def _set_variables(self, stage: Stage) -> StageResult:
        """Set variables; the exit code is that of the last `$(…)`, if there is one."""
        for name, word in stage.sets:
            value = await self._expansion.expand_text(word)
            self._check_substitution()
            self._session.set_variable(name, value)
        return StageResult(name=_SHELL, exit_code=self._substitution.exit_code if self._substitution else 0)

    async def _run_substitution(self, script: Script) -> str:
        """Run the script in `$(…)` and return its output. It runs in a copy of the session."""
        async with self._ctx.services.sessions.copy_of(self._session) as copy:
            inner = ScriptRun(self._ctx, copy, aloud=False, outer=self)
            await inner.run_lines(script)
        self._print("stderr", inner.result.stderr)
        self._session.status = inner.result.exit_code
        self._substitution = StageResult(name="$( )", exit_code=inner.result.exit_code, ticket=inner.result.ticket)
        return inner.result.stdout

    def _check_substitution(self) -> None:
        """Raise a fault when a `$(…)` of the stage was refused or waits, because its output is missing."""
        if self._substitution is not None and (self._substitution.ticket or self._substitution.exit_code in NEVER_RAN):
            code, ticket = self._substitution.exit_code, self._substitution.ticket
            raise StageFault("the command in $( ) was not run, so this command is not run either", code, ticket)

    def _truncate_input(self, made: StageResult, printed: str) -> str:
        """The output for the next stage, truncated to the maximum input of a stage."""
        if len(printed) <= MAX_INPUT:
            return printed
        self._print(
            "stderr", error_line(made.name, f"its output was truncated to {MAX_INPUT} characters for the next one")
        )
        return printed[:MAX_INPUT]

    def _record_stage(self, made: StageResult) -> None:
        if not made.command:
            return
        step: StageRecord = {
            "step": self.step_number,
            "command": made.command,
            "status": made.status,
            "exitCode": made.exit_code,
            "call": made.call,
        }
        if made.status != "done":
            step |= {"code": made.code, "message": made.message}
        if made.ticket:
            step["ticket"] = made.ticket
        self.result.steps.append(step)

    def _print(self, stream: str, text: str, *, streamed: bool = False) -> None:
        """Add a text to the result, and stream it to the client."""
        if not text:
            return
        room = self._remaining[stream]
        self._remaining[stream] -= len(text)
        kept = text[: max(0, room)]
        if stream == "stdout":
            self.result.stdout += kept
            if len(kept) < len(text) and room >= 0:
                self._print("stderr", error_line(_SHELL, f"the output was truncated after {MAX_OUTPUT} characters"))
        else:
            self.result.stderr += kept
        if self._streams and not streamed:
            self._ctx.execution.write("stdout" if stream == "stdout" else "stderr", kept.encode("utf-8", "replace"))
