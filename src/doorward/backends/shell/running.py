"""Run one program in the sandbox for a call, and judge its exit."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import cast

import msgspec

from doorward.backends import tree
from doorward.backends.context import Context
from doorward.backends.shell import transaction
from doorward.backends.shell.shapes import Changed, Ran
from doorward.command import Foreseen
from doorward.errors import CommandFailed, TimedOut
from doorward.sandbox.changes import Changes
from doorward.sandbox.profile import Limits, Profile
from doorward.sandbox.program import Ended, Program
from doorward.settings import Sandbox as Settings

GRACE = 5.0
"""Seconds that a command may run longer than its program, so that the sandbox stops the program first and keeps its
output."""

_LONGEST_COMPLAINT = 300
_WHY_STOPPED = {
    "processes": "it started too many processes (setting sandbox.processes)",
    "disk": "the workspace's disk has too little space left (setting sandbox.keep_free_bytes)",
}


class Task(msgspec.Struct, frozen=True, kw_only=True):
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


def with_environment(task: Task, environment: Mapping[str, str]) -> Task:
    return msgspec.structs.replace(task, environment=environment)


async def run(ctx: Context, task: Task) -> Ran:
    """Run a program to its end and stream its output. A failure is raised as an error that carries the result."""
    profile, program = _prepared(ctx, task)
    done = transaction.approved(ctx)
    if done is not None:
        ctx.execution.say("stdout", done.ended.stdout)
        ctx.execution.say("stderr", done.ended.stderr)
    elif await _at_once(ctx, task):
        done = await transaction.attempt(ctx, profile, program, ctx.execution.say)
    if done is None:
        return _judged(task, program, await ctx.house.sandbox.run(profile, program, ctx.execution.say))
    await transaction.finish(ctx, done)
    return _judged(task, program, done.ended, done.changes)


async def foresee(ctx: Context, task: Task) -> Foreseen | None:
    """Preview the changes of a program on a copy of the workspace; None if that is not possible."""
    if task.network or not await _at_once(ctx, task):  # a trial run would reach the network before it is approved
        return None
    profile, program = _prepared(ctx, task)
    done = await transaction.attempt(ctx, profile, program, None)
    return await asyncio.to_thread(transaction.foreseen, done)


async def _at_once(ctx: Context, task: Task) -> bool:
    """Whether its changes are applied all at once at its end."""
    return task.writes and not task.live and await ctx.house.sandbox.copies()


def _prepared(ctx: Context, task: Task) -> tuple[Profile, Program]:
    settings = ctx.house.settings.sandbox
    profile = Profile(
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


def _judged(task: Task, program: Program, ended: Ended, changes: Changes | None = None) -> Ran:
    """The result, or the failure that carries it."""
    result = described(task.argv, ended)
    kept = ""
    if changes is not None and ended.stopped:
        kept = " The workspace is unchanged."
    elif changes is not None:
        result["changes"] = cast("Changed", tree.described(changes))
    elif task.writes:
        result["undo"] = "no: it wrote directly to the workspace"
    if ended.stopped == "time":
        most = f"{task.argv[0]} was stopped after {program.seconds:g} s, its time limit."
        raise TimedOut(f"{most}{kept}", result=result)
    if ended.stopped:
        raise CommandFailed(f"{task.argv[0]} was stopped: {_WHY_STOPPED[ended.stopped]}.{kept}", result=result)
    if ended.exit_code not in task.exit_codes:
        raise CommandFailed(_failure(task.argv[0], ended), result=result)
    return result


def described(argv: tuple[str, ...], ended: Ended) -> Ran:
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


def _limits(settings: Settings, memory_bytes: int | None) -> Limits:
    return Limits(
        cpu_seconds=settings.cpu_seconds,
        memory_bytes=memory_bytes or settings.memory_bytes,
        processes=settings.processes,
        file_bytes=settings.file_bytes,
        descriptors=settings.descriptors,
    )


def _text(output: bytes) -> str:
    """Output as text, with bytes that are not text shown as `\\x..`."""
    return output.decode("utf-8", "backslashreplace")


def _failure(program: str, ended: Ended) -> str:
    how = f"ended with exit code {ended.exit_code}" if ended.exit_code is not None else f"died of signal {ended.signal}"
    complaints = [line for line in _text(ended.stderr).splitlines() if line.strip()]
    if not complaints:
        return f"{program} {how}."
    # Most programs print the cause first; a traceback has it last.
    cause = complaints[-1 if complaints[0].startswith("Traceback") else 0].strip()
    return f"{program} {how}: {cause[:_LONGEST_COMPLAINT]}{'…' if len(cause) > _LONGEST_COMPLAINT else ''}"
