"""A network namespace that the programs of one room share. It has a loopback interface and nothing else.

No process stays in it: Doorward holds it open by its descriptors, so it ends with the last program and with Doorward.
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

    def close(self) -> None:
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
