"""Run a script of the session shell, line by line and stage by stage; each stage is a call through the gate.

The stages of a pipe run one after another, and the output of one is the input of the next. A stage that is refused or
waits for approval ends its pipe, because the stages after it would have no input.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doorward.backends.context import Context
from doorward.backends.session import redirects, stages
from doorward.backends.session.aliases import unaliased
from doorward.backends.session.called import Called, StageFault, complaint, faulty
from doorward.backends.session.exit_codes import NEVER_RAN, WRONG_USE
from doorward.backends.session.expansion import Budget, Expansion
from doorward.backends.session.language import Fault, parse
from doorward.backends.session.said import Said, StageSaid
from doorward.backends.session.secret_values import hushed
from doorward.backends.session.session import Session
from doorward.backends.session.syntax import Chain, Line, Pipeline, Script, Stage
from doorward.catalogue.parameters import LARGEST_INPUT
from doorward.errors import DoorwardError

MOST_PRINTED = 1_000_000
_SHELL = "shell"


async def run(ctx: Context, session: Session, text: str, *, aloud: bool = True, typed: bool = True) -> Said:
    """Run a script in a session and return its result. Only a cancellation is raised.

    The caller holds the session with `ctx.house.sessions.using(session)`, so that built-ins find it by its id. With
    `aloud`, output is streamed to the client as it is produced; with `typed`, the text goes into the history.
    """
    if typed:
        session.remember(text)
    try:
        script = parse(text)
    except Fault as fault:
        session.status = WRONG_USE
        return Said(stderr=complaint(_SHELL, fault.message), exit_code=WRONG_USE, bad=True)
    running = Running(ctx, session, aloud=aloud)
    for running.number, line in enumerate(script.lines, 1):
        await running.line(line)
        if running.said.bad or running.said.ticket or running.said.leaves:
            break
    return running.said


class Running:
    """One running script and its result so far."""

    def __init__(
        self, ctx: Context, session: Session, *, aloud: bool, columns: int = 0, outer: Running | None = None
    ) -> None:
        self._plain = ctx
        self._session = session
        self._aloud = aloud
        self._columns = columns
        self._budget: Budget = outer._budget if outer else Budget()
        self._expansion = Expansion(ctx, session, self._printed, self._budget)
        self.number: int = outer.number if outer else 1
        """The number of the current step of a script."""
        self._room = {"stdout": MOST_PRINTED, "stderr": MOST_PRINTED}
        self.said: Said = Said(steps=outer.said.steps if outer else [])
        self._inner: Called | None = None
        """The result of the last `$(…)` of the running stage."""

    @property
    def _ctx(self) -> Context:
        """The context for calls, which hides the secrets that variables hold by now."""
        return hushed(self._plain, self._session)

    async def line(self, line: Line) -> None:
        for chain in line.chains:
            await self._chain(chain)
            if self.said.ticket or self.said.leaves:
                return

    async def direct(self, name: str, params: Mapping[str, Any]) -> None:
        """Run a command by its name, with its own parameters."""
        try:
            made = await stages.direct(self._ctx, self._session, name, params, streams=self._aloud)
        except StageFault as fault:
            self._ended(self._faulty(name, fault))
            return
        self._step(made)
        self._say("stdout", made.stdout, streamed=made.streamed)
        self._say("stderr", made.stderr, streamed=made.streamed)
        self._ended(made)

    async def script(self, script: Script) -> None:
        for line in script.lines:
            await self.line(line)
            if self.said.ticket or self.said.leaves:
                return

    async def _chain(self, chain: Chain) -> None:
        await self._pipeline(chain.first)
        for joint, pipeline in chain.rest:
            if self.said.ticket or self.said.leaves:
                return
            if (self.said.exit_code == 0) == (joint == "&&"):
                await self._pipeline(pipeline)

    async def _pipeline(self, pipeline: Pipeline) -> None:
        """Run the stages of a pipe. The exit code is that of the last stage, or of the stage that ended it early."""
        try:
            whole = unaliased(pipeline, self._session.aliases).stages
        except StageFault as fault:
            self._ended(self._faulty(_SHELL, fault))
            return
        piped: str | None = None
        for place, stage in enumerate(whole, 1):
            last = place == len(whole)
            made, printed = await self._stage(stage, piped, last=last)
            if made.stops and not last:
                self._say("stderr", complaint(_SHELL, f"the commands after {made.name} in the pipe were not run"))
            if made.stops or last:
                self._ended(made)
                return
            piped = self._fitting(made, printed)

    def _ended(self, made: Called) -> None:
        self.said.exit_code = self._session.status = made.exit_code
        self.said.bad = made.is_bad and not made.leaves
        self.said.ticket = made.ticket
        self.said.leaves = made.leaves
        self.said.code, self.said.retry_after = made.code, made.retry_after
        complaints = made.stderr.strip().rpartition("\n")[2]
        self.said.message = made.message or complaints or f"It ended with exit code {made.exit_code}."

    async def _stage(self, stage: Stage, piped: str | None, *, last: bool) -> tuple[Called, str]:
        """Run one stage; return its result and the output for the next stage."""
        name = _SHELL
        self._inner = None
        try:
            if stage.sets:
                return await self._set(stage), ""
            words = await self._expansion.words(stage.words)
            if stage.words and not words:
                raise StageFault("the command is empty after expansion, so there is nothing to run")
            name = words[0] if words else _SHELL
            streams = await redirects.opened(self._ctx, self._session, self._expansion, stage, piped)
            self._inner_ended_well()
            if words:
                aloud = self._aloud and last and not streams.redirected
                columns = self._columns if aloud else 0
                made = await stages.call(self._ctx, self._session, words, streams.piped, streams=aloud, columns=columns)
                self._step(made)
            else:
                made = Called(name=name)
        except StageFault as fault:
            return self._faulty(name, fault), ""
        except DoorwardError as error:
            return self._faulty(name, StageFault(error.message)), ""
        if made.stops:
            self._say("stderr", made.stderr, streamed=made.streamed)
            return made, ""
        out, err, writes = await redirects.delivered(self._ctx, name, streams, made)
        self._say("stderr", err, streamed=made.streamed)
        for write in writes:
            self._step(write)
            if write.exit_code:
                made.exit_code, made.ticket, made.stderr = write.exit_code, write.ticket, write.stderr
        if last:
            self._say("stdout", out, streamed=made.streamed)
        return made, out

    def _faulty(self, name: str, fault: StageFault) -> Called:
        made = faulty(name, fault)
        self._say("stderr", made.stderr)
        return made

    async def _set(self, stage: Stage) -> Called:
        """Set variables; the exit code is that of the last `$(…)`, if there is one."""
        for name, word in stage.sets:
            value = await self._expansion.text(word)
            self._inner_ended_well()
            self._session.set(name, value)
        return Called(name=_SHELL, exit_code=self._inner.exit_code if self._inner else 0)

    async def _printed(self, script: Script) -> str:
        """Run the script in `$(…)` and return its output. It runs in a copy of the session."""
        async with self._ctx.house.sessions.apart(self._session) as copy:
            inner = Running(self._ctx, copy, aloud=False, outer=self)
            await inner.script(script)
        self._say("stderr", inner.said.stderr)
        self._session.status = inner.said.exit_code
        self._inner = Called(name="$( )", exit_code=inner.said.exit_code, ticket=inner.said.ticket)
        return inner.said.stdout

    def _inner_ended_well(self) -> None:
        """Raise a fault when a `$(…)` of the stage was refused or waits, because its output is missing."""
        if self._inner is not None and (self._inner.ticket or self._inner.exit_code in NEVER_RAN):
            code, ticket = self._inner.exit_code, self._inner.ticket
            raise StageFault("the command in $( ) was not run, so this command is not run either", code, ticket)

    def _fitting(self, made: Called, printed: str) -> str:
        """The output for the next stage, truncated to the maximum input of a stage."""
        if len(printed) <= LARGEST_INPUT:
            return printed
        self._say(
            "stderr", complaint(made.name, f"its output was truncated to {LARGEST_INPUT} characters for the next one")
        )
        return printed[:LARGEST_INPUT]

    def _step(self, made: Called) -> None:
        if not made.command:
            return
        step: StageSaid = {
            "step": self.number,
            "command": made.command,
            "status": made.status,
            "exitCode": made.exit_code,
            "call": made.call,
        }
        if made.status != "done":
            step |= {"code": made.code, "message": made.message}
        if made.ticket:
            step["ticket"] = made.ticket
        self.said.steps.append(step)

    def _say(self, stream: str, text: str, *, streamed: bool = False) -> None:
        """Add a text to the result, and stream it to the client."""
        if not text:
            return
        room = self._room[stream]
        self._room[stream] -= len(text)
        kept = text[: max(0, room)]
        if stream == "stdout":
            self.said.stdout += kept
            if len(kept) < len(text) and room >= 0:
                self._say("stderr", complaint(_SHELL, f"the output was truncated after {MOST_PRINTED} characters"))
        else:
            self.said.stderr += kept
        if self._aloud and not streamed:
            self._ctx.execution.say("stdout" if stream == "stdout" else "stderr", kept.encode("utf-8", "replace"))
