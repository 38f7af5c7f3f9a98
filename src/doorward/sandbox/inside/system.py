"""System calls that the standard library lacks. Each raises OSError with the call's name when it fails."""

import contextlib
import ctypes
import fcntl
import os
import re
import socket
import struct
from collections.abc import Sequence

NEW_MOUNTS = 0x0002_0000
NEW_USERS = 0x1000_0000
NEW_PIDS = 0x2000_0000
NEW_NETWORK = 0x4000_0000

MS_READ_ONLY = 1
MS_NO_SUID = 2
MS_NO_DEVICES = 4
MS_NO_EXEC = 8
MS_REMOUNT = 32
MS_BIND = 4096

_RESERVED_IDS = 300
_FIRST_WITH_IDS_OF_NAMESPACES = (6, 14)
"""Before this version of Linux `pid_max` was that of the whole machine, which must not change."""

_SIOCSIFFLAGS = 0x8914
_IFF_UP, _IFF_RUNNING = 0x1, 0x40

_PR_SET_DUMPABLE = 4
_PR_SET_SECCOMP = 22
_PR_CAPBSET_DROP = 24
_PR_SET_SECUREBITS = 28
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_PR_CAP_AMBIENT = 47
_AMBIENT_CLEAR_ALL = 4
_SECCOMP_FILTER = 2
_SECURE_NO_ROOT = 0b11
"""SECBIT_NOROOT and its lock: root gets no capabilities."""
_CAPABILITIES_3 = 0x2008_0522
CAP_SYS_PTRACE = 19
CAP_SYS_ADMIN = 21
_LAST_CAPABILITY = 63

_libc = ctypes.CDLL(None, use_errno=True)
_libc.unshare.argtypes = (ctypes.c_int,)
_libc.setns.argtypes = (ctypes.c_int, ctypes.c_int)
_libc.syscall.restype = ctypes.c_long
_libc.mount.argtypes = (ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_char_p)
_libc.prctl.argtypes = (ctypes.c_int, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_ulong)


def syscall(what: str, number: int, *arguments: object) -> int:
    """A raw system call."""
    result = _libc.syscall(ctypes.c_long(number), *arguments)
    return _check(what, result)


def unshare(flags: int) -> None:
    _check("unshare", _libc.unshare(flags))


def join_namespace(namespace: int, kind: int) -> None:
    """setns(2)."""
    _check("setns", _libc.setns(namespace, kind))


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    _check(
        f"mount {kind} on {target}",
        _libc.mount(os.fsencode(source), os.fsencode(target), kind.encode(), flags, options.encode() or None),
    )


def limit_process_ids(processes: int) -> None:
    """Make the kernel refuse processes far beyond the limit, also to root, to whom RLIMIT_NPROC does not apply.

    The kernel gives each reserved id only once, so that twice the limit stays available.
    """
    version = re.match(r"(\d+)\.(\d+)", os.uname().release)
    if version is None or (int(version[1]), int(version[2])) < _FIRST_WITH_IDS_OF_NAMESPACES:
        return
    with contextlib.suppress(OSError), open("/proc/sys/kernel/pid_max", "w") as file:
        file.write(str(_RESERVED_IDS + 2 * processes))


def hide_mounts() -> None:
    """Make the list of mounts empty for this process and its children. What they can reach stays the same.

    The kernel lists the mounts of a process's namespace that are below its root. This process moves to a copy of its
    namespace but keeps its root in the original, which somebody must keep open.
    """
    root = os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    unshare(NEW_MOUNTS)
    os.fchdir(root)
    os.chroot(".")
    os.close(root)


def enable_loopback() -> None:
    """Switch on the loopback interface, which is down in a new network namespace."""
    interface = struct.pack("16sh14x", b"lo", _IFF_UP | _IFF_RUNNING)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        fcntl.ioctl(sock, _SIOCSIFFLAGS, interface)


def hide_from_proc() -> None:
    """Hide this process from others of the same user, until the next exec."""
    _prctl("PR_SET_DUMPABLE", _PR_SET_DUMPABLE, 0)


def adopt_orphans() -> None:
    """Make orphaned descendants children of this process."""
    _prctl("PR_SET_CHILD_SUBREAPER", _PR_SET_CHILD_SUBREAPER, 1)


def forbid_new_privileges() -> None:
    _prctl("PR_SET_NO_NEW_PRIVS", _PR_SET_NO_NEW_PRIVS, 1)


def keep_capabilities(kept: Sequence[int]) -> None:
    """Drop every capability but these. Programs that are started get none."""
    _prctl("PR_CAP_AMBIENT", _PR_CAP_AMBIENT, _AMBIENT_CLEAR_ALL)
    for capability in range(_LAST_CAPABILITY + 1):
        if capability not in kept and _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) < 0:
            break  # past the kernel's last capability, or no right to drop one
    _libc.prctl(_PR_SET_SECUREBITS, _SECURE_NO_ROOT, 0, 0, 0)  # fails without capabilities, which is fine
    bits = sum(1 << capability for capability in kept)
    low, high = bits & 0xFFFF_FFFF, bits >> 32
    header = (ctypes.c_uint32 * 2)(_CAPABILITIES_3, 0)
    # effective, permitted, inheritable: first the low halves of all three, then the high halves.
    sets = (ctypes.c_uint32 * 6)(low, low, 0, high, high, 0)
    _check("capset", _libc.capset(ctypes.byref(header), ctypes.byref(sets)))


class _BpfProgram(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def install_seccomp_filter(bpf: bytes) -> None:
    """Install a seccomp filter for this process and its children. It cannot be removed."""
    code = ctypes.create_string_buffer(bpf, len(bpf))
    program = _BpfProgram(len(bpf) // 8, ctypes.cast(code, ctypes.c_void_p))
    _prctl("PR_SET_SECCOMP", _PR_SET_SECCOMP, _SECCOMP_FILTER, ctypes.addressof(program))


def _prctl(what: str, *arguments: int) -> None:
    _check(what, _libc.prctl(*arguments, *([0] * (5 - len(arguments)))))


def _check(what: str, result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result
