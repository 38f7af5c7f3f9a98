"""A warm worker inside the sandbox, as seen from outside: it runs one program at a time."""

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
"""Seconds for a worker to get ready; the machine may be busy."""
_GRACE = 5.0
"""Seconds for a worker to end its program when told to."""


class WorkerGone(Exception):
    """The worker ended, or did what it should not; whatever ran in it ended with it."""


class NotBegun(WorkerGone):
    """It was gone before it could be told what to run."""


class Worker:
    def __init__(self, sock: socket.socket, files: Files) -> None:
        self.files: Files = files
        self._sock = sock
        self._loop = asyncio.get_running_loop()
        self._answer: asyncio.Future[dict[str, Any]] = self._loop.create_future()
        self._began: asyncio.Future[int] = self._loop.create_future()
        self.used = True
        """Whether it must not serve another program: it runs one, or the last one left something behind in it."""
        sock.setblocking(False)
        self._loop.add_reader(sock, self._receive)
        self._news = select.poll()
        self._news.register(sock, select.POLLIN)

    @property
    def alive(self) -> bool:
        # Whatever can be read from a worker that waits, its end above all, makes it unfit.
        return self._sock.fileno() >= 0 and not self._news.poll(0)

    async def ready(self) -> None:
        """Wait until it is confined and serves; WorkerGone says what went wrong."""
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
        """Have it start a program with these as its output, its errors and, if there is one, its input."""
        self._answer = self._loop.create_future()
        self.used = True
        try:
            messages.send(self._sock, message, descriptors)
        except OSError as error:
            raise NotBegun(f"a helper takes no more work: {error.strerror}") from error

    async def began(self) -> dict[str, Any]:
        """Which process a program that stays became, as `began`; or else how it ended before that."""
        either: list[asyncio.Future[Any]] = [self._began, self._answer]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        return {"began": self._began.result()} if self._began.done() else await self._answer

    def ask_to_end(self) -> None:
        """SIGTERM to a program that stays."""
        with contextlib.suppress(OSError):
            messages.send(self._sock, messages.encoded({"signal": int(signal.SIGTERM)}))

    async def ended(self) -> dict[str, Any]:
        """How the program that was begun ended. Cancelled, it ends the program first."""
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
        """Have the running program ended; `ended` then returns."""
        self._ask_to_stop()
        self._loop.call_later(_GRACE, self._give_up)

    def close(self) -> None:
        """Let go of the worker. It ends, and with it whatever it runs."""
        if self._sock.fileno() >= 0:
            self._loop.remove_reader(self._sock)
            self._sock.close()
        if not self._answer.done():
            self._answer.set_exception(WorkerGone("a helper was closed"))
            self._answer.exception()

    async def _stopped(self) -> None:
        """End the program and wait for that, however often the waiting is cancelled."""
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
        """It does not answer: its end is the program's end."""
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
