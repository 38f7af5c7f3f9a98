"""Runs one program: its streams, its time limit and its stop conditions."""

from __future__ import annotations

import asyncio
import errno
import os
import sys
import time
from collections.abc import Mapping
from typing import Any

import msgspec

from doorward.core.errors import CommandFailed
from doorward.sandbox.confinement import ConfinementLevel
from doorward.sandbox.draft_size import DraftSizeWatch
from doorward.sandbox.inside.messages import MAX_MESSAGE_BYTES, encode
from doorward.sandbox.output_filter import OutputFilter
from doorward.sandbox.program import OnOutput, OutputStream, Program, SandboxResult, StopReason
from doorward.sandbox.resource_watch import DiskWatch
from doorward.sandbox.worker import Worker

_PIECE = 65_536


class OutputCapture:
    def __init__(self, stream: OutputStream, most: int, tell: OnOutput | None, *, keeps: bool = True) -> None:
        """Without `keeps`, all output is passed on and none is kept."""
        self._stream: OutputStream = stream
        self._most = most if keeps else sys.maxsize
        self._keeps = keeps
        self._on_output = tell
        self._kept = bytearray()
        self.filter = OutputFilter(())
        self.total = 0
        """Bytes written, kept or not."""
        self._loop = asyncio.get_running_loop()
        self._read_end, self.write_end = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self._read_end, False)
        self._watched = False

    @property
    def kept(self) -> bytes:
        return bytes(self._kept)

    def start_reading(self) -> None:
        """Read output as it arrives. Without this call it is read once, at the end."""
        self._watched = True
        self._loop.add_reader(self._read_end, self._read)

    def close_write_end(self) -> None:
        """Close our copy of the write end, once the program has it; otherwise end-of-file would never arrive."""
        os.close(self.write_end)
        self.write_end = -1

    def close(self) -> None:
        """Read the rest of the pipe and close it."""
        while self._read_end >= 0 and self._read():
            pass
        self._close_read_end()
        if self.write_end >= 0:
            self.close_write_end()

    def _read(self) -> bool:
        """Read one chunk; False when nothing is available now."""
        try:
            piece = os.read(self._read_end, _PIECE)
        except BlockingIOError:
            return False
        if not piece:
            self._close_read_end()
            return False
        room = self._most - self.total
        self.total += len(piece)
        if room > 0:
            self._pass_on(self.filter.hide(piece[:room]))
        return True

    def _pass_on(self, piece: bytes) -> None:
        if self._keeps:
            self._kept += piece
        if piece and self._on_output is not None:
            self._on_output(self._stream, piece)

    def _close_read_end(self) -> None:
        if self._read_end >= 0:
            if self._watched:
                self._loop.remove_reader(self._read_end)
            os.close(self._read_end)
            self._read_end = -1
            self._pass_on(self.filter.finish())


_WATCH_AFTER = 0.002
"""Seconds until Doorward starts to watch a program. Most end earlier, and their output is read once, at the end."""


class ProgramRun:
    def __init__(self, program: Program, worker: Worker, on_output: OnOutput | None) -> None:
        self._program = program
        self._worker = worker
        keeps = not program.resident
        self._out = OutputCapture("stdout", program.output_bytes, on_output, keeps=keeps)
        self._err = OutputCapture("stderr", program.output_bytes, on_output, keeps=keeps)
        self._stopped: StopReason = ""
        self._timer: asyncio.TimerHandle | None = None
        self._time_limit: asyncio.TimerHandle | None = None
        self._seconds_left = program.seconds
        """The rest of its time, while the time limit is paused."""
        self._pauses = 0

    def hide(self, *secrets: str) -> None:
        """Hide these secrets in its output."""
        for output in (self._out, self._err):
            output.filter = OutputFilter(tuple(one.encode() for one in secrets))

    def pause(self) -> None:
        """Stop counting its time, until `resume` was called as often."""
        self._pauses += 1
        if self._time_limit is not None:
            self._seconds_left = self._time_limit.when() - asyncio.get_running_loop().time()
            self._time_limit.cancel()
            self._time_limit = None

    def resume(self) -> None:
        self._pauses -= 1
        self._set_time_limit()

    async def run(
        self,
        folder: str,
        environment: Mapping[str, str],
        level: ConfinementLevel,
        disk: tuple[str, int] | None,
        draft_bytes: int,
    ) -> tuple[SandboxResult, int]:
        """Run the program; return its result and the descriptor of its copy-on-write layer, or -1.

        `disk` has a folder on the disk to watch and the bytes to keep free on it.
        """
        program = self._program
        begin = {"argv": program.argv, "environment": environment, "folder": folder, "stays": program.resident}
        if program.workspace_path:
            begin["workspace_path"] = program.workspace_path
        message = _encode_message(begin)
        if len(message) > MAX_MESSAGE_BYTES:
            raise CommandFailed(
                f"The program's arguments are too long: {len(message)} bytes, at most {MAX_MESSAGE_BYTES}."
            )
        begun, stamp = time.monotonic(), time.time_ns()
        watches: list[DiskWatch | DraftSizeWatch] = []
        if disk is not None:
            watches.append(DiskWatch(*disk, lambda: self._stop("disk")))
        if program.draft_size is not None:
            watches.append(DraftSizeWatch(program.draft_size, draft_bytes, lambda: self._stop("draft")))
        stdin = (_open_stdin(program.stdin),) if program.stdin else ()
        try:
            self._worker.start_program(message, (self._out.write_end, self._err.write_end, *stdin))
            self._out.close_write_end()
            self._err.close_write_end()
            self._timer = asyncio.get_running_loop().call_later(_WATCH_AFTER, self._watch)
            answer = await self._worker.wait_ended()
        finally:
            self._pauses += 1  # its time does not count any more
            for timer in (self._timer, self._time_limit):
                if timer is not None:
                    timer.cancel()
            for watch in watches:
                watch.close()
            for descriptor in stdin:
                os.close(descriptor)
            self._out.close()
            self._err.close()
        if "error" in answer:
            if "changes" in answer:
                os.close(answer["changes"])
            raise CommandFailed(_start_error(program, folder, answer))
        # A limit that the worker reports came first: once asked to stop, it reports nothing else.
        stopped: StopReason = answer["stopped"] if answer["stopped"] in ("processes", "memory") else self._stopped
        ended = SandboxResult(
            exit_code=None if stopped else answer["code"],
            signal=answer["signal"],
            stopped=stopped,
            stdout=self._out.kept,
            stderr=self._err.kept,
            stdout_bytes=self._out.total,
            stderr_bytes=self._err.total,
            seconds=time.monotonic() - begun,
            began=stamp,
            program=answer.get("program", ""),
            sandbox=str(level),
        )
        return ended, answer.get("changes", -1)

    def _watch(self) -> None:
        """Start to read output as it arrives, and set the time limit."""
        self._out.start_reading()
        self._err.start_reading()
        self._timer = None
        self._seconds_left = max(0.0, self._seconds_left - _WATCH_AFTER)
        self._set_time_limit()

    def _set_time_limit(self) -> None:
        if not self._pauses and self._timer is None and not self._program.resident:
            loop = asyncio.get_running_loop()
            self._time_limit = loop.call_later(self._seconds_left, self._stop, "time")

    def _stop(self, why: StopReason) -> None:
        self._stopped = why
        self._worker.stop()


def _encode_message(message: dict[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(message)
    except UnicodeEncodeError:  # a name that is not text
        return encode(message)


def _open_stdin(stdin: bytes) -> int:
    """Create a descriptor from which the program reads its input."""
    descriptor = os.memfd_create("stdin", os.MFD_CLOEXEC)
    rest = memoryview(stdin)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


_INVISIBLE = "not visible inside the sandbox (setting sandbox.readable)"


def _start_error(program: Program, folder: str, answer: dict[str, Any]) -> str:
    name = program.argv[0]
    if answer["what"] == folder:
        return f"The folder {program.folder!r} does not exist, or is not a folder."
    if found := answer.get("program"):
        why = f"it, or the interpreter in its first line, leads to a file that is {_INVISIBLE}"
        return f"{found} cannot be started: {why if answer['error'] == errno.ENOENT else os.strerror(answer['error'])}."
    if answer["error"] == errno.ENOENT and program.workspace_path:
        where = f"the workspace has no {program.workspace_path}, and no folder of PATH has {name}"
        return f"The program {name!r} is not installed: {where}."
    if answer["error"] == errno.ENOENT:
        return f"The program {name!r} is not installed, or not visible inside the sandbox."
    return f"The program {name!r} cannot be started: {os.strerror(answer['error'])}."
