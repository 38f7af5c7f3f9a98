"""The workers of a zygote without namespaces: a program that kills its worker must not outlive it.

Nothing but a PID namespace takes the children of a dead process along. So what loses its worker comes to the zygote,
which programs cannot reach, and is ended there.
"""

import contextlib
import os
import select
import signal
import socket
import time

from . import system

_PACE = 0.001


class Nursery:
    def __init__(self, control: socket.socket) -> None:
        system.adopt_orphans()
        self._control = control.fileno()
        self._workers: dict[int, int] = {}
        """A descriptor of each worker, and its number."""
        self._children = os.open(f"/proc/self/task/{os.getpid()}/children", os.O_RDONLY | os.O_CLOEXEC)
        self._watch = select.poll()
        self._watch.register(self._control, select.POLLIN)

    def add(self, process: int) -> None:
        with contextlib.suppress(ProcessLookupError):  # it ended at once, before it ran anything
            handle = os.pidfd_open(process)
            self._workers[handle] = process
            self._watch.register(handle, select.POLLIN)

    def wait(self) -> None:
        """Until there is something to read from the other side; what dead workers leave is ended meanwhile."""
        while True:
            ready = [descriptor for descriptor, _ in self._watch.poll()]
            dead = [descriptor for descriptor in ready if descriptor in self._workers]
            for handle in dead:
                self._watch.unregister(handle)
                os.close(handle)
                del self._workers[handle]
            if dead:
                self._end_orphans()
            if self._control in ready:
                return

    def end(self) -> None:
        """End every worker, and all that they ran."""
        for process in self._workers.values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self._workers.clear()
        self._end_orphans()

    def _end_orphans(self) -> None:
        """End every child that is no worker, and then the children that it leaves. The kernel buries them."""
        while orphans := self._orphans():
            for orphan in orphans:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(orphan, signal.SIGKILL)
            time.sleep(_PACE)

    def _orphans(self) -> set[int]:
        return {int(child) for child in os.pread(self._children, 65_536, 0).split()} - set(self._workers.values())
