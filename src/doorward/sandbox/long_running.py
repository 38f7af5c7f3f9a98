"""A long-running program in the sandbox, such as an MCP server, with its streams open."""

from __future__ import annotations

import asyncio
import os
from typing import Literal, Protocol

import msgspec

GIBIBYTE = 1024 * 1024 * 1024

LongRunningStopReason = Literal["", "processes", "memory", "disk"]


class LongRunningProfile(msgspec.Struct, frozen=True, kw_only=True):
    """What one long-running program may access and use, besides the system's programs."""

    id: str
    """Its name in messages."""
    home: str
    """Absolute path of its own folder, which it may change. Created when missing."""
    read: tuple[str, ...] = ()
    """Absolute paths that it may read, mounted at the same paths."""
    write: tuple[str, ...] = ()
    """Absolute paths that it may change, mounted at the same paths."""
    installation: str = ""
    """Absolute path of the folder with its installed packages, which it may read; it may be in Doorward's own."""
    network: bool = False
    memory_bytes: int = 2 * GIBIBYTE
    """Memory limit for each of its processes."""
    processes: int = 64
    """Limit on processes and threads at the same time."""


class LongRunningEnd(msgspec.Struct, frozen=True):
    """How a long-running program ended."""

    exit_code: int | None
    """None when a signal ended it. Inside namespaces, codes 129 to 192 count as signals, as in a shell."""
    signal: int = 0
    stopped: LongRunningStopReason = ""
    """The limit for which Doorward ended it, if any."""

    def __str__(self) -> str:
        if self.stopped:
            return f"it was stopped because it used too much: {self.stopped}"
        if self.exit_code is None:
            return f"it was ended by signal {self.signal}"
        return f"it ended with exit code {self.exit_code}"


class ProcessTree(Protocol):
    """A program and all its descendants, however they are confined."""

    process: int
    """The program's process id outside the sandbox."""
    first: int
    """Process id of the common ancestor of all its processes."""

    def terminate(self) -> None:
        """Send SIGTERM to the program only."""

    def kill(self) -> None:
        """Kill the program and all its descendants."""

    def end_future(self) -> asyncio.Future[LongRunningEnd]:
        """A future that is done when no process is left."""


class ProgramStreams:
    """The three pipes of a long-running program: our ends, and the ends that the program gets."""

    def __init__(self) -> None:
        self.stdin = self.stdout = self.stderr = -1
        self._program_ends: list[int] = []
        try:
            theirs, self.stdin = self._pipe()
            self._program_ends.append(theirs)
            self.stdout, theirs = self._pipe()
            self._program_ends.append(theirs)
            self.stderr, theirs = self._pipe()
            self._program_ends.append(theirs)
        except OSError:
            self.close()
            raise
        for ours in (self.stdin, self.stdout, self.stderr):
            os.set_blocking(ours, False)

    def _pipe(self) -> tuple[int, int]:
        return os.pipe2(os.O_CLOEXEC)

    @property
    def program_ends(self) -> tuple[int, int, int]:
        """The program's stdout, stderr and stdin, in the order that helpers expect."""
        given, output, errors = self._program_ends
        return output, errors, given

    def close_program_ends(self) -> None:
        """Close our copies of the program's ends; otherwise end-of-file would never arrive."""
        while self._program_ends:
            os.close(self._program_ends.pop())

    def close_stdin(self) -> None:
        self.stdin = _close_descriptor(self.stdin)

    def close(self) -> None:
        self.close_program_ends()
        self.close_stdin()
        self.stdout, self.stderr = _close_descriptor(self.stdout), _close_descriptor(self.stderr)


class LongRunningProgram:
    """A running long-lived program.

    It owns its descriptors: use them with `loop.add_reader` and `loop.add_writer`, and never close them; `close_stdin`
    and `end` do that. Always call `end`, even when the program ended by itself.
    """

    def __init__(self, streams: ProgramStreams, tree: ProcessTree, level: str) -> None:
        self._streams = streams
        self._tree = tree
        self._stopped: LongRunningStopReason = ""
        self.level = level
        """How well it is confined: full, or what is missing."""

    @property
    def stdin(self) -> int:
        """Descriptor to write to; non-blocking, -1 once closed."""
        return self._streams.stdin

    @property
    def stdout(self) -> int:
        """Descriptor to read from; non-blocking, -1 once closed."""
        return self._streams.stdout

    @property
    def stderr(self) -> int:
        return self._streams.stderr

    @property
    def process(self) -> int:
        """The program's process id outside the sandbox, for statistics."""
        return self._tree.process

    @property
    def first(self) -> int:
        """Process id of the common ancestor of all its processes."""
        return self._tree.first

    def close_stdin(self) -> None:
        """Close the program's input, which asks a stdio server to shut down."""
        self._streams.close_stdin()

    def stop(self, why: LongRunningStopReason = "") -> None:
        """Kill everything at once, optionally because of a limit. `ended` returns when no process is left."""
        self._stopped = self._stopped or why
        self._tree.kill()

    async def wait(self) -> LongRunningEnd:
        """Wait until no process of the program is left. Several callers may wait."""
        return self._with_reason(await asyncio.shield(self._tree.end_future()))

    async def shut_down(self, grace: float = 2.0) -> LongRunningEnd:
        """Shut it down: close its input, then SIGTERM, then SIGKILL, with `grace` seconds between the steps.

        When cancelled, it kills everything at once and still waits until no process is left. It is safe to call again.
        """
        gone = self._tree.end_future()
        try:
            self.close_stdin()
            if not await _wait_for(gone, grace):
                self._tree.terminate()
                await _wait_for(gone, grace)
        finally:
            await self._kill_and_wait(gone)
        return self._with_reason(gone.result())

    def _with_reason(self, end: LongRunningEnd) -> LongRunningEnd:
        return LongRunningEnd(None, end.signal, self._stopped) if self._stopped else end

    async def _kill_and_wait(self, gone: asyncio.Future[LongRunningEnd]) -> None:
        """Kill everything and wait until it is gone, even when the wait is cancelled."""
        cancelled: asyncio.CancelledError | None = None
        while not gone.done():
            self._tree.kill()
            try:
                await asyncio.wait([gone])
            except asyncio.CancelledError as error:
                cancelled = error
        self._streams.close()
        if cancelled is not None:
            raise cancelled


async def _wait_for(gone: asyncio.Future[LongRunningEnd], seconds: float) -> bool:
    await asyncio.wait([gone], timeout=seconds)
    return gone.done()


def _close_descriptor(descriptor: int) -> int:
    """Close a descriptor and remove its reader and writer."""
    if descriptor >= 0:
        loop = asyncio.get_running_loop()
        loop.remove_reader(descriptor)
        loop.remove_writer(descriptor)
        os.close(descriptor)
    return -1
