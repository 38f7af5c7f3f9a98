"""Starts a helper process with a control socket and an in-memory file for its stderr."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path

from doorward.sandbox import bubblewrap, view
from doorward.sandbox.inside.messages import CONTROL
from doorward.sandbox.worker import WorkerGone


class HelperProcess:
    """A started helper process. The caller has to wait for its end."""

    def __init__(self, process: int, control: socket.socket, complaints: int) -> None:
        self.process = process
        self.control = control
        self._complaints = complaints

    def last_error_line(self) -> str:
        """The last line that it or bubblewrap wrote."""
        text = os.pread(self._complaints, 4_096, max(0, os.fstat(self._complaints).st_size - 4_096))
        lines = text.decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""

    def find_inner_process(self) -> tuple[int, int]:
        """Process id and pidfd of bubblewrap's child, PID 1 of the namespace; 0 and -1 without one.

        Until it is ready, it does not die with the outer process and would wait for it forever.
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
        """Kill it and the child it is starting, which is in the same process group until it is ready."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process, signal.SIGKILL)

    def close(self) -> None:
        self.control.close()
        if self._complaints >= 0:
            os.close(self._complaints)
            self._complaints = -1


def spawn_helper(
    around: Sequence[str],
    start: str,
    home: str,
    passwd: bytes = view.PASSWD,
    *,
    tells_who: bool = False,
    descriptors: Mapping[int, int] | None = None,
) -> HelperProcess:
    """Start a helper process.

    `around` is the command line of the sandbox, `home` the folder of the helper's code inside it. `start` is the Python
    code it runs, `passwd` the content of /etc/passwd. With `tells_who` messages carry their sender's process.
    `descriptors` are passed on, by their numbers there.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if tells_who:
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    python, _ = view.find_python()
    words = [*around, python, "-I", "-S", "-c", start, home]
    complaints = _memory_file("complaints", b"")
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    given = {0: null, 1: null, 2: complaints, CONTROL: theirs.fileno()}
    made = {
        bubblewrap.PASSWD_FD: _memory_file("passwd", passwd),
        bubblewrap.GROUP_FD: _memory_file("group", view.GROUP),
        bubblewrap.HOSTS_FD: _memory_file("hosts", view.HOSTS),
    }
    try:
        process = os.posix_spawn(
            words[0],
            words,
            view.make_environment("/tmp"),
            file_actions=_plan_descriptors({**given, **made, **(descriptors or {})}),
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
    return HelperProcess(process, ours, complaints)


def parent_of(process: int) -> int:
    """The parent of a process; OSError when the process is gone."""
    facts = Path(f"/proc/{process}/stat").read_text(errors="replace")
    return int(facts.rpartition(")")[2].split()[1])


def _children(process: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []


def _memory_file(name: str, content: bytes) -> int:
    """Create an in-memory file, positioned at its start."""
    descriptor = os.memfd_create(name, os.MFD_CLOEXEC)
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _plan_descriptors(wanted: dict[int, int]) -> list[tuple[int, int, int]]:
    """Plan the steps that move descriptors to their numbers without overwriting one that is still needed."""
    clear = max(*wanted, *wanted.values()) + 1
    away = [(os.POSIX_SPAWN_DUP2, source, clear + n) for n, source in enumerate(wanted.values())]
    back = [(os.POSIX_SPAWN_DUP2, clear + n, target) for n, target in enumerate(wanted)]
    closed = [(os.POSIX_SPAWN_CLOSE, clear + n) for n in range(len(wanted))]
    return [*away, *back, *closed]  # type: ignore[list-item]
