"""Runs one program: its streams, its time limit and its stop conditions."""

from __future__ import annotations

import asyncio
import errno
import os
import time
from collections.abc import Mapping
from typing import Any

import msgspec

from doorward.errors import CommandFailed
from doorward.sandbox.capture import Capture
from doorward.sandbox.disk import DiskWatch
from doorward.sandbox.inside.messages import LARGEST, encoded
from doorward.sandbox.level import Level
from doorward.sandbox.program import Ended, OnOutput, Program, Stopped
from doorward.sandbox.worker import Worker

_FIRST_LOOK = 0.002
"""Seconds until Doorward starts to watch a program. Most end earlier, and their output is read once, at the end."""


class Running:
    def __init__(self, program: Program, worker: Worker, on_output: OnOutput | None) -> None:
        self._program = program
        self._worker = worker
        self._out = Capture("stdout", program.output_bytes, on_output)
        self._err = Capture("stderr", program.output_bytes, on_output)
        self._stopped: Stopped = ""
        self._timer: asyncio.TimerHandle | None = None

    async def to_the_end(
        self, folder: str, environment: Mapping[str, str], level: Level, disk: tuple[str, int] | None
    ) -> tuple[Ended, int]:
        """Run the program; return its result and the descriptor of its copy-on-write layer, or -1."""
        program = self._program
        message = _encoded({"argv": program.argv, "environment": environment, "folder": folder})
        if len(message) > LARGEST:
            raise CommandFailed(f"The program's arguments are too long: {len(message)} bytes, at most {LARGEST}.")
        begun, stamp = time.monotonic(), time.time_ns()
        watch = DiskWatch(*disk, lambda: self._stop("disk")) if disk is not None else None
        stdin = (_given(program.stdin),) if program.stdin else ()
        try:
            self._worker.begin(message, (self._out.writes, self._err.writes, *stdin))
            self._out.handed_over()
            self._err.handed_over()
            self._timer = asyncio.get_running_loop().call_later(_FIRST_LOOK, self._watch)
            answer = await self._worker.ended()
        finally:
            if self._timer is not None:
                self._timer.cancel()
            if watch is not None:
                watch.close()
            for descriptor in stdin:
                os.close(descriptor)
            self._out.close()
            self._err.close()
        if "error" in answer:
            if "changes" in answer:
                os.close(answer["changes"])
            raise CommandFailed(_not_started(program, folder, answer))
        # A limit that the worker reports came first: once asked to stop, it reports nothing else.
        stopped: Stopped = "processes" if answer["stopped"] == "processes" else self._stopped
        ended = Ended(
            exit_code=None if stopped else answer["code"],
            signal=answer["signal"],
            stopped=stopped,
            stdout=self._out.kept,
            stderr=self._err.kept,
            stdout_bytes=self._out.total,
            stderr_bytes=self._err.total,
            seconds=time.monotonic() - begun,
            began=stamp,
            sandbox=str(level),
        )
        return ended, answer.get("changes", -1)

    def _watch(self) -> None:
        """Start to read output as it arrives, and set the time limit."""
        self._out.watch()
        self._err.watch()
        rest = max(0.0, self._program.seconds - _FIRST_LOOK)
        self._timer = asyncio.get_running_loop().call_later(rest, self._stop, "time")

    def _stop(self, why: Stopped) -> None:
        self._stopped = why
        self._worker.stop()


def _encoded(message: dict[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(message)
    except UnicodeEncodeError:  # a name that is not text
        return encoded(message)


def _given(stdin: bytes) -> int:
    """Create a descriptor from which the program reads its input."""
    descriptor = os.memfd_create("stdin", os.MFD_CLOEXEC)
    rest = memoryview(stdin)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _not_started(program: Program, folder: str, answer: dict[str, Any]) -> str:
    name = program.argv[0]
    if answer["what"] == folder:
        return f"The folder {program.folder!r} does not exist, or is not a folder."
    if answer["error"] == errno.ENOENT:
        return f"The program {name!r} is not installed, or not visible inside the sandbox."
    return f"The program {name!r} cannot be started: {os.strerror(answer['error'])}."
