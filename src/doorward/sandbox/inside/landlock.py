"""Landlock: limits the files that this process and its children may read and write."""

import contextlib
import ctypes
import errno
import os
import stat
from collections.abc import Iterable, Mapping, Sequence

from . import system

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446
_VERSION = 1
_BENEATH = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_FIRST = (1 << 13) - 1
"""The thirteen rights of the first version."""
_FOR_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_MAKE_DEVICES = 1 << 6 | 1 << 11
_BIND_TCP, _CONNECT_TCP = 1, 2
_ABSTRACT_SOCKETS, _SIGNALS = 1, 2


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scope", ctypes.c_uint64))


class _PathRule(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


def get_version() -> int:
    """The kernel's Landlock version; 0 for none."""
    try:
        return system.syscall("landlock", _CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION))
    except OSError:
        return 0


def confine(
    read: Iterable[str], write: Iterable[str], *, network: bool, checked: Mapping[str, Sequence[int]] | None = None
) -> None:
    """Allow reading and executing beneath `read`, changing beneath `write`, and nothing else, from now on.

    `checked` maps paths to the device and inode they had when access was granted; a path that differs is an error.
    """
    known = get_version()
    later = {2: _REFER, 3: _TRUNCATE, 5: _IOCTL_DEV}
    handled = _FIRST | sum(right for since, right in later.items() if known >= since)
    ruleset = _Ruleset(handled)
    size = 8
    if known >= 4:
        size = 16
        ruleset.network = 0 if network else _BIND_TCP | _CONNECT_TCP
    if known >= 6:
        size = 24
        ruleset.scope = _ABSTRACT_SOCKETS | _SIGNALS
    rules = system.syscall("landlock", _CREATE, ctypes.byref(ruleset), ctypes.c_size_t(size), ctypes.c_uint32(0))
    try:
        for path in read:
            _allow(rules, path, handled & _READ, (checked or {}).get(path))
        for path in write:
            _allow(rules, path, handled & ~_MAKE_DEVICES, (checked or {}).get(path))
        system.syscall("landlock", _RESTRICT, ctypes.c_int(rules), ctypes.c_uint32(0))
    finally:
        os.close(rules)


def _allow(rules: int, path: str, rights: int, checked: Sequence[int] | None) -> None:
    """Add a rule for one path. A missing path needs none."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            facts = os.fstat(folder)
            if checked is not None and (facts.st_dev, facts.st_ino) != tuple(checked):
                raise OSError(errno.ESTALE, f"{path} was replaced meanwhile")
            if not stat.S_ISDIR(facts.st_mode):
                rights &= _FOR_FILES
            rule = _PathRule(rights, folder)
            kind, none = ctypes.c_int(_BENEATH), ctypes.c_uint32(0)
            system.syscall("landlock", _ADD_RULE, ctypes.c_int(rules), kind, ctypes.byref(rule), none)
        finally:
            os.close(folder)
