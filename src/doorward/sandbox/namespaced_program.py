"""A long-running program in its own namespaces, under bubblewrap, without a Python process beside it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import struct
from collections.abc import Callable, Sequence
from typing import Any

from doorward.sandbox.helper_process import HelperProcess, parent_of, spawn_helper
from doorward.sandbox.inside import messages
from doorward.sandbox.long_running import LongRunningEnd
from doorward.sandbox.worker import WorkerGone

_START = "import sys; sys.path.insert(0, sys.argv[1]); from inside import confine_and_exec; confine_and_exec.main()"
_START_TIMEOUT = 15.0
"""Seconds allowed for the sandbox to start; the machine may be busy."""
_CREDENTIALS = struct.Struct("3i")
"""The sender's credentials as the kernel reports them: process, user and group."""
_LAST_SIGNAL = 64


class ExecFailed(Exception):
    """The sandbox started, but the program could not be started in it."""

    def __init__(self, code: int, what: str) -> None:
        super().__init__(f"{what}: {os.strerror(code)}")
        self.code = code
        self.what = what


class NamespacedProgram:
    """The processes of one long-running program.

    Bubblewrap has two processes: the outer one, which Doorward starts, and PID 1 of the namespace. When PID 1 ends,
    the kernel ends everything in the namespace. PID 1 dies with the outer process, and the outer one with Doorward.
    """

    def __init__(self, helper: HelperProcess) -> None:
        self._helper = helper
        self._loop = asyncio.get_running_loop()
        self._outer = os.pidfd_open(helper.process)
        self._first = self._program = -1
        self.process = 0
        self.first = 0
        self._status: int | None = None
        self._gone: asyncio.Future[LongRunningEnd] = self._loop.create_future()
        self._loop.add_reader(self._outer, self._outer_ended)

    @classmethod
    async def start(
        cls,
        around: Sequence[str],
        home: str,
        passwd: bytes,
        setup: dict[str, Any],
        streams: tuple[int, ...],
        check: Callable[[int], None],
    ) -> NamespacedProgram:
        """Start the program. `check` is called with the sandboxed process before the program runs in it."""
        helper = spawn_helper(around, _START, home, passwd, tells_who=True)
        self = cls(helper)
        try:
            async with asyncio.timeout(_START_TIMEOUT):
                await self._await_launcher()
                check(self.process)
                messages.send(helper.control, messages.encode(setup), streams)
                await self._await_exec()
        except TimeoutError as error:
            await self._kill_and_wait()
            raise WorkerGone("the sandbox did not start in time") from error
        except OSError as error:
            await self._kill_and_wait()
            raise WorkerGone(helper.last_error_line() or str(error)) from error
        except BaseException:
            await self._kill_and_wait()
            raise
        finally:
            helper.close()
        return self

    def terminate(self) -> None:
        if self._program < 0:
            return
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._program, signal.SIGTERM)

    def kill(self) -> None:
        """Kill everything. Until PID 1 of the namespace is known, it is looked up as the outer process's child."""
        if self._gone.done():
            return
        if self._first < 0 and self._status is None:
            self._watch_first(*self._helper.find_inner_process())
        if self._status is None:
            self._helper.kill()
        if self._first >= 0:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._first, signal.SIGKILL)

    def end_future(self) -> asyncio.Future[LongRunningEnd]:
        return self._gone

    async def _await_launcher(self) -> None:
        """Wait for the launcher inside the sandbox and learn its process, which will become the program."""
        _, self.process = await self._receive()
        if not self.process:
            raise WorkerGone(self._helper.last_error_line() or "the sandbox ended during start-up")
        # The launcher waits for its setup, so these process numbers cannot have been reused.
        self._program = os.pidfd_open(self.process)
        first = parent_of(self.process)
        self._watch_first(first, os.pidfd_open(first))

    def _watch_first(self, process: int, handle: int) -> None:
        if handle >= 0:
            self.first, self._first = process, handle
            self._loop.add_reader(handle, self._first_ended)

    async def _await_exec(self) -> None:
        """Wait until the launcher has become the program, which closes its end of the socket."""
        answer, _ = await self._receive()
        if answer:
            told = messages.decode(bytearray(answer))
            raise ExecFailed(int(told["error"]), str(told["what"]))

    async def _receive(self) -> tuple[bytes, int]:
        """Receive the next message and the process that sent it; empty bytes and 0 at the end."""
        control, heard = self._helper.control, self._loop.create_future()
        self._loop.add_reader(control, lambda: None if heard.done() else heard.set_result(None))
        try:
            await heard
        finally:
            self._loop.remove_reader(control)
        data, beside, _, _ = control.recvmsg(messages.MAX_MESSAGE_BYTES, socket.CMSG_SPACE(_CREDENTIALS.size))
        for _, kind, who in beside:
            if kind == socket.SCM_CREDENTIALS and data:
                return data, int(_CREDENTIALS.unpack(who)[0])
        return data, 0

    async def _kill_and_wait(self) -> None:
        """Kill everything and wait until it is gone, even when the wait is cancelled."""
        cancelled: asyncio.CancelledError | None = None
        while not self._gone.done():
            self.kill()
            try:
                await asyncio.wait([self._gone])
            except asyncio.CancelledError as error:
                cancelled = error
        if cancelled is not None:
            raise cancelled

    def _outer_ended(self) -> None:
        self._loop.remove_reader(self._outer)
        _, self._status = os.waitpid(self._helper.process, 0)
        self._finish_if_gone()

    def _first_ended(self) -> None:
        """PID 1 of the namespace ended; the kernel reports that only when everything else in it is gone."""
        self._loop.remove_reader(self._first)
        with contextlib.suppress(ChildProcessError):  # Doorward must reap it when it is PID 1 of a container
            os.waitpid(self.first, os.WNOHANG)
        os.close(self._first)
        self._first = -1
        self._finish_if_gone()

    def _finish_if_gone(self) -> None:
        if self._status is None or self._first >= 0:
            return
        for handle in (self._outer, self._program):
            if handle >= 0:
                os.close(handle)
        self._outer = self._program = -1
        self._gone.set_result(_decode_status(self._status))


def _decode_status(status: int) -> LongRunningEnd:
    """Decode an exit status. Bubblewrap reports a signal as a shell does: 128 plus its number."""
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        return LongRunningEnd(None, -code)
    if 128 < code <= 128 + _LAST_SIGNAL:
        return LongRunningEnd(None, code - 128)
    return LongRunningEnd(code)
