"""A worker: confines itself for good, then runs one program after the other, each in a PID namespace of its own.

The program is the first process of that namespace, so that its end takes everything it started along. The worker is
the first process of the namespace around it, so that its own end takes the program along.
"""

import contextlib
import errno
import os
import resource
import select
import signal
import socket
from collections.abc import Sequence
from typing import Any

from . import landlock, messages, system

_SCRATCH = ("/tmp", "/dev/shm")
_READ_ONLY_AGAIN = system.MS_REMOUNT | system.MS_BIND | system.MS_READ_ONLY | system.MS_NO_SUID | system.MS_NO_DEVICES
_PAGE = 4_096
_FEWEST_FILES = 64
_LOOK_EVERY = 25
"""Milliseconds between looks at how many processes there are, where the kernel does not count them."""
_DEFAULTS = [signal.SIGPIPE, signal.SIGXFSZ]
"""Python ignores these; a program shall not."""
_children_file = -1
"""Without a PID namespace: where the kernel lists this process's children."""


def work(sock: socket.socket, setup: dict[str, Any]) -> None:
    """Confine this process as `setup` says, say so, and serve until the other side closes."""
    spaces: int | None = None
    layer: int | None = None
    global _children_file
    if setup["namespaces"]:
        spaces = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        _own_mounts(setup)
        if setup["files"] == "copy":
            layer = _copy_on_write(setup)
        elif setup["files"] == "read":
            system.mount("", setup["workspace"], "", _READ_ONLY_AGAIN)
    else:
        # Opened while /proc still can be.
        _children_file = os.open(f"/proc/self/task/{os.getpid()}/children", os.O_RDONLY | os.O_CLOEXEC)
    confine(setup, [system.CAP_SYS_ADMIN] if setup["namespaces"] else [])
    os.environ.clear()
    os.environ["PATH"] = setup["environment"]["PATH"]
    messages.send(sock, messages.encoded({"ready": True}))
    _serve(sock, setup, spaces, layer)


def _own_mounts(setup: dict[str, Any]) -> None:
    """Give this worker's programs scratch space and a /proc of their own."""
    size = _size(setup)
    flags = system.MS_NO_SUID | system.MS_NO_DEVICES
    for folder in _SCRATCH:
        system.mount("tmpfs", folder, "tmpfs", flags, size)
    try:
        system.mount("proc", "/proc", "proc", flags | system.MS_NO_EXEC | system.MS_READ_ONLY, "hidepid=ptraceable")
    except OSError:
        # A container that hides parts of /proc forbids a new one: then there is none at all.
        system.mount("tmpfs", "/proc", "tmpfs", flags | system.MS_NO_EXEC | system.MS_READ_ONLY, "size=4096")


def _size(setup: dict[str, Any]) -> str:
    """How much scratch space holds. Empty files take memory too, so there can be no more files than pages."""
    return f"size={setup['scratch']},nr_inodes={max(_FEWEST_FILES, setup['scratch'] // _PAGE)},mode=0700"


def _copy_on_write(setup: dict[str, Any]) -> int:
    """Lay a view over the workspace that keeps every change beside it, and give the folder that will hold them."""
    flags = system.MS_NO_SUID | system.MS_NO_DEVICES
    layers, workspace = setup["layers"], setup["workspace"]
    system.mount("tmpfs", layers, "tmpfs", flags, _size(setup))
    for name in ("upper", "spare"):
        os.mkdir(f"{layers}/{name}")
    options = f"lowerdir={workspace},upperdir={layers}/upper,workdir={layers}/spare,userxattr"
    system.mount("overlay", workspace, "overlay", flags, options)
    layer = os.open(f"{layers}/upper", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    # Programs change the layer through the view alone.
    system.mount("tmpfs", layers, "tmpfs", flags | system.MS_READ_ONLY, "size=4096")
    return layer


_LIMITS = {
    "memory": resource.RLIMIT_AS,
    "data": resource.RLIMIT_DATA,
    "file": resource.RLIMIT_FSIZE,
    "descriptors": resource.RLIMIT_NOFILE,
}


def confine(setup: dict[str, Any], capabilities: Sequence[int]) -> None:
    """Every lock that this process shares with its programs. None of them can be opened again."""
    limits = setup["limits"]
    system.keep_capabilities(capabilities)
    system.no_new_privileges()
    if setup["landlock"]:
        write = setup["write"] if setup["files"] == "read" else [*setup["write"], setup["workspace"]]
        landlock.confine(
            setup["read"], write, network=setup["network"] or setup["namespaces"], checked=setup.get("checked")
        )
    if not setup["namespaces"]:
        system.adopt_orphans()
    system.hide_from_proc()
    for kind, most in (
        *((kind, limits[name]) for name, kind in _LIMITS.items() if name in limits),
        (resource.RLIMIT_NPROC, limits["processes"] + setup["counted"]),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_MEMLOCK, 65_536),
        (resource.RLIMIT_MSGQUEUE, 65_536),
    ):
        _, hard = resource.getrlimit(kind)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, most))
    if setup["filter"]:
        system.filter_calls(bytes.fromhex(setup["filter"]))


def _serve(sock: socket.socket, setup: dict[str, Any], spaces: int | None, layer: int | None) -> None:
    watch = select.poll()
    watch.register(sock, select.POLLIN)
    scratch = [os.open(folder, os.O_RDONLY | os.O_CLOEXEC) for folder in _SCRATCH] if spaces is not None else []
    fresh = _condition(scratch)
    while True:
        if spaces is not None:  # while nobody waits: the next program starts in a namespace that is there already
            system.join(spaces, system.NEW_PIDS)
            system.unshare(system.NEW_PIDS)
        message, descriptors = messages.receive(sock)
        if message is None:
            return
        if not descriptors:  # a late request to stop what has ended already
            continue
        answer = _run(sock, watch, setup, message, descriptors)
        if answer is None:
            return
        answer["used"] = False
        if spaces is not None:
            answer["used"] = layer is not None or _condition(scratch) != fresh
        messages.send(sock, messages.encoded(answer), () if layer is None else (layer,))
        for descriptor in descriptors:  # only now: their end would wake the other side before the answer does
            os.close(descriptor)


def _condition(folders: list[int]) -> list[tuple[int, int, list[str]]]:
    """What changes when something is left in a folder or on it: tmpfs counts its entries as its size.

    Times can be set to anything, and so tell something too; they are put back.
    """
    found = []
    for folder in folders:
        os.utime(folder, ns=(0, 0))
        status = os.fstat(folder)
        found.append((status.st_size, status.st_mode, os.listxattr(folder)))
    return found


def _run(
    sock: socket.socket,
    watch: Any,
    setup: dict[str, Any],
    message: dict[str, Any],
    descriptors: list[int],
) -> dict[str, Any] | None:
    """Run one program to its end; None when the other side is gone."""
    try:
        os.chdir(message["folder"])
        program = os.posix_spawnp(
            message["argv"][0],
            message["argv"],
            {**setup["environment"], **message["environment"]},
            file_actions=_streams(descriptors),
            setsid=True,
            setsigmask=[],
            setsigdef=_DEFAULTS,
        )
    except OSError as error:
        return {"error": error.errno, "what": str(error.filename or message["argv"][0])}
    except ValueError:  # nothing that the system could be asked for, such as a name with a null character
        return {"error": errno.EINVAL, "what": message["argv"][0]}
    if message.get("stays"):
        while descriptors:  # so that whoever listens learns when the program closes a stream
            os.close(descriptors.pop())
        messages.send(sock, messages.encoded({"began": program}))
    else:
        cpu = setup["limits"]["cpu"]
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(program, resource.RLIMIT_CPU, (cpu, cpu + 1))
    handle = os.pidfd_open(program)
    watch.register(handle, select.POLLIN)
    stopped, gone = "", False
    try:
        while True:
            ready = watch.poll(_LOOK_EVERY if setup["count"] else None)
            if any(fd == handle for fd, _ in ready):
                break
            if ready:
                asked, _ = messages.receive(sock)
                if asked is not None and "signal" in asked:
                    os.kill(program, asked["signal"])
                    continue
                gone = asked is None
                stopped = "asked"
            elif _processes() > setup["limits"]["processes"] + 1:
                stopped = "processes"
            if stopped:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(program, signal.SIGKILL)
                break
        _, status = os.waitpid(program, 0)
    finally:
        watch.unregister(handle)
        descriptors.append(handle)
    if not setup["namespaces"]:
        _end_descendants()
    if gone:
        return None
    answer: dict[str, Any] = {"stopped": stopped}
    answer["code"] = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
    answer["signal"] = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    return answer


def _streams(descriptors: list[int]) -> list[Any]:
    """Output and errors as given, and input as given or none."""
    output, errors, *given = descriptors
    first: tuple[Any, ...] = (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0)
    if given:
        first = (os.POSIX_SPAWN_DUP2, given[0], 0)
    return [first, (os.POSIX_SPAWN_DUP2, output, 1), (os.POSIX_SPAWN_DUP2, errors, 2)]


def _processes() -> int:
    """How many processes this worker's /proc shows: itself and its program's."""
    try:
        return sum(name.isdigit() for name in os.listdir("/proc"))
    except OSError:
        return 0


def _end_descendants() -> None:
    """Without a PID namespace: end all that came to this process when its parent died, and theirs."""
    while True:
        children = _children()
        if not children:
            return
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _children() -> list[int]:
    return [int(child) for child in os.pread(_children_file, 65_536, 0).split()]
