"""The openat2 system call, with RESOLVE_BENEATH always set."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
from collections.abc import Iterator

NO_SYMLINKS = 0x04
FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC

_OPENAT2 = 437
_NO_MAGICLINKS = 0x02
_BENEATH = 0x08
_MAX_TRIES = 256


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


_syscall = ctypes.CDLL(None, use_errno=True).syscall
_syscall.restype = ctypes.c_long
_syscall.argtypes = (ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.POINTER(_OpenHow), ctypes.c_size_t)


def openat2(folder: int, path: str, flags: int, resolve: int = 0) -> int:
    how = _OpenHow(flags | os.O_CLOEXEC, 0, _BENEATH | _NO_MAGICLINKS | resolve)
    code = 0
    for _ in range(_MAX_TRIES):
        fd: int = _syscall(_OPENAT2, folder, os.fsencode(path), ctypes.byref(how), ctypes.sizeof(how))
        if fd >= 0:
            return fd
        code = ctypes.get_errno()
        # EAGAIN: a rename raced with the lookup, and the kernel could not prove that the path stays beneath.
        if code not in (errno.EAGAIN, errno.EINTR):
            break
    raise OSError(code, os.strerror(code), path)


@contextlib.contextmanager
def open_beneath(folder: int, path: str, flags: int, resolve: int = 0) -> Iterator[int]:
    fd = openat2(folder, path, flags, resolve)
    try:
        yield fd
    finally:
        os.close(fd)
