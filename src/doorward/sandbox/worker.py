"""The outer side of a warm worker, which runs one program at a time inside the sandbox."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import socket
from typing import Any

import msgspec

from doorward.sandbox.inside import messages
from doorward.sandbox.profile import Files

_PATIENCE = 15.0
"""Seconds allowed for a worker to get ready; the machine may be busy."""
_GRACE = 5.0
"""Seconds allowed for a worker to stop its program."""


class WorkerGone(Exception):
    """The worker ended or misbehaved. The program it ran has ended too."""


class NotBegun(WorkerGone):
    """The worker was gone before the program started."""


class Worker:
    def __init__(self, sock: socket.socket, files: Files) -> None:
        self.files: Files = files
        self._sock = sock
        self._loop = asyncio.get_running_loop()
        self._answer: asyncio.Future[dict[str, Any]] = self._loop.create_future()
        self._began: asyncio.Future[int] = self._loop.create_future()
        self.used = True
        """Whether it must not run another program: it runs one now, or the last one left something behind."""
        sock.setblocking(False)
        self._loop.add_reader(sock, self._receive)
        self._news = select.poll()
        self._news.register(sock, select.POLLIN)

    @property
    def alive(self) -> bool:
        # An idle worker sends nothing, so anything to read, such as end-of-file, makes it unusable.
        return self._sock.fileno() >= 0 and not self._news.poll(0)

    async def ready(self) -> None:
        """Wait until it is confined and ready; raises WorkerGone with the reason when it fails."""
        try:
            async with asyncio.timeout(_PATIENCE):
                answer = await self._answer
        except TimeoutError as error:
            self.close()
            raise WorkerGone("a helper did not get ready in time") from error
        except BaseException:
            self.close()
            raise
        if "failed" in answer:
            self.close()
            raise WorkerGone(str(answer["failed"]))

    def begin(self, message: bytes, descriptors: tuple[int, ...]) -> None:
        """Start a program. The descriptors are its stdout, stderr and optional stdin."""
        self._answer = self._loop.create_future()
        self.used = True
        try:
            messages.send(self._sock, message, descriptors)
        except OSError as error:
            raise NotBegun(f"a helper does not accept work: {error.strerror}") from error

    async def began(self) -> dict[str, Any]:
        """Wait for a long-running program's process id (`began`), or its result when it ended before."""
        either: list[asyncio.Future[Any]] = [self._began, self._answer]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        return {"began": self._began.result()} if self._began.done() else await self._answer

    def ask_to_end(self) -> None:
        """Send SIGTERM to a long-running program."""
        with contextlib.suppress(OSError):
            messages.send(self._sock, messages.encoded({"signal": int(signal.SIGTERM)}))

    async def ended(self) -> dict[str, Any]:
        """Wait for the program's result. When cancelled, it ends the program first."""
        try:
            answer = await self._answer
        except asyncio.CancelledError:
            self._answer = self._loop.create_future()
            await self._stopped()
            raise
        if "failed" in answer:
            raise WorkerGone(str(answer["failed"]))
        self.used = bool(answer["used"])
        return answer

    def stop(self) -> None:
        """Stop the running program; `ended` then returns."""
        self._ask_to_stop()
        self._loop.call_later(_GRACE, self._give_up)

    def close(self) -> None:
        """Close the connection; the worker and its program end."""
        if self._sock.fileno() >= 0:
            self._loop.remove_reader(self._sock)
            self._sock.close()
        if not self._answer.done():
            self._answer.set_exception(WorkerGone("a helper was closed"))
            self._answer.exception()

    async def _stopped(self) -> None:
        """Stop the program and wait until it ended, even when the wait is cancelled."""
        self.stop()
        while not self._answer.done():
            try:
                await asyncio.wait([self._answer])
            except asyncio.CancelledError:
                continue
        if self._answer.exception() is None and "changes" in self._answer.result():
            os.close(self._answer.result()["changes"])

    def _ask_to_stop(self) -> None:
        try:
            messages.send(self._sock, messages.encoded({"stop": True}))
        except OSError:
            self._give_up()

    def _give_up(self) -> None:
        """Close a worker that does not answer, which ends its program."""
        if not self._answer.done():
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
            if not self._answer.done():
                self._answer.set_exception(gone)
                self._answer.exception()
            return
        if "began" in message:
            if not self._began.done():
                self._began.set_result(int(message["began"]))
            return
        if descriptors:
            message["changes"] = descriptors[0]
        if self._answer.done():
            for descriptor in descriptors:
                os.close(descriptor)
        else:
            self._answer.set_result(message)
