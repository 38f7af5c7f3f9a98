"""A program that stays, such as the server of somebody else's tools: held by the sandbox, with its streams open."""

from __future__ import annotations

import asyncio
import os
from typing import Literal, Protocol

import msgspec

GIBIBYTE = 1024 * 1024 * 1024

Stopped = Literal["", "processes", "memory", "disk"]


class KeptProfile(msgspec.Struct, frozen=True, kw_only=True):
    """What one kept program may reach and use, beside the system's programs."""

    id: str
    """What it is called in messages."""
    home: str
    """An absolute folder of its own, which it may change; it is made when it is not there."""
    read: tuple[str, ...] = ()
    """Absolute paths that it may read, each at its own place."""
    write: tuple[str, ...] = ()
    """Absolute paths that it may change, each at its own place."""
    network: bool = False
    memory_bytes: int = 2 * GIBIBYTE
    """How much memory each of its processes may have."""
    processes: int = 64
    """How many processes and threads it may have at once."""


class KeptEnd(msgspec.Struct, frozen=True):
    """How a kept program ended."""

    exit_code: int | None
    """None when a signal ended it. In namespaces 129 to 192 count as signals, as in a shell."""
    signal: int = 0
    stopped: Stopped = ""
    """Which limit made Doorward end it, if one did."""

    def __str__(self) -> str:
        if self.stopped:
            return f"it was ended because it used too much: {self.stopped}"
        return f"it was ended by signal {self.signal}" if self.exit_code is None else f"it ended with {self.exit_code}"


class Tree(Protocol):
    """A program and everything that came of it, however it is held."""

    process: int
    """The number of the program outside the sandbox."""
    first: int
    """The number of the process that everything of it descends from."""

    def ask_to_end(self) -> None:
        """SIGTERM to the program, and to nothing else."""

    def kill(self) -> None:
        """End all of it, whatever it does about it."""

    def gone(self) -> asyncio.Future[KeptEnd]:
        """Done when nothing of it is left."""


class Streams:
    """The three pipes of a kept program: our ends, and those that are handed to it."""

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
        """Output, errors and input, in the order in which helpers take them."""
        given, output, errors = self._theirs
        return output, errors, given

    def handed_over(self) -> None:
        """The program has its ends now; ours of them must go, or its end would never be seen."""
        while self._theirs:
            os.close(self._theirs.pop())

    def close_stdin(self) -> None:
        self.stdin = _closed(self.stdin)

    def close(self) -> None:
        self.handed_over()
        self.close_stdin()
        self.stdout, self.stderr = _closed(self.stdout), _closed(self.stderr)


class Kept:
    """A running one.

    Its descriptors belong to it: use them with `loop.add_reader` and `loop.add_writer`, and never close them or give
    them to something that does; `close_stdin` and `end` do that. Whoever keeps a program calls `end` in the end, also
    when it ended by itself.
    """

    def __init__(self, streams: Streams, tree: Tree, level: str) -> None:
        self._streams = streams
        self._tree = tree
        self._stopped: Stopped = ""
        self.level = level
        """How well it is held: full, or what is missing."""

    @property
    def stdin(self) -> int:
        """Where to write; non-blocking, and -1 once it is closed."""
        return self._streams.stdin

    @property
    def stdout(self) -> int:
        """Where to read; non-blocking, and -1 once it is closed."""
        return self._streams.stdout

    @property
    def stderr(self) -> int:
        return self._streams.stderr

    @property
    def process(self) -> int:
        """The number of the program outside the sandbox, for statistics."""
        return self._tree.process

    @property
    def first(self) -> int:
        """The number of the process that everything of the program descends from."""
        return self._tree.first

    def close_stdin(self) -> None:
        """Tell the program that nothing more will come, which servers take as a wish that they end."""
        self._streams.close_stdin()

    def stop(self, why: Stopped = "") -> None:
        """End all of it at once, because of a limit or for no reason; `ended` tells when nothing is left."""
        self._stopped = self._stopped or why
        self._tree.kill()

    async def ended(self) -> KeptEnd:
        """How the program ended, once nothing is left of it and of what it started. Anybody may wait for that."""
        return self._told(await asyncio.shield(self._tree.gone()))

    async def end(self, grace: float = 2.0) -> KeptEnd:
        """End it, politely at first: close its input, then SIGTERM, then everything, with `grace` seconds between.

        Cancelled, it ends all of it at once, and still waits until nothing is left. Again, it does no harm.
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
        """Nothing is left when this returns, however often the waiting is cancelled."""
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
    """Let go of a descriptor, and of whoever waits for it."""
    if descriptor >= 0:
        loop = asyncio.get_running_loop()
        loop.remove_reader(descriptor)
        loop.remove_writer(descriptor)
        os.close(descriptor)
    return -1
