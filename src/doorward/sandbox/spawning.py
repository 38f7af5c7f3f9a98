"""Starting a helper's process: with a way to speak to it, and a place in memory for whatever it complains about."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from collections.abc import Sequence
from pathlib import Path

from doorward.sandbox import bubblewrap, view
from doorward.sandbox.inside.messages import CONTROL
from doorward.sandbox.worker import WorkerGone


class Spawned:
    """A process that has begun; its end is for whoever started it to wait for."""

    def __init__(self, process: int, control: socket.socket, complaints: int) -> None:
        self.process = process
        self.control = control
        self._complaints = complaints

    def complaint(self) -> str:
        """The last line that it or bubblewrap wrote."""
        text = os.pread(self._complaints, 4_096, max(0, os.fstat(self._complaints).st_size - 4_096))
        lines = text.decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""

    def inner(self) -> tuple[int, int]:
        """The process that bubblewrap began, the first of its namespace, and a handle of it; 0 and -1 without one.

        Before it is ready it does not die with the outer one, and waits for it without end.
        """
        for process in _children(self.process):
            try:
                handle = os.pidfd_open(process)
                if parent_of(process) == self.process:
                    return process, handle
                os.close(handle)
            except OSError:
                continue
        return 0, -1

    def kill(self) -> None:
        """End it, and what it is beginning at this moment: that is of the same group until it is ready."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process, signal.SIGKILL)

    def let_go(self) -> None:
        self.control.close()
        if self._complaints >= 0:
            os.close(self._complaints)
            self._complaints = -1


def spawned(
    around: Sequence[str], start: str, home: str, passwd: bytes = view.PASSWD, *, tells_who: bool = False
) -> Spawned:
    """Start a helper: `around` is the command line that makes its surroundings, `home` where it finds its code there.

    `start` is what its Python runs first, and `passwd` the list of accounts that it sees. With `tells_who` the kernel
    adds to each of its messages which process sent it.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if tells_who:
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    python, _ = view.python()
    words = [*around, python, "-I", "-S", "-c", start, home]
    complaints = _memory("complaints", b"")
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    given = {0: null, 1: null, 2: complaints, CONTROL: theirs.fileno()}
    made = {bubblewrap.PASSWD: _memory("passwd", passwd), bubblewrap.GROUP: _memory("group", view.GROUP)}
    try:
        process = os.posix_spawn(
            words[0],
            words,
            view.environment("/tmp"),
            file_actions=_placed({**given, **made}),
            setsid=True,
            setsigmask=[],
            setsigdef=[signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT],
        )
    except OSError as error:
        ours.close()
        os.close(complaints)
        raise WorkerGone(f"{words[0]} cannot be started: {error.strerror}") from error
    finally:
        theirs.close()
        os.close(null)
        for descriptor in made.values():
            os.close(descriptor)
    ours.setblocking(False)
    return Spawned(process, ours, complaints)


def parent_of(process: int) -> int:
    """The process above another; OSError when that is gone."""
    facts = Path(f"/proc/{process}/stat").read_text(errors="replace")
    return int(facts.rpartition(")")[2].split()[1])


def _children(process: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []


def _memory(name: str, content: bytes) -> int:
    """A file in memory alone, to be read from its start."""
    descriptor = os.memfd_create(name, os.MFD_CLOEXEC)
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _placed(wanted: dict[int, int]) -> list[tuple[int, int, int]]:
    """The steps that put descriptors at their numbers, in an order in which none is overwritten before it is used."""
    clear = max(*wanted, *wanted.values()) + 1
    away = [(os.POSIX_SPAWN_DUP2, source, clear + n) for n, source in enumerate(wanted.values())]
    back = [(os.POSIX_SPAWN_DUP2, clear + n, target) for n, target in enumerate(wanted)]
    closed = [(os.POSIX_SPAWN_CLOSE, clear + n) for n in range(len(wanted))]
    return [*away, *back, *closed]  # type: ignore[list-item]
