"""Runs one program in the sandbox for a call. Its file changes are applied all at once at its end.

The program runs in a copy-on-write view of the workspace. Its changes are then applied to the workspace, if that has
not changed in the meantime. A program that is stopped changes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

import msgspec

from doorward.commands import workspace_changes
from doorward.commands.context import Context
from doorward.commands.file.changes import run_uninterrupted
from doorward.commands.programs.draft_runs import note_run
from doorward.commands.programs.family import ChangeSummary, ProgramResult
from doorward.commands.programs.git_protection import (
    find_guarded,
    is_writable_guarded,
    restore_guarded,
    withhold_guarded,
)
from doorward.commands.programs.limit_faults import explain_limit, explain_stop, name_setting
from doorward.commands.programs.network_questions import NetworkQuestions
from doorward.commands.programs.room_network import ProgramNetwork, find_network
from doorward.config.settings import SandboxSettings
from doorward.config.settings.sandbox import BuildSettings
from doorward.core.effect_preview import EffectPreview
from doorward.core.errors import CommandFailed, Conflict, DoorwardError, TimedOut
from doorward.sandbox.overlay_changes import (
    MOST_PATHS,
    ChangedMeanwhile,
    ChangeError,
    OverlayChanges,
    TooManyChanges,
    UnreadableChanges,
)
from doorward.sandbox.program import (
    FileAccess,
    OnOutput,
    ProfileName,
    Program,
    ProgramLimits,
    SandboxProfile,
    SandboxResult,
)
from doorward.sandbox.safefs import is_guarded

_LARGEST_EFFECT = 16_000_000
_LIVE = "bash --live=true writes directly to the workspace, without this limit and without undo."
_KEPT_OUTPUT = "Its output and exit code are in the result. Run it again to make its changes."
_MOST_OUTPUT_SHOWN = 4_000
_MOST_READ_ONLY = 500
"""How many guarded paths are mounted read-only. All of them are checked again when the program has ended."""


class TrialRun(msgspec.Struct, frozen=True):
    """The end of a program, and its changes in the copy-on-write view."""

    ended: SandboxResult
    changes: OverlayChanges


async def run_trial(ctx: Context, profile: SandboxProfile, program: Program, on_output: OnOutput | None) -> TrialRun:
    """Run the program in the copy-on-write view only."""
    try:
        ended, changes = await ctx.services.sandbox.run_on_copy(profile, program, on_output)
    except UnreadableChanges as error:
        raise _explain_unreadable(profile, program, error.why, describe_end(program.argv, error.ended)) from error
    return TrialRun(ended, await asyncio.to_thread(withhold_guarded, changes))


def _explain_unreadable(
    profile: SandboxProfile, program: Program, why: ChangeError, result: ProgramResult
) -> DoorwardError:
    """The error for changes that cannot be used, with the output of the program."""
    name = program.argv[0]
    if isinstance(why, ChangedMeanwhile):
        return Conflict(
            f"The workspace changed while {name} ran: {why.path!r} is different now. Nothing was changed.",
            hint=_KEPT_OUTPUT,
            result=result,
        )
    if isinstance(why, TooManyChanges):
        most, setting = profile.limits.scratch_bytes, name_setting(profile, "scratch_bytes")
        fault = f"changed more than {MOST_PATHS} paths or {most} bytes ({setting}), too many to apply"
        return CommandFailed(f"{name} {fault} at once. Nothing was changed.", hint=_LIVE, result=result)
    if isinstance(why, UnicodeEncodeError):
        fault = f"changed a file whose name is not UTF-8 text, {why.object!a}"
        return CommandFailed(f"{name} {fault}. Nothing was changed.", hint=_LIVE, result=result)
    cause = "folders are nested too deeply"
    if isinstance(why, OSError | DoorwardError):
        cause = why.strerror or str(why) if isinstance(why, OSError) else why.message.rstrip(".")
    text = f"The changes of {name} cannot be read ({cause}). Nothing was changed."
    return CommandFailed(text, hint=_LIVE, result=result)


def get_approved_trial(ctx: Context) -> TrialRun | None:
    """The previewed run that people approved; None if none was previewed."""
    return None if ctx.effect is None else msgspec.msgpack.decode(ctx.effect, type=TrialRun)


async def apply_trial(ctx: Context, done: TrialRun) -> None:
    """Apply the changes to the workspace, unless the program was stopped."""
    if done.changes.items and not done.ended.stopped:
        await workspace_changes.apply_changes(ctx, done.changes)


def describe_trial(done: TrialRun) -> EffectPreview:
    """Describe a trial run for the people who decide: the program's output and the diff."""
    ended = done.ended
    if ended.stopped:
        return EffectPreview(None, "In a trial run on a copy it exceeded its limits. Its changes are not known.")
    how = f"exit code {ended.exit_code}" if ended.exit_code is not None else f"signal {ended.signal}"
    parts = [f"In a trial run on a copy it ended with {how}."]
    for name, text in (("output", ended.stdout), ("errors", ended.stderr)):
        if text:
            shown = text.decode("utf-8", "backslashreplace")
            more = f"\n… {len(shown) - _MOST_OUTPUT_SHOWN} more characters" if len(shown) > _MOST_OUTPUT_SHOWN else ""
            quoted = "\n".join(f"  | {line}" for line in shown[:_MOST_OUTPUT_SHOWN].splitlines())
            parts.append(f"Its {name}:\n{quoted}{more}")
    diff = workspace_changes.render_changes(done.changes)
    parts.append(diff.text or "It changes nothing.")
    effect: bytes | None = msgspec.msgpack.encode(done)
    if effect is not None and len(effect) > _LARGEST_EFFECT:
        effect = None
        parts.insert(0, "The result is too large to store. After approval, it runs again.")
    return EffectPreview(effect, "\n".join(parts), diff.added, diff.removed)


GRACE = 5.0
"""Seconds that a command may run longer than its program, so that the sandbox stops the program first and keeps its
output."""

_LONGEST_COMPLAINT = 300


class ProgramTask(msgspec.Struct, frozen=True, kw_only=True):
    """A program run: its arguments, its access, and the exit codes that count as success."""

    argv: tuple[str, ...]
    folder: str
    writes: bool
    live: bool = False
    """Whether it writes directly to the workspace. Its changes are then visible at once and cannot be undone."""
    stdin: bytes = b""
    environment: Mapping[str, str] = {}
    network: bool = False
    profile: ProfileName = "tool"
    shares_loopback: bool = False
    """Whether it shares the room's loopback whatever the recipe says."""
    workspace_path: str = ""
    """Where in the workspace the program is looked for first."""
    memory_bytes: int | None = None
    seconds: float | None = None
    exit_codes: tuple[int, ...] = (0,)


def with_environment(task: ProgramTask, environment: Mapping[str, str]) -> ProgramTask:
    return msgspec.structs.replace(task, environment=environment)


async def run(ctx: Context, task: ProgramTask) -> ProgramResult:
    """Run a program to its end and stream its output. A failure is raised as an error that carries the result."""
    network = await find_network(ctx, wanted=task.network, shares=task.shares_loopback)
    result = await _run(ctx, task, *prepare(ctx, task, network))
    if network.note:
        result["network"] = network.note
    return result


async def _run(ctx: Context, task: ProgramTask, profile: SandboxProfile, program: Program) -> ProgramResult:
    done = get_approved_trial(ctx)
    if done is not None:
        ctx.execution.write("stdout", done.ended.stdout)
        ctx.execution.write("stderr", done.ended.stderr)
    elif await _is_transactional(ctx, task):
        done = await run_trial(ctx, profile, program, ctx.execution.write)
        if _asks(ctx):
            done = TrialRun(done.ended, await asyncio.to_thread(withhold_guarded, done.changes, asks=True))
    if done is None:
        return await _run_directly(ctx, task, profile, program)
    try:
        await apply_trial(ctx, done)
    except (Conflict, CommandFailed) as error:
        result = describe_end(task.argv, done.ended)
        raise type(error)(error.message, hint=error.hint or _KEPT_OUTPUT, result=result) from error
    return _judge(ctx, task, profile, program, done.ended, done.changes)


async def _run_directly(ctx: Context, task: ProgramTask, profile: SandboxProfile, program: Program) -> ProgramResult:
    """Run a program that only reads, or that writes directly to the workspace."""
    sandbox, workspace = ctx.services.sandbox, Path(profile.workspace)
    if ctx.call.draft or not task.writes:
        ended = await sandbox.run(profile, program, ctx.execution.write)
        if ctx.call.draft:
            await note_run(ctx, task.argv, ended)
        return _judge(ctx, task, profile, program, ended)
    asks = _asks(ctx)
    guarded = await asyncio.to_thread(find_guarded, workspace, asks=asks)
    withheld: list[str] = []
    try:
        fixed = [path for path in sorted(guarded, key=is_guarded, reverse=True) if not is_writable_guarded(path)]
        protected = msgspec.structs.replace(program, read_only=tuple(fixed[:_MOST_READ_ONLY]))
        ended = await sandbox.run(profile, protected, ctx.execution.write)
    finally:
        withheld = await run_uninterrupted(lambda: restore_guarded(workspace, guarded, asks=asks))
    return _judge(ctx, task, profile, program, ended, withheld=withheld)


def _asks(ctx: Context) -> bool:
    """Whether changes of files that run later need a person's approval: people's own programs make them."""
    return ctx.caller.kind != "human"


async def describe_task(ctx: Context, task: ProgramTask) -> dict[str, Any]:
    """Describe a program run for a dry run, which adds a trial run on a copy unless there is a reason against it."""
    return {
        "argv": list(task.argv),
        "folder": task.folder,
        "workspace": "may be changed" if task.writes else "is read-only",
        "trial": await _explain_no_trial(ctx, task),
    }


async def _explain_no_trial(ctx: Context, task: ProgramTask) -> str:
    """Why a program cannot run on a copy, as a sentence; empty if it can."""
    network = await find_network(ctx, wanted=task.network, shares=task.shares_loopback)
    if task.network or network.reaches_out:
        return "Not run on a copy, because it would use the network."
    if network.room and ctx.services.processes.has_running(network.room):
        return "Not run on a copy, because it could reach the processes that run in this room."
    if not task.writes:
        return "It changes nothing."
    if ctx.call.draft:
        return "Not run on a copy, because it runs in a draft, where it changes nothing of the workspace."
    if task.live:
        return "Not run on a copy, because it writes directly to the workspace (live)."
    if not await ctx.services.sandbox.supports_copies():
        return "Not run on a copy, because the sandbox of this machine cannot make one."
    return ""


async def foresee(ctx: Context, task: ProgramTask) -> EffectPreview | None:
    """Preview the changes of a program on a copy of the workspace; None if that is not possible."""
    if await _explain_no_trial(ctx, task):
        return None
    # Nothing is approved yet, so it must not reach the room's other programs.
    profile, program = prepare(ctx, task, ProgramNetwork())
    done = await run_trial(ctx, profile, program, None)
    return await asyncio.to_thread(describe_trial, done)


async def _is_transactional(ctx: Context, task: ProgramTask) -> bool:
    """Whether its changes are applied all at once at its end."""
    return task.writes and not task.live and not ctx.call.draft and await ctx.services.sandbox.supports_copies()


def find_limits(settings: SandboxSettings, profile: ProfileName) -> SandboxSettings | BuildSettings:
    """The settings with the limits of programs with this profile."""
    return settings.build if profile == "build" else settings


def prepare(ctx: Context, task: ProgramTask, network: ProgramNetwork) -> tuple[SandboxProfile, Program]:
    """The profile and the program of a run."""
    settings = find_limits(ctx.services.settings.sandbox, "build" if ctx.call.draft else task.profile)
    files: FileAccess = "write" if task.writes else "read"
    profile = SandboxProfile(
        workspace=ctx.call.workspace,
        files=files,
        network=network.machine,
        limits=_limits(settings, task.memory_bytes),
        name=task.profile,
        room=network.room,
    )
    draft_size = None
    if ctx.call.draft:
        draft = ctx.services.drafts.get(ctx.call.draft)
        draft_size = draft.size
        profile = msgspec.structs.replace(ctx.services.drafts.profile(draft), files=files, limits=profile.limits)
    program = Program(
        argv=task.argv,
        workspace_path=task.workspace_path,
        folder=task.folder,
        environment=task.environment,
        stdin=task.stdin,
        seconds=task.seconds or settings.wall_seconds,
        output_bytes=settings.output_bytes,
        draft_size=draft_size,
        ask_to_connect=NetworkQuestions(ctx, task.argv, partial(ctx.execution.progress, None)).ask,
    )
    return profile, program


def _judge(
    ctx: Context,
    task: ProgramTask,
    profile: SandboxProfile,
    program: Program,
    ended: SandboxResult,
    changes: OverlayChanges | None = None,
    withheld: Sequence[str] = (),
) -> ProgramResult:
    """The result, or the failure that carries it."""
    result = describe_end(task.argv, ended)
    if profile.room_network and (refused := ctx.services.sandbox.list_refused_hosts(profile.room_network, ended.began)):
        result["refusedHosts"] = refused
    kept = ""
    if changes is not None and ended.stopped:
        kept = " The workspace is unchanged."
    elif changes is not None:
        result["changes"] = cast("ChangeSummary", workspace_changes.describe_changes(changes))
    elif task.writes:
        result["undo"] = f"no: it wrote directly to the {'draft' if profile.draft else 'workspace'}"
        if withheld:
            result["withheld"] = workspace_changes.describe_withheld(withheld)
    if ended.stopped == "time":
        where = "timeoutSeconds of its catalogue entry" if task.seconds else name_setting(profile, "wall_seconds")
        most = f"{task.argv[0]} was stopped after {program.seconds:g} s, its time limit ({where})."
        raise TimedOut(f"{most}{kept}", result=result)
    if ended.stopped:
        why = explain_stop(ended.stopped, profile, own_memory=task.memory_bytes is not None)
        raise CommandFailed(f"{task.argv[0]} was stopped: {why}.{kept}", result=result)
    if ended.exit_code not in task.exit_codes:
        limit = explain_limit(ended, profile, own_memory=task.memory_bytes is not None)
        raise CommandFailed(_describe_failure(task.argv[0], ended, limit), result=result)
    return result


def describe_end(argv: tuple[str, ...], ended: SandboxResult) -> ProgramResult:
    """Describe the end of a program. All commands that run a program return this."""
    return {
        "argv": [ended.program or argv[0], *argv[1:]],
        "exitCode": ended.exit_code,
        "stdout": _text(ended.stdout),
        "stderr": _text(ended.stderr),
        "stdoutBytes": ended.stdout_bytes,
        "stderrBytes": ended.stderr_bytes,
        "seconds": round(ended.seconds, 6),
        "sandbox": ended.sandbox,
    }


def _limits(settings: SandboxSettings | BuildSettings, memory_bytes: int | None) -> ProgramLimits:
    return ProgramLimits(
        cpu_seconds=settings.cpu_seconds,
        memory_bytes=memory_bytes or settings.memory_bytes,
        processes=settings.processes,
        file_bytes=settings.file_bytes,
        descriptors=settings.descriptors,
        scratch_bytes=settings.scratch_bytes,
    )


def _text(output: bytes) -> str:
    """Output as text, with bytes that are not text shown as `\\x..`."""
    return output.decode("utf-8", "backslashreplace")


def _describe_failure(program: str, ended: SandboxResult, limit: str) -> str:
    how = f"ended with exit code {ended.exit_code}" if ended.exit_code is not None else f"died of signal {ended.signal}"
    why = f" A limit applies: {limit}." if limit else ""
    complaints = [line for line in _text(ended.stderr).splitlines() if line.strip()]
    if not complaints:
        return f"{program} {how}.{why}"
    # Most programs print the cause first; a traceback has it last.
    cause = complaints[-1 if complaints[0].startswith("Traceback") else 0].strip()
    return f"{program} {how}: {cause[:_LONGEST_COMPLAINT]}{'…' if len(cause) > _LONGEST_COMPLAINT else ''}{why}"
