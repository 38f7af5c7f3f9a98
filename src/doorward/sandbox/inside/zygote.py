"""The zygote: the first process inside the sandbox. It runs no programs; it makes the workers that do."""

import contextlib
import gc
import os
import signal
import socket
from typing import Any, NoReturn

from . import landlock, messages, system, worker
from .messages import CONTROL
from .nursery import Nursery


def main() -> None:
    control = socket.socket(fileno=CONTROL)
    control.set_inheritable(False)
    os.closerange(CONTROL + 1, os.sysconf("SC_OPEN_MAX"))  # whatever Doorward was started with would reach programs
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel buries workers, and orphans of programs
    setup, _ = messages.receive(control)
    if setup is None:
        return
    setup["landlock"] = landlock.version() > 0
    messages.send(control, messages.encoded({"landlock": setup["landlock"]}))
    _serve(control, setup)


def _serve(control: socket.socket, setup: dict[str, Any]) -> None:
    """Make workers as they are asked for, until the other side closes."""
    nursery = None if setup["namespaces"] else Nursery(control)
    while True:
        if nursery is not None:
            nursery.wait()
        message, descriptors = messages.receive(control)
        if message is None:
            break
        (descriptor,) = descriptors
        process = os.fork()
        if process == 0:
            control.close()
            _become_worker(socket.socket(fileno=descriptor), {**setup, **message})
        os.close(descriptor)
        if nursery is not None:
            nursery.add(process)
    if nursery is not None:
        nursery.end()


def _become_worker(sock: socket.socket, setup: dict[str, Any]) -> NoReturn:
    """Turn this fork into a worker; what goes wrong before it is ready is told to Doorward."""
    code = 0
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        if setup["namespaces"]:
            _own_namespaces(network=not setup["network"])
        gc.freeze()
        gc.disable()
        worker.work(sock, setup)
    except BaseException as error:  # noqa: BLE001 - this process has nobody above it to tell
        code = 1
        with contextlib.suppress(OSError):
            messages.send(sock, messages.encoded({"failed": f"{type(error).__name__}: {error}"}))
    os._exit(code)


def _own_namespaces(*, network: bool) -> None:
    """Users, so that processes are counted apart; the others, so that workers' programs do not reach each other."""
    user, group = os.getuid(), os.getgid()
    alone = system.NEW_NETWORK if network else 0
    system.unshare(system.NEW_USERS | system.NEW_MOUNTS | system.NEW_PIDS | alone)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
    if network:
        system.loopback_up()
    if os.fork() != 0:  # only a child is inside the new PID namespace
        os._exit(0)
