"""The outer side of a warm worker, which runs one program at a time inside the sandbox."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import socket
from collections.abc import Mapping
from typing import Any

import msgspec

from doorward.sandbox.inside import messages
from doorward.sandbox.program import FileAccess

_READY_TIMEOUT = 15.0
"""Seconds allowed for a worker to get ready; the machine may be busy."""
_GRACE = 5.0
"""Seconds allowed for a worker to stop its program."""


class WorkerGone(Exception):
    """The worker ended or misbehaved. The program it ran has ended too."""


class NotStarted(WorkerGone):
    """The worker was gone before the program started."""


class Worker:
    def __init__(self, sock: socket.socket, files: FileAccess, setup: Mapping[str, Any]) -> None:
        self.files: FileAccess = files
        self.setup = setup
        """The options that only this worker has."""
        self._sock = sock
        self._loop = asyncio.get_running_loop()
        self._result: asyncio.Future[dict[str, Any]] = self._loop.create_future()
        self.started: asyncio.Future[int] = self._loop.create_future()
        """The process id of a long-running program, once it has started."""
        self._ports: asyncio.Future[list[int]] | None = None
        self.resident = False
        """Whether its program runs until somebody stops it, and so does not count against the limit of the pool."""
        self.used = True
        """Whether it must not run another program: it runs one now, or the last one left something behind."""
        sock.setblocking(False)
        self._loop.add_reader(sock, self._receive)
        self._poll = select.poll()
        self._poll.register(sock, select.POLLIN)

    @property
    def alive(self) -> bool:
        # An idle worker sends nothing, so anything to read, such as end-of-file, makes it unusable.
        return self._sock.fileno() >= 0 and not self._poll.poll(0)

    async def wait_ready(self) -> None:
        """Wait until it is confined and ready; raises WorkerGone with the reason when it fails."""
        try:
            async with asyncio.timeout(_READY_TIMEOUT):
                answer = await self._result
        except TimeoutError as error:
            self.close()
            raise WorkerGone("a helper did not get ready in time") from error
        except BaseException:
            self.close()
            raise
        if "failed" in answer:
            self.close()
            raise WorkerGone(str(answer["failed"]))

    def start_program(self, message: bytes, descriptors: tuple[int, ...]) -> None:
        """Start a program. The descriptors are its stdout, stderr and optional stdin."""
        self._result = self._loop.create_future()
        self.used = True
        try:
            messages.send(self._sock, message, descriptors)
        except OSError as error:
            raise NotStarted(f"a helper does not accept work: {error.strerror}") from error

    async def wait_started(self) -> dict[str, Any]:
        """Wait for a long-running program's process id (`began`), or its result when it ended before."""
        either: list[asyncio.Future[Any]] = [self.started, self._result]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        return {"began": self.started.result()} if self.started.done() else await self._result

    def terminate(self) -> None:
        """Send SIGTERM to a long-running program; in namespaces, to all its processes."""
        with contextlib.suppress(OSError):
            messages.send(self._sock, messages.encode({"signal": int(signal.SIGTERM)}))

    async def list_ports(self) -> list[int]:
        """The TCP ports on which a long-running program listens."""
        if self._ports is None or self._ports.done():
            self._ports = self._loop.create_future()
            try:
                messages.send(self._sock, messages.encode({"ports": True}))
            except OSError as error:
                raise WorkerGone(f"the helper does not answer: {error.strerror}") from error
        return await asyncio.shield(self._ports)

    async def wait_ended(self) -> dict[str, Any]:
        """Wait for the program's result. When cancelled, it ends the program first."""
        try:
            answer = await self._result
        except asyncio.CancelledError:
            self._result = self._loop.create_future()
            await self._stop_and_wait()
            raise
        if "failed" in answer:
            raise WorkerGone(str(answer["failed"]))
        self.used = bool(answer["used"])
        return answer

    def stop(self) -> None:
        """Stop the running program; `ended` then returns."""
        try:
            messages.send(self._sock, messages.encode({"stop": True}))
        except OSError:
            self._close_unanswered()
        else:
            # The timer ends with this program: the worker may run another one by then.
            timer = self._loop.call_later(_GRACE, self._close_unanswered)
            self._result.add_done_callback(lambda _: timer.cancel())

    def close(self) -> None:
        """Close the connection; the worker and its program end."""
        if self._sock.fileno() >= 0:
            self._loop.remove_reader(self._sock)
            self._sock.close()
        if not self._result.done():
            self._result.set_exception(WorkerGone("a helper was closed"))
            self._result.exception()

    async def _stop_and_wait(self) -> None:
        """Stop the program and wait until it ended, even when the wait is cancelled."""
        self.stop()
        while not self._result.done():
            try:
                await asyncio.wait([self._result])
            except asyncio.CancelledError:
                continue
        if self._result.exception() is None and "changes" in self._result.result():
            os.close(self._result.result()["changes"])

    def _close_unanswered(self) -> None:
        """Close a worker that does not answer, which ends its program."""
        if not self._result.done():
            self.close()

    def _receive(self) -> None:
        try:
            message, descriptors = messages.receive(self._sock, msgspec.json.decode)
        except BlockingIOError:
            return
        except (OSError, ValueError) as error:
            message, descriptors = {"failed": str(error)}, []
        if message is None:
            gone = WorkerGone("the helper that ran the program ended")
            self._loop.remove_reader(self._sock)
            self._sock.close()
            if not self._result.done():
                self._result.set_exception(gone)
                self._result.exception()
            return
        if "began" in message:
            if not self.started.done():
                self.started.set_result(int(message["began"]))
            return
        if "ports" in message:
            if self._ports is not None and not self._ports.done():
                self._ports.set_result(message["ports"])
            return
        if descriptors:
            message["changes"] = descriptors[0]
        if self._result.done():
            for descriptor in descriptors:
                os.close(descriptor)
        else:
            self._result.set_result(message)
