"""A network namespace that the programs of one room share. It has a loopback interface and nothing else.

Doorward holds it open by its descriptors, not by a process, so it ends with its last program and with Doorward.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Sequence
from pathlib import Path

from doorward.sandbox import bubblewrap, view
from doorward.sandbox.helper_process import HelperProcess, spawn_helper
from doorward.sandbox.inside import messages
from doorward.sandbox.inside.network_namespace import NETWORK_FD, USER_FD
from doorward.sandbox.worker import WorkerGone

_START = "import sys; sys.path.insert(0, sys.argv[1]); from inside import network_namespace; network_namespace."
_START_TIMEOUT = 15.0


class NetworkNamespace:
    def __init__(self, user: int, network: int, proxy: socket.socket) -> None:
        self.descriptors = {USER_FD: user, NETWORK_FD: network}
        """Its descriptors, by the numbers that `enter` expects."""
        self.proxy = proxy
        """A socket bound to the proxy's port on its loopback, not listening yet."""
        self._sockets: HelperProcess | None = None
        """The process that opens sockets in it, started when the first one is needed."""
        self._opening = asyncio.Lock()

    @classmethod
    async def create(cls, bwrap: str) -> NetworkNamespace:
        helper = spawn_helper(bubblewrap.build_network_command(bwrap), f"{_START}create()", view.HELPER_CODE)
        try:
            async with asyncio.timeout(_START_TIMEOUT):
                await _wait_readable(helper.control)
            answer, descriptors = messages.receive(helper.control)
            if answer is None:
                raise WorkerGone(helper.last_error_line() or "the room's network could not be created")
        except TimeoutError as error:
            raise WorkerGone("the room's network was not created in time") from error
        except OSError as error:
            raise WorkerGone(helper.last_error_line() or str(error)) from error
        finally:
            await asyncio.to_thread(_end, helper)
        user, network, proxy = descriptors
        sock = socket.socket(fileno=proxy)
        sock.setblocking(False)
        return cls(user, network, sock)

    def enter(self, around: Sequence[str]) -> list[str]:
        """The command line that runs `around` in this namespace. It needs the descriptors."""
        python, _ = view.find_python()
        code = str(Path(view.helper_code_folder()).parent)
        return [python, "-I", "-S", "-c", f"{_START}join()", code, *around]

    async def open_socket(self, family: int) -> socket.socket:
        """A new TCP socket in this namespace, which Doorward can connect to a port of its loopback."""
        async with self._opening:
            if self._sockets is None:
                code = str(Path(view.helper_code_folder()).parent)
                self._sockets = spawn_helper([], f"{_START}hand_out_sockets()", code, descriptors=self.descriptors)
            helper = self._sockets
            try:
                messages.send(helper.control, messages.encode({"family": family}))
                async with asyncio.timeout(_START_TIMEOUT):
                    await _wait_readable(helper.control)
                answer, descriptors = messages.receive(helper.control)
            except (OSError, TimeoutError) as error:
                self._close_sockets()
                raise WorkerGone(f"the room's network gave no socket: {error}") from error
            if answer is None:
                why = helper.last_error_line()
                self._close_sockets()
                raise WorkerGone(why or "the room's network gave no socket")
        return socket.socket(fileno=descriptors[0])

    def _close_sockets(self) -> None:
        helper, self._sockets = self._sockets, None
        if helper is not None:
            _end(helper)

    def close(self) -> None:
        self._close_sockets()
        for descriptor in self.descriptors.values():
            os.close(descriptor)
        self.descriptors.clear()
        self.proxy.close()


async def _wait_readable(sock: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    readable = loop.create_future()
    loop.add_reader(sock, lambda: None if readable.done() else readable.set_result(None))
    try:
        await readable
    finally:
        loop.remove_reader(sock)


def _end(helper: HelperProcess) -> None:
    helper.kill()
    os.waitpid(helper.process, 0)
    helper.close()
