"""The probe: a program that tries to escape from its sandbox and prints what it managed to do."""

import contextlib
import ctypes
import json
import os
import resource
import socket
from collections.abc import Callable, Iterator
from typing import Any

from . import system

_PTRACE, _PTRACE_TRACEME = {"x86_64": 101, "aarch64": 117}.get(os.uname().machine, -1), 0
_GET_NO_NEW_PRIVS, _GET_SECCOMP = 39, 21
_FILTERED = 2


def main(given: str) -> None:
    print(json.dumps(list(_find_failures(json.loads(given)))))


def _find_failures(given: dict[str, Any]) -> Iterator[str]:
    """Yield the name of each protection that failed."""
    tries: dict[str, Callable[[], object]] = {
        "reading outside": lambda: open(given["canary"], "rb").close(),
        "writing outside": lambda: _create(f"{os.path.dirname(given['canary'])}/escaped"),
        "writing the system": lambda: _create("/usr/escaped"),
        "writing the workspace": lambda: _create(f"{given['workspace']}/.escaped"),
        "the network": lambda: socket.create_connection(("127.0.0.1", given["port"]), 1).close(),
        "signals to others": lambda: os.kill(given["process"], 0),
        "user namespaces": lambda: system.unshare(system.NEW_USERS),
        "mounts": lambda: system.mount("tmpfs", "/tmp", "tmpfs", 0),
        "tracing": lambda: system.syscall("ptrace", _PTRACE, ctypes.c_long(_PTRACE_TRACEME), None, None, None),
        "other kinds of sockets": lambda: socket.socket(40, socket.SOCK_STREAM).close(),
        "set-user-id files": lambda: _set_user_id(given["temporary"]),
        "capabilities": _use_capability,
    }
    for name, attempt in tries.items():
        with contextlib.suppress(OSError):
            attempt()
            yield name
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.sendto(b"escaped", ("127.0.0.1", given["port"]))  # the listener outside sees whether it arrived
    libc = ctypes.CDLL(None)
    if libc.prctl(_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1:
        yield "new privileges"
    if libc.prctl(_GET_SECCOMP, 0, 0, 0, 0) != _FILTERED:
        yield "system calls"
    if resource.getrlimit(resource.RLIMIT_AS)[1] != given["memory"]:
        yield "the memory limit"


def _create(path: str) -> None:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    os.unlink(path)


def _set_user_id(folder: str) -> None:
    path = f"{folder}/set-user-id"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        os.fchmod(descriptor, 0o4755)
    finally:
        os.close(descriptor)
        os.unlink(path)


def _use_capability() -> None:
    """Return without error when the process holds any capability."""
    header = (ctypes.c_uint32 * 2)(0x2008_0522, 0)
    sets = (ctypes.c_uint32 * 6)()
    ctypes.CDLL(None).capget(ctypes.byref(header), ctypes.byref(sets))
    if not any(sets):
        raise PermissionError
