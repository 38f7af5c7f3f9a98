"""The outer side of a zygote: the first process of a sandbox, which forks workers."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import socket
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from doorward.sandbox.helper_process import HelperProcess, spawn_helper
from doorward.sandbox.inside import messages
from doorward.sandbox.program import FileAccess
from doorward.sandbox.worker import Worker, WorkerGone

_START = "import sys; sys.path.insert(0, sys.argv[1]); from inside import zygote; zygote.main()"
_START_TIMEOUT = 15.0


class Zygote:
    """A running zygote. When it or Doorward ends, all its workers and their programs end."""

    def __init__(self, spawned: HelperProcess, *, takes_all_along: bool) -> None:
        self._spawned = spawned
        self._process = spawned.process
        self._takes_all_along = takes_all_along
        """Whether it runs in namespaces, which end with it."""
        self._control = spawned.control
        self.landlock = False
        self.root = -1
        """Descriptor of the top folder of a draft, as its programs see it; -1 without a draft. The owner closes it."""
        self.on_close: Callable[[], None] = lambda: None
        """Called when everything of it is gone."""

    @classmethod
    async def start(
        cls, around: Sequence[str], home: str, setup: dict[str, Any], descriptors: Mapping[int, int] | None = None
    ) -> Zygote:
        """Start a zygote. `around` is the command line of the sandbox, `home` the folder of its code inside it.

        `descriptors` are passed to that command line, by their numbers there.
        """
        self = cls(spawn_helper(around, _START, home, descriptors=descriptors), takes_all_along=bool(around))
        try:
            await self._handshake(setup)
        except BaseException:
            await self.close()
            raise
        return self

    async def fork_worker(self, files: FileAccess, setup: Mapping[str, Any] | None = None) -> Worker:
        """Fork a worker with this access to the workspace, and wait until it is confined and ready.

        `setup` adds options for this worker only.
        """
        setup = setup or {}
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            messages.send(self._control, messages.encode({**setup, "files": files}), (theirs.fileno(),))
        except OSError as error:
            ours.close()
            raise WorkerGone(f"the sandbox ended: {self.last_error_line() or error.strerror}") from error
        finally:
            theirs.close()
        worker = Worker(ours, files, setup)
        await worker.wait_ready()
        return worker

    def has_died(self) -> bool:
        """Whether the zygote or its bubblewrap has ended; one may end a moment before the other."""
        gone = os.waitid(os.P_PID, self._process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        return gone or messages.is_closed(self._control)

    def last_error_line(self) -> str:
        """The last line that it or bubblewrap wrote."""
        return self._spawned.last_error_line()

    async def close(self) -> None:
        """End it and wait until everything in its namespaces is gone."""
        self._control.close()
        try:
            if self._takes_all_along:
                await asyncio.to_thread(self._wait_for_end, *self._kill())
            else:
                # It needs time to end its workers and their programs first.
                timer = asyncio.get_running_loop().call_later(_START_TIMEOUT, self._spawned.kill)
                try:
                    await asyncio.to_thread(os.waitpid, self._process, 0)
                finally:
                    timer.cancel()  # once it is reaped, another process may get its number
        finally:
            self._spawned.close()
            self.on_close()

    def _kill(self) -> tuple[int, int]:
        first, handle = self._spawned.find_inner_process()
        self._spawned.kill()
        if handle >= 0:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(handle, signal.SIGKILL)
        return first, handle

    def _wait_for_end(self, first: int, handle: int) -> None:
        os.waitpid(self._process, 0)
        if handle < 0:
            return
        gone = select.poll()
        gone.register(handle, select.POLLIN)
        gone.poll()
        os.close(handle)
        with contextlib.suppress(ChildProcessError):  # Doorward must reap it when it is PID 1 of a container
            os.waitpid(first, os.WNOHANG)

    async def _handshake(self, setup: dict[str, Any]) -> None:
        loop = asyncio.get_running_loop()
        answered = loop.create_future()

        def heard() -> None:
            if not answered.done():
                answered.set_result(None)

        loop.add_reader(self._control, heard)
        try:
            messages.send(self._control, messages.encode(setup))
            async with asyncio.timeout(_START_TIMEOUT):
                await answered
            answer, descriptors = messages.receive(self._control)
        except TimeoutError as error:
            raise WorkerGone("the sandbox did not start in time") from error
        except OSError as error:
            raise WorkerGone(self.last_error_line() or str(error)) from error
        finally:
            loop.remove_reader(self._control)
        if answer is None:
            raise WorkerGone(self.last_error_line() or "the sandbox ended during start-up")
        if "failed" in answer:
            raise WorkerGone(f"the draft cannot be opened: {answer['failed']}")
        self.landlock = bool(answer["landlock"])
        self.root = next(iter(descriptors), -1)
