"""A worker: confines itself for good, then runs programs one after another, each in its own PID namespace.

The program is PID 1 of its namespace, so everything it started ends with it. The worker is PID 1 of the namespace
around it, so the program ends with the worker.
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

from . import landlock, listening_ports, messages, system
from .usage import UsageWatch, can_measure

_SCRATCH = ("/tmp", "/dev/shm")
_READ_ONLY_AGAIN = system.MS_REMOUNT | system.MS_BIND | system.MS_READ_ONLY | system.MS_NO_SUID | system.MS_NO_DEVICES
_PAGE = 4_096
_FEWEST_FILES = 64
_DEFAULT_SIGNALS = [signal.SIGPIPE, signal.SIGXFSZ]
"""Signals that Python ignores; programs expect the default."""
_children_file = -1
"""Without a PID namespace: descriptor of the kernel's list of this process's children."""


def run_worker(sock: socket.socket, setup: dict[str, Any]) -> None:
    """Confine this process as `setup` says, report that it is ready, and run programs until Doorward closes."""
    spaces: int | None = None
    layer: int | None = None
    global _children_file
    if setup["namespaces"]:
        spaces = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        os.open("/proc/self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)  # open until this process ends, for `hide_mounts`
        _mount_scratch(setup)
        if setup["files"] == "copy":
            layer = _mount_overlay(setup)
        elif setup["files"] == "read":
            system.mount("", setup["workspace"], "", _READ_ONLY_AGAIN)
        else:
            _protect(setup)
        _link_workspace(setup)
        system.hide_mounts()  # the list shows where the workspace is outside
    else:
        # Open it now: /proc is not accessible after confinement.
        _children_file = os.open(f"/proc/self/task/{os.getpid()}/children", os.O_RDONLY | os.O_CLOEXEC)
    if "together" in setup["limits"] and not (setup["namespaces"] and can_measure()):
        setup["limits"]["data"] = setup["limits"].pop("together")  # then the kernel limits each process
    # The second capability shows processes that hide from others of the same user.
    confine(setup, [system.CAP_SYS_ADMIN, system.CAP_SYS_PTRACE] if setup["namespaces"] else [])
    os.environ.clear()
    os.environ["PATH"] = setup["environment"]["PATH"]
    messages.send(sock, messages.encode({"ready": True}))
    _serve(sock, setup, spaces, layer)


def _mount_scratch(setup: dict[str, Any]) -> None:
    """Mount scratch space and a /proc for this worker's programs."""
    size = _size_options(setup)
    flags = system.MS_NO_SUID | system.MS_NO_DEVICES
    for folder in _SCRATCH:
        system.mount("tmpfs", folder, "tmpfs", flags, size)
    try:
        system.mount("proc", "/proc", "proc", flags | system.MS_NO_EXEC, "hidepid=ptraceable")
        system.limit_process_ids(setup["limits"]["processes"])
        system.mount("", "/proc", "", _READ_ONLY_AGAIN | system.MS_NO_EXEC)
    except OSError:
        # A container that masks parts of /proc forbids a new one. Then programs get an empty /proc.
        system.mount("tmpfs", "/proc", "tmpfs", flags | system.MS_NO_EXEC | system.MS_READ_ONLY, "size=4096")


def _size_options(setup: dict[str, Any]) -> str:
    """Mount options that limit scratch space. Empty files take memory too, so there is one inode per page."""
    return f"size={setup['scratch']},nr_inodes={max(_FEWEST_FILES, setup['scratch'] // _PAGE)},mode=0700"


def _mount_overlay(setup: dict[str, Any]) -> int:
    """Mount an overlay over the workspace and return a descriptor of its upper layer, which holds all changes."""
    flags = system.MS_NO_SUID | system.MS_NO_DEVICES
    layers, workspace = setup["layers"], setup["workspace"]
    system.mount("tmpfs", layers, "tmpfs", flags, _size_options(setup))
    for name in ("upper", "spare"):
        os.mkdir(f"{layers}/{name}")
    options = f"lowerdir={workspace},upperdir={layers}/upper,workdir={layers}/spare,userxattr"
    system.mount("overlay", workspace, "overlay", flags, options)
    layer = os.open(f"{layers}/upper", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    # Programs may change the layer only through the overlay.
    system.mount("tmpfs", layers, "tmpfs", flags | system.MS_READ_ONLY, "size=4096")
    return layer


def mount_draft(setup: dict[str, Any]) -> int:
    """Mount a draft over the workspace, for this process and all workers, and return a descriptor of its top folder."""
    flags = system.MS_NO_SUID | system.MS_NO_DEVICES
    layers, workspace = setup["layers"], setup["workspace"]
    options = f"lowerdir={workspace},upperdir={layers}/upper,workdir={layers}/work,userxattr"
    os.chdir("/")
    system.mount("overlay", workspace, "overlay", flags, options)
    _mount_caches(setup)
    # Programs may change the layer only through the overlay.
    system.mount("tmpfs", layers, "tmpfs", flags | system.MS_READ_ONLY, "size=4096")
    return os.open(workspace, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def _mount_caches(setup: dict[str, Any]) -> None:
    """Make caches of the account copy-on-write. One that cannot be stays read-only."""
    for path in setup["caches"]:
        layer = f"{setup['layers']}/toolchains/{os.fsencode(path).hex()}"
        with contextlib.suppress(OSError):
            for name in ("upper", "work"):
                os.makedirs(f"{layer}/{name}", 0o700, exist_ok=True)
            os.chdir(path)  # the path itself may have characters that separate mount options
            options = f"lowerdir=.,upperdir={layer}/upper,workdir={layer}/work,userxattr"
            system.mount("overlay", path, "overlay", system.MS_NO_SUID | system.MS_NO_DEVICES, options)
    os.chdir("/")
    cargo = setup["environment"]["CARGO_HOME"]
    os.makedirs(cargo, 0o700, exist_ok=True)
    with contextlib.suppress(FileNotFoundError, IsADirectoryError, PermissionError):
        os.unlink(f"{cargo}/registry")
    if setup["registry"]:
        with contextlib.suppress(FileExistsError):
            os.symlink(f"{setup['registry']}/registry", f"{cargo}/registry")


def _link_workspace(setup: dict[str, Any]) -> None:
    """Make the workspace's own path lead to it, where that path is in scratch space."""
    for path in setup.get("aliases", ()):
        if any(path.startswith(f"{folder}/") for folder in _SCRATCH):
            os.makedirs(os.path.dirname(path), 0o755, exist_ok=True)
            os.symlink(setup["workspace"], path)


def _protect(setup: dict[str, Any]) -> None:
    """Make single paths of a writable workspace read-only."""
    for path in setup.get("read_only", ()):
        place = f"{setup['workspace']}/{path}"
        if os.path.lexists(place) and not os.path.islink(place):
            system.mount(place, place, "", system.MS_BIND)
            system.mount("", place, "", _READ_ONLY_AGAIN)


_LIMITS = {
    "memory": resource.RLIMIT_AS,
    "data": resource.RLIMIT_DATA,
    "file": resource.RLIMIT_FSIZE,
    "descriptors": resource.RLIMIT_NOFILE,
}


def confine(setup: dict[str, Any], capabilities: Sequence[int]) -> None:
    """Apply every restriction that this process shares with its programs. None of them can be lifted."""
    limits = setup["limits"]
    system.keep_capabilities(capabilities)
    system.forbid_new_privileges()
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
        _set_limit(kind, most, most)
    if setup["filter"]:
        system.install_seccomp_filter(bytes.fromhex(setup["filter"]))


def _set_limit(kind: int, soft: int, hard: int) -> None:
    """Set a limit of this process, or keep a lower one that it has already."""
    _, most = resource.getrlimit(kind)
    most = hard if most == resource.RLIM_INFINITY else min(hard, most)
    resource.setrlimit(kind, (min(soft, most), most))


def _serve(sock: socket.socket, setup: dict[str, Any], spaces: int | None, layer: int | None) -> None:
    watch = select.poll()
    watch.register(sock, select.POLLIN)
    scratch = [os.open(folder, os.O_RDONLY | os.O_CLOEXEC) for folder in _SCRATCH] if spaces is not None else []
    fresh = _describe_scratch(scratch)
    usage = UsageWatch(setup, scratch if layer is None else [*scratch, layer])
    while True:
        if spaces is not None:  # while idle, so that the namespace is ready when the next program starts
            system.join_namespace(spaces, system.NEW_PIDS)
            system.unshare(system.NEW_PIDS)
        message, descriptors = messages.receive(sock)
        if message is None:
            return
        if not descriptors:  # a late request to stop a program that has ended
            continue
        answer = _run_program(sock, watch, setup, usage, message, descriptors)
        if answer is None:
            return
        # Without namespaces a worker shares its processor time limit with its program, so it runs only one.
        alone = spaces is None or layer is not None or bool(setup.get("read_only") or setup.get("aliases"))
        answer["used"] = alone or _describe_scratch(scratch) != fresh
        messages.send(sock, messages.encode(answer), () if layer is None else (layer,))
        for descriptor in descriptors:  # only now: closing them earlier would wake Doorward before the answer
            os.close(descriptor)


def _describe_scratch(folders: list[int]) -> list[tuple[int, int, list[str]]]:
    """Describe scratch folders so that leftovers show: tmpfs reports the number of entries as the folder's size.

    Times are reset, because one program could leave a message for the next in them.
    """
    found = []
    for folder in folders:
        os.utime(folder, ns=(0, 0))
        status = os.fstat(folder)
        found.append((status.st_size, status.st_mode, os.listxattr(folder)))
    return found


def _run_program(
    sock: socket.socket,
    watch: Any,
    setup: dict[str, Any],
    usage: UsageWatch,
    message: dict[str, Any],
    descriptors: list[int],
) -> dict[str, Any] | None:
    """Run one program to its end; None when Doorward is gone."""
    stays = bool(message.get("stays"))
    cpu = 0 if stays else setup["limits"]["cpu"]
    if cpu and not setup["namespaces"]:  # the filter lets nobody change the limits of another process
        _set_limit(resource.RLIMIT_CPU, cpu, cpu + 1)
    found = _find_in_workspace(setup["workspace"], message) if "workspace_path" in message else ""
    place = {"program": found} if found else {}
    argv = [found or message["argv"][0], *message["argv"][1:]]
    try:
        os.chdir(message["folder"])
        program = os.posix_spawnp(
            argv[0],
            argv,
            {**setup["environment"], **message["environment"]},
            file_actions=_stream_actions(descriptors),
            setsid=True,
            setsigmask=[],
            setsigdef=_DEFAULT_SIGNALS,
        )
    except OSError as error:
        return {"error": error.errno, "what": str(error.filename or argv[0]), **place}
    except ValueError:  # not a valid argument for the system, such as a name with a null character
        return {"error": errno.EINVAL, "what": argv[0], **place}
    if stays:
        while descriptors:  # so that Doorward notices when the program closes a stream
            os.close(descriptors.pop())
        messages.send(sock, messages.encode({"began": program}))
    elif setup["namespaces"]:
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(program, resource.RLIMIT_CPU, (cpu, cpu + 1))
    handle = os.pidfd_open(program)
    watch.register(handle, select.POLLIN)
    stopped, gone = "", False
    try:
        while True:
            ready = watch.poll(usage.pause)
            if any(fd == handle for fd, _ in ready):
                break
            if ready:
                asked, _ = messages.receive(sock)
                if asked is not None and "signal" in asked:
                    _signal(listening_ports.list_programs() if setup["namespaces"] else [program], asked["signal"])
                    continue
                if asked is not None and "ports" in asked:
                    messages.send(sock, messages.encode({"ports": listening_ports.list_ports()}))
                    continue
                gone = asked is None
                stopped = "asked"
            else:
                stopped = usage.find_excess()
            if stopped:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(program, signal.SIGKILL)
                break
        _, status = os.waitpid(program, 0)
    finally:
        watch.unregister(handle)
        descriptors.append(handle)
    if not setup["namespaces"]:
        _kill_descendants()
    if gone:
        return None
    answer: dict[str, Any] = {"stopped": stopped, **place}
    answer["code"] = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
    answer["signal"] = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    return answer


def _find_in_workspace(workspace: str, message: dict[str, Any]) -> str:
    """The program's path in its folder or the nearest folder above it, up to the workspace; empty if it has none."""
    folder, path = os.path.normpath(message["folder"]), message["workspace_path"]
    while folder == workspace or folder.startswith(f"{workspace}/"):
        if os.path.lexists(f"{folder}/{path}"):
            return f"{folder}/{path}"
        folder = os.path.dirname(folder)
    return ""


def _signal(processes: list[int], number: int) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, number)


def _stream_actions(descriptors: list[int]) -> list[Any]:
    """File actions for stdout, stderr and stdin; /dev/null when no input is given."""
    output, errors, *given = descriptors
    first: tuple[Any, ...] = (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0)
    if given:
        first = (os.POSIX_SPAWN_DUP2, given[0], 0)
    return [first, (os.POSIX_SPAWN_DUP2, output, 1), (os.POSIX_SPAWN_DUP2, errors, 2)]


def _kill_descendants() -> None:
    """Without a PID namespace: kill all orphans that this process adopted, and their descendants."""
    while True:
        children = _list_children()
        if not children:
            return
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _list_children() -> list[int]:
    return [int(child) for child in os.pread(_children_file, 65_536, 0).split()]
