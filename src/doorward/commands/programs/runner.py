"""Runs one program in the sandbox for a call. Its file changes are applied all at once at its end.

The program runs in a copy-on-write view of the workspace. Its changes are then applied to the workspace, if that has
not changed in the meantime. A program that is stopped changes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import cast

import msgspec

from doorward.commands import workspace_changes
from doorward.commands.context import Context
from doorward.commands.programs.family import ChangeSummary, ProgramResult
from doorward.config.settings import SandboxSettings as Settings
from doorward.core.command import EffectPreview
from doorward.core.errors import CommandFailed, Conflict, TimedOut
from doorward.sandbox.overlay_changes import MOST_PATHS, ChangedMeanwhile, OverlayChanges, TooManyChanges
from doorward.sandbox.program import OnOutput, Program, ProgramLimits, SandboxProfile, SandboxResult

_LARGEST_EFFECT = 16_000_000
_LIVE = "bash --live=true writes directly to the workspace, without this limit and without undo."
_MOST_OUTPUT_SHOWN = 4_000


class TrialRun(msgspec.Struct, frozen=True):
    """The end of a program, and its changes in the copy-on-write view."""

    ended: SandboxResult
    changes: OverlayChanges


async def run_trial(ctx: Context, profile: SandboxProfile, program: Program, on_output: OnOutput | None) -> TrialRun:
    """Run the program in the copy-on-write view only."""
    try:
        return TrialRun(*await ctx.services.sandbox.run_on_copy(profile, program, on_output))
    except TooManyChanges as error:
        most = ctx.services.settings.sandbox.scratch_bytes
        raise CommandFailed(
            f"{program.argv[0]} changed more than {MOST_PATHS} paths or {most} bytes (setting sandbox.scratch_bytes),"
            " too many to apply at once. Nothing was changed.",
            hint=_LIVE,
        ) from error
    except ChangedMeanwhile as error:
        raise Conflict(
            f"The workspace changed while {program.argv[0]} ran: {error.path!r} is different now. Nothing was changed.",
            hint="Run it again.",
        ) from error
    except UnicodeEncodeError as error:
        raise CommandFailed(
            f"{program.argv[0]} changed a file whose name is not UTF-8 text, {error.object!a}. Nothing was changed.",
            hint=_LIVE,
        ) from error
    except (OSError, RecursionError) as error:
        why = error.strerror if isinstance(error, OSError) else "folders are nested too deeply"
        raise CommandFailed(
            f"The changes of {program.argv[0]} cannot be read ({why}). Nothing was changed.", hint=_LIVE
        ) from error


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
_STOP_REASONS = {
    "processes": "it started too many processes (setting sandbox.processes)",
    "disk": "the workspace's disk has too little space left (setting sandbox.keep_free_bytes)",
}


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
    memory_bytes: int | None = None
    seconds: float | None = None
    exit_codes: tuple[int, ...] = (0,)


def with_environment(task: ProgramTask, environment: Mapping[str, str]) -> ProgramTask:
    return msgspec.structs.replace(task, environment=environment)


async def run(ctx: Context, task: ProgramTask) -> ProgramResult:
    """Run a program to its end and stream its output. A failure is raised as an error that carries the result."""
    profile, program = _prepare(ctx, task)
    done = get_approved_trial(ctx)
    if done is not None:
        ctx.execution.write("stdout", done.ended.stdout)
        ctx.execution.write("stderr", done.ended.stderr)
    elif await _is_transactional(ctx, task):
        done = await run_trial(ctx, profile, program, ctx.execution.write)
    if done is None:
        return _judge(task, program, await ctx.services.sandbox.run(profile, program, ctx.execution.write))
    await apply_trial(ctx, done)
    return _judge(task, program, done.ended, done.changes)


async def foresee(ctx: Context, task: ProgramTask) -> EffectPreview | None:
    """Preview the changes of a program on a copy of the workspace; None if that is not possible."""
    if task.network or not await _is_transactional(
        ctx, task
    ):  # a trial run would reach the network before it is approved
        return None
    profile, program = _prepare(ctx, task)
    done = await run_trial(ctx, profile, program, None)
    return await asyncio.to_thread(describe_trial, done)


async def _is_transactional(ctx: Context, task: ProgramTask) -> bool:
    """Whether its changes are applied all at once at its end."""
    return task.writes and not task.live and await ctx.services.sandbox.supports_copies()


def _prepare(ctx: Context, task: ProgramTask) -> tuple[SandboxProfile, Program]:
    settings = ctx.services.settings.sandbox
    profile = SandboxProfile(
        workspace=ctx.call.workspace,
        files="write" if task.writes else "read",
        network=task.network,
        limits=_limits(settings, task.memory_bytes),
    )
    program = Program(
        argv=task.argv,
        folder=task.folder,
        environment=task.environment,
        stdin=task.stdin,
        seconds=task.seconds or settings.wall_seconds,
        output_bytes=settings.output_bytes,
    )
    return profile, program


def _judge(
    task: ProgramTask, program: Program, ended: SandboxResult, changes: OverlayChanges | None = None
) -> ProgramResult:
    """The result, or the failure that carries it."""
    result = describe_end(task.argv, ended)
    kept = ""
    if changes is not None and ended.stopped:
        kept = " The workspace is unchanged."
    elif changes is not None:
        result["changes"] = cast("ChangeSummary", workspace_changes.describe_changes(changes))
    elif task.writes:
        result["undo"] = "no: it wrote directly to the workspace"
    if ended.stopped == "time":
        most = f"{task.argv[0]} was stopped after {program.seconds:g} s, its time limit."
        raise TimedOut(f"{most}{kept}", result=result)
    if ended.stopped:
        raise CommandFailed(f"{task.argv[0]} was stopped: {_STOP_REASONS[ended.stopped]}.{kept}", result=result)
    if ended.exit_code not in task.exit_codes:
        raise CommandFailed(_describe_failure(task.argv[0], ended), result=result)
    return result


def describe_end(argv: tuple[str, ...], ended: SandboxResult) -> ProgramResult:
    """Describe the end of a program. All commands that run a program return this."""
    return {
        "argv": list(argv),
        "exitCode": ended.exit_code,
        "stdout": _text(ended.stdout),
        "stderr": _text(ended.stderr),
        "stdoutBytes": ended.stdout_bytes,
        "stderrBytes": ended.stderr_bytes,
        "seconds": round(ended.seconds, 6),
        "sandbox": ended.sandbox,
    }


def _limits(settings: Settings, memory_bytes: int | None) -> ProgramLimits:
    return ProgramLimits(
        cpu_seconds=settings.cpu_seconds,
        memory_bytes=memory_bytes or settings.memory_bytes,
        processes=settings.processes,
        file_bytes=settings.file_bytes,
        descriptors=settings.descriptors,
    )


def _text(output: bytes) -> str:
    """Output as text, with bytes that are not text shown as `\\x..`."""
    return output.decode("utf-8", "backslashreplace")


def _describe_failure(program: str, ended: SandboxResult) -> str:
    how = f"ended with exit code {ended.exit_code}" if ended.exit_code is not None else f"died of signal {ended.signal}"
    complaints = [line for line in _text(ended.stderr).splitlines() if line.strip()]
    if not complaints:
        return f"{program} {how}."
    # Most programs print the cause first; a traceback has it last.
    cause = complaints[-1 if complaints[0].startswith("Traceback") else 0].strip()
    return f"{program} {how}: {cause[:_LONGEST_COMPLAINT]}{'…' if len(cause) > _LONGEST_COMPLAINT else ''}"
