"""The zygote: the first process inside the sandbox. It runs no programs; it forks the workers that do."""

import contextlib
import gc
import os
import signal
import socket
from typing import Any, NoReturn

from . import landlock, messages, system, worker
from .messages import CONTROL
from .orphan_reaper import OrphanReaper


def main() -> None:
    control = socket.socket(fileno=CONTROL)
    control.set_inheritable(False)
    os.closerange(CONTROL + 1, os.sysconf("SC_OPEN_MAX"))  # descriptors that Doorward inherited must not leak
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps workers and orphans
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")  # a machine that runs out of memory ends programs first, and not Doorward
    setup, _ = messages.receive(control)
    if setup is None:
        return
    setup["landlock"] = landlock.get_version() > 0
    root: tuple[int, ...] = ()
    if setup.get("draft"):
        try:
            _unshare_with_user(system.NEW_MOUNTS)
            root = (worker.mount_draft(setup),)
        except OSError as error:
            messages.send(control, messages.encode({"failed": error.strerror or str(error)}))
            return
    messages.send(control, messages.encode({"landlock": setup["landlock"]}), root)
    for descriptor in root:
        os.close(descriptor)
    _serve(control, setup)


def _serve(control: socket.socket, setup: dict[str, Any]) -> None:
    """Fork a worker for each request, until Doorward closes."""
    nursery = None if setup["namespaces"] else OrphanReaper(control)
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
        nursery.kill_all()


def _become_worker(sock: socket.socket, setup: dict[str, Any]) -> NoReturn:
    """Turn this fork into a worker. A failure before it is ready is reported to Doorward."""
    code = 0
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        if setup["namespaces"]:
            _create_namespaces(network=not (setup["network"] or setup["room"]))
        gc.freeze()
        gc.disable()
        worker.run_worker(sock, setup)
    except BaseException as error:  # noqa: BLE001 - nothing above this process could report it
        code = 1
        with contextlib.suppress(OSError):
            messages.send(sock, messages.encode({"failed": f"{type(error).__name__}: {error}"}))
    os._exit(code)


def _create_namespaces(*, network: bool) -> None:
    """Create namespaces: users to count processes separately, the others to isolate workers from each other."""
    _unshare_with_user(system.NEW_MOUNTS | system.NEW_PIDS | (system.NEW_NETWORK if network else 0))
    if network:
        system.enable_loopback()
    if os.fork() != 0:  # only a child is inside the new PID namespace
        os._exit(0)


def _unshare_with_user(kinds: int) -> None:
    """Create namespaces in a new user namespace, in which this process may mount. Its user stays the same."""
    user, group = os.getuid(), os.getgid()
    system.unshare(system.NEW_USERS | kinds)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
