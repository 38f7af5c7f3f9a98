"""A long-running program in the sandbox, such as an MCP server, with its streams open."""

from __future__ import annotations

import asyncio
import os
from typing import Literal, Protocol

import msgspec

GIBIBYTE = 1024 * 1024 * 1024

Stopped = Literal["", "processes", "memory", "disk"]


class KeptProfile(msgspec.Struct, frozen=True, kw_only=True):
    """What one long-running program may access and use, besides the system's programs."""

    id: str
    """Its name in messages."""
    home: str
    """Absolute path of its own folder, which it may change. Created when missing."""
    read: tuple[str, ...] = ()
    """Absolute paths that it may read, mounted at the same paths."""
    write: tuple[str, ...] = ()
    """Absolute paths that it may change, mounted at the same paths."""
    network: bool = False
    memory_bytes: int = 2 * GIBIBYTE
    """Memory limit for each of its processes."""
    processes: int = 64
    """Limit on processes and threads at the same time."""


class KeptEnd(msgspec.Struct, frozen=True):
    """How a long-running program ended."""

    exit_code: int | None
    """None when a signal ended it. Inside namespaces, codes 129 to 192 count as signals, as in a shell."""
    signal: int = 0
    stopped: Stopped = ""
    """The limit for which Doorward ended it, if any."""

    def __str__(self) -> str:
        if self.stopped:
            return f"it was stopped because it used too much: {self.stopped}"
        if self.exit_code is None:
            return f"it was ended by signal {self.signal}"
        return f"it ended with exit code {self.exit_code}"


class Tree(Protocol):
    """A program and all its descendants, however they are confined."""

    process: int
    """The program's process id outside the sandbox."""
    first: int
    """Process id of the common ancestor of all its processes."""

    def ask_to_end(self) -> None:
        """Send SIGTERM to the program only."""

    def kill(self) -> None:
        """Kill the program and all its descendants."""

    def gone(self) -> asyncio.Future[KeptEnd]:
        """A future that is done when no process is left."""


class Streams:
    """The three pipes of a long-running program: our ends, and the ends that the program gets."""

    def __init__(self) -> None:
        self.stdin = self.stdout = self.stderr = -1
        self._theirs: list[int] = []
        try:
            theirs, self.stdin = self._pipe()
            self._theirs.append(theirs)
            self.stdout, theirs = self._pipe()
            self._theirs.append(theirs)
            self.stderr, theirs = self._pipe()
            self._theirs.append(theirs)
        except OSError:
            self.close()
            raise
        for ours in (self.stdin, self.stdout, self.stderr):
            os.set_blocking(ours, False)

    def _pipe(self) -> tuple[int, int]:
        return os.pipe2(os.O_CLOEXEC)

    @property
    def handed(self) -> tuple[int, int, int]:
        """The program's stdout, stderr and stdin, in the order that helpers expect."""
        given, output, errors = self._theirs
        return output, errors, given

    def handed_over(self) -> None:
        """Close our copies of the program's ends; otherwise end-of-file would never arrive."""
        while self._theirs:
            os.close(self._theirs.pop())

    def close_stdin(self) -> None:
        self.stdin = _closed(self.stdin)

    def close(self) -> None:
        self.handed_over()
        self.close_stdin()
        self.stdout, self.stderr = _closed(self.stdout), _closed(self.stderr)


class Kept:
    """A running long-lived program.

    It owns its descriptors: use them with `loop.add_reader` and `loop.add_writer`, and never close them; `close_stdin`
    and `end` do that. Always call `end`, even when the program ended by itself.
    """

    def __init__(self, streams: Streams, tree: Tree, level: str) -> None:
        self._streams = streams
        self._tree = tree
        self._stopped: Stopped = ""
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

    def stop(self, why: Stopped = "") -> None:
        """Kill everything at once, optionally because of a limit. `ended` returns when no process is left."""
        self._stopped = self._stopped or why
        self._tree.kill()

    async def ended(self) -> KeptEnd:
        """Wait until no process of the program is left. Several callers may wait."""
        return self._told(await asyncio.shield(self._tree.gone()))

    async def end(self, grace: float = 2.0) -> KeptEnd:
        """Shut it down: close its input, then SIGTERM, then SIGKILL, with `grace` seconds between the steps.

        When cancelled, it kills everything at once and still waits until no process is left. It is safe to call again.
        """
        gone = self._tree.gone()
        try:
            self.close_stdin()
            if not await _done(gone, grace):
                self._tree.ask_to_end()
                await _done(gone, grace)
        finally:
            await self._finished(gone)
        return self._told(gone.result())

    def _told(self, end: KeptEnd) -> KeptEnd:
        return KeptEnd(None, end.signal, self._stopped) if self._stopped else end

    async def _finished(self, gone: asyncio.Future[KeptEnd]) -> None:
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


async def _done(gone: asyncio.Future[KeptEnd], seconds: float) -> bool:
    await asyncio.wait([gone], timeout=seconds)
    return gone.done()


def _closed(descriptor: int) -> int:
    """Close a descriptor and remove its reader and writer."""
    if descriptor >= 0:
        loop = asyncio.get_running_loop()
        loop.remove_reader(descriptor)
        loop.remove_writer(descriptor)
        os.close(descriptor)
    return -1
