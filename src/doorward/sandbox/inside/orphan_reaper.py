"""Reaps orphans of workers that run without namespaces: a program that kills its worker must not outlive it.

Only a PID namespace ends the children of a dead process. Without one, orphans become children of the zygote, which
programs cannot reach, and are killed there.
"""

import contextlib
import os
import select
import signal
import socket
import time

from . import system

_PAUSE = 0.001


class OrphanReaper:
    def __init__(self, control: socket.socket) -> None:
        system.adopt_orphans()
        self._control = control.fileno()
        self._workers: dict[int, int] = {}
        """Workers by pidfd, with their process ids."""
        self._children = os.open(f"/proc/self/task/{os.getpid()}/children", os.O_RDONLY | os.O_CLOEXEC)
        self._watch = select.poll()
        self._watch.register(self._control, select.POLLIN)

    def add(self, process: int) -> None:
        with contextlib.suppress(ProcessLookupError):  # it ended before it ran a program
            handle = os.pidfd_open(process)
            self._workers[handle] = process
            self._watch.register(handle, select.POLLIN)

    def wait(self) -> None:
        """Wait for a message from Doorward; meanwhile kill orphans of dead workers."""
        while True:
            ready = [descriptor for descriptor, _ in self._watch.poll()]
            dead = [descriptor for descriptor in ready if descriptor in self._workers]
            for handle in dead:
                self._watch.unregister(handle)
                os.close(handle)
                del self._workers[handle]
            if dead:
                self._kill_orphans()
            if self._control in ready:
                return

    def kill_all(self) -> None:
        """Kill every worker and its programs."""
        for process in self._workers.values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        self._workers.clear()
        self._kill_orphans()

    def _kill_orphans(self) -> None:
        """Kill every child that is not a worker, and then the orphans it leaves. The kernel reaps them."""
        while orphans := self._list_orphans():
            for orphan in orphans:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(orphan, signal.SIGKILL)
            time.sleep(_PAUSE)

    def _list_orphans(self) -> set[int]:
        return {int(child) for child in os.pread(self._children, 65_536, 0).split()} - set(self._workers.values())
