"""The command shell/script, which runs lines of the session shell."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Annotated, Any, NotRequired, TypedDict

import msgspec
from msgspec import Meta

from doorward.commands.catalogue.arguments import normalize_folder
from doorward.commands.context import Context
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import Example, Family, NoUndo, shorten
from doorward.core.errors import BadParams, CommandFailed, DoorwardError, Refused, UnknownCommand, concrete_errors
from doorward.shell import stages
from doorward.shell.interpreter import ScriptRun
from doorward.shell.parser import MAX_SCRIPT_CHARACTERS, ShellSyntaxError, parse_script
from doorward.shell.results import UNKNOWN_COMMAND, WRONG_USAGE, ScriptResult, StageFault, StageRecord, error_line
from doorward.shell.secret_values import redact_secrets, secrets_in_steps
from doorward.shell.session import START_FOLDER, ShellSession
from doorward.shell.sessions import Notify
from doorward.shell.syntax import Line, render

family = Family("shell", category="shell")

_MOST = 100
_NEW = "new"
_REFUSALS = {one.code: one for one in concrete_errors(Refused)}
_WC = {"words": True, "files": ["main.py"]}

Steps = Annotated[
    list[str | dict[str, Any]],
    Meta(
        description='The steps: lines such as "ls -la src | wc -l", or {"command": "ls", "params": {"long": true}}',
        max_length=_MOST,
    ),
]
Text = Annotated[
    str, Meta(description="Instead of commands: a text whose lines are the steps", max_length=MAX_SCRIPT_CHARACTERS)
]
SessionName = Annotated[
    str,
    Meta(
        description=f"The id of a session to continue; {_NEW} opens one that is kept; empty: a temporary one",
        max_length=64,
    ),
]
Folder = Annotated[
    str,
    Meta(description="The folder to start in, relative to the workspace; empty: the session's folder", max_length=4096),
]
Columns = Annotated[int, Meta(description="Width of the screen in columns; 0: no screen", ge=0, le=1_000)]
StatusBefore = Annotated[
    int, Meta(description="The value of $? before the first step; -1: that of the session", ge=-1, le=255)
]
KeepGoing = Annotated[bool, Meta(description="Whether to continue after a failed step")]


class ScriptOutput(TypedDict):
    stdout: Annotated[str, Meta(description="The output of the steps")]
    stderr: Annotated[str, Meta(description="The error output of the steps")]
    exitCode: Annotated[int, Meta(description="That of the last step: 0 done, 75 waiting, 126 refused, 127 unknown")]
    session: Annotated[str, Meta(description="The id to continue this session; empty when it is not kept")]
    cwd: Annotated[str, Meta(description="The session's current folder")]
    steps: Annotated[list[StageRecord], Meta(description="All calls, in order")]
    ran: Annotated[int, Meta(description="Number of steps that ran")]
    of: Annotated[int, Meta(description="Number of all steps")]
    failed: Annotated[int, Meta(description="Number of failed steps")]
    ticket: NotRequired[Annotated[str, Meta(description="The ticket of the approval that the last step waits for")]]
    leaves: NotRequired[Annotated[bool, Meta(description="Whether the shell should exit")]]


class _CommandStep(msgspec.Struct, frozen=True):
    """A step that names its command and parameters."""

    command: str
    params: Mapping[str, Any]


class _ScriptStep(msgspec.Struct, frozen=True):
    text: str
    does: tuple[Line | _CommandStep, ...]


@family.command(
    "script",
    tier=Tier.CODE,
    effects=Effects.READ | Effects.WRITE | Effects.DESTROY,
    access=Access.READ,
    safety=Safety.CAUTION,
    cost=1,
    timeout=600,
    undo=NoUndo("each step is undone by its own execution"),
    examples=[
        Example("make a folder and look at it", {"commands": ["mkdir -p build/out", "ls -l build"]}),
        Example("count the words of a file in src", {"commands": ["cd src", {"command": "wc", "params": _WC}]}),
        Example("how many Python files there are", {"script": "find . -name '*.py' | wc -l"}),
    ],
    related=["bash", "shell/cd"],
    is_status_poll=True,
    nests_calls=True,
)
async def run_script(
    ctx: Context,
    commands: Steps = [],  # noqa: B006 - never changed
    script: Text = "",
    session: SessionName = "",
    folder: Folder = "",
    keep_going: KeepGoing = False,
    columns: Columns = 0,
    status: StatusBefore = -1,
) -> ScriptOutput:
    """Run lines of the session shell one after another; stop at the first failure unless keep_going is set.

    The language is small: words and quotes, `|`, `&&`, `||`, `;`, redirects, variables, `$(…)` and file name patterns.
    No real shell runs. Every command is a call of its own that is checked, approved if necessary, and recorded. See
    docs/SHELL.md.
    """
    unkept: list[str] = []
    async with _open_session(ctx, session, folder, unkept.append) as (here, kept):
        running = ScriptRun(ctx, here, aloud=True, columns=columns)
        here.status = here.status if status < 0 else status
        remembered = not script.startswith(" ")
        try:
            steps = _plan_steps(ctx, commands, script, here.aliases)
        except (BadParams, UnknownCommand) as error:
            if remembered:
                here.add_history(script)
            _set_never_started(running, error)
            here.status = running.result.exit_code
            error.result = _build_output(running, here, kept, (0, 0, 0))
            raise
        failed = ran = 0
        for ran, step in enumerate(steps, 1):
            if len(steps) > 1:
                ctx.execution.progress((ran - 1) / len(steps), f"step {ran} of {len(steps)}: {step.text}")
            if remembered:
                here.add_history(step.text)
            await _run_step(running, ran, step)
            failed += running.result.bad
            if running.result.ticket or running.result.leaves or (running.result.bad and not keep_going):
                break
        result = _build_output(running, here, kept, (ran, len(steps), failed))
    result["stderr"] += "".join(error_line("shell", one) for one in unkept)
    if running.result.ticket:
        raise CommandFailed(
            f"Step {ran} ({shorten(step.text)[1:-1]}) is waiting for approval, ticket {running.result.ticket};"
            " the steps after it were not run.",
            hint="When it is approved, run that command with the ticket only, then run the rest.",
            result=result,
        )
    if running.result.bad and not keep_going:
        message = redact_secrets(f"Step {ran} ({shorten(step.text)[1:-1]}): {running.result.message}", here.secrets)
        raise _failure_error(running.result, message, result)
    return result


run_script.finds_secrets(secrets_in_steps)


@run_script.describes_effect
async def preview_script(
    ctx: Context,
    commands: Steps = [],  # noqa: B006 - never changed
    script: Text = "",
    session: SessionName = "",
    folder: Folder = "",
    keep_going: KeepGoing = False,
    columns: Columns = 0,
    status: StatusBefore = -1,
) -> dict[str, Any]:
    steps = [step.text for step in _plan_steps(ctx, commands, script)]
    return {"steps": steps, "session": session, "folder": folder, "keepGoing": keep_going}


async def _run_step(running: ScriptRun, number: int, step: _ScriptStep) -> None:
    running.step_number = number
    for does in step.does:
        if isinstance(does, _CommandStep):
            await running.run_command(does.command, does.params)
        else:
            await running.run_line(does)
        if running.result.bad or running.result.ticket or running.result.leaves:
            return


@contextlib.asynccontextmanager
async def _open_session(
    ctx: Context, named: str, folder: str, tell: Notify
) -> AsyncIterator[tuple[ShellSession, bool]]:
    sessions = ctx.services.sessions
    found = await sessions.open(ctx.caller, ctx.call.room, "" if named == _NEW else named)
    async with sessions.use(found, stored=bool(named), tell=tell) as session:
        if folder:
            there = normalize_folder(folder)
            session.cwd = START_FOLDER if there == "." else f"{START_FOLDER}/{there}"
        yield session, bool(named)


def _plan_steps(ctx: Context, commands: Steps, script: str, aliases: Collection[str] = ()) -> list[_ScriptStep]:
    """The steps to run. A script with a syntax error or an unknown command does not start."""
    if bool(commands) == bool(script):
        given = "both" if script else "neither"
        raise BadParams(f"shell/script: give either commands or script; given {given}.")
    if script:
        return [_ScriptStep(render(line), (line,)) for line in _parse_lines(script, "")]
    steps = []
    for number, step in enumerate(commands, 1):
        if isinstance(step, str):
            lines = _parse_lines(step, f"Step {number}: ")
            if not lines:
                raise BadParams(f"Step {number} is empty; give a command, such as 'ls -la src'.")
            steps.append(_ScriptStep(step.strip(), tuple(lines)))
        else:
            steps.append(_parse_command_step(step))
    _check_commands_exist(ctx, steps, aliases)
    return steps


def _parse_lines(text: str, where: str) -> Sequence[Line]:
    try:
        return parse_script(text).lines
    except ShellSyntaxError as fault:
        raise BadParams(f"{where}{fault.message}", hint="The language is described in docs/SHELL.md.") from fault


def _parse_command_step(step: Mapping[str, Any]) -> _ScriptStep:
    unknown = set(step) - {"command", "params"}
    name, params = step.get("command", ""), step.get("params", {})
    if unknown or not isinstance(name, str) or not name or not isinstance(params, dict):
        raise BadParams(f'A step is a line or {{"command": …, "params": {{…}}}}; given {shorten(step)}.')
    return _ScriptStep(name, (_CommandStep(name, params),))


def _check_commands_exist(ctx: Context, steps: Sequence[_ScriptStep], aliases: Collection[str]) -> None:
    """Refuse unknown commands before anything runs, as far as their names are known by then."""
    named: list[list[str]] = []
    for does in (one for step in steps for one in step.does):
        if isinstance(does, _CommandStep):
            named.append([does.command])
        else:
            plain = (stage for stage in does.stages if stage.words and stage.words[0].bare not in (None, *aliases))
            named += [[word.bare or "" for word in stage.words[:2]] for stage in plain]
    if any(words[0] in ("alias", "unalias") for words in named):
        return
    for words in named:
        try:
            stages.resolve_command(ctx, words)
        except StageFault as fault:
            raise UnknownCommand(f"{shorten(words[0])}: {fault.message}.") from fault


def _failure_error(said: ScriptResult, message: str, result: ScriptOutput) -> DoorwardError:
    """The error of a failed script. When all steps were refused temporarily, it says when to retry the script."""
    if said.retry_after is not None and all(one["status"] == "refused" for one in said.steps):
        return _REFUSALS[said.code](message, retry_after=said.retry_after, result=result)
    return CommandFailed(message, result=result)


def _set_never_started(running: ScriptRun, error: DoorwardError) -> None:
    """Set the exit code of a script that did not start, for clients that show it like a shell."""
    running.result.stderr = error_line("shell", error.message)
    running.result.exit_code = UNKNOWN_COMMAND if isinstance(error, UnknownCommand) else WRONG_USAGE


def _build_output(running: ScriptRun, session: ShellSession, kept: bool, counts: tuple[int, int, int]) -> ScriptOutput:
    said = running.result
    result: ScriptOutput = {
        "stdout": said.stdout,
        "stderr": said.stderr,
        "exitCode": said.exit_code,
        "session": session.id if kept else "",
        "cwd": session.cwd,
        "steps": said.steps,
        "ran": counts[0],
        "of": counts[1],
        "failed": counts[2],
    }
    if said.ticket:
        result["ticket"] = said.ticket
    if said.leaves:
        result["leaves"] = True
    return result
