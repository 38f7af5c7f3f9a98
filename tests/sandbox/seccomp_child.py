"""A process that installs a filter on itself and then does what it is told; it needs nothing but the standard library.

    seccomp_child.py FILTER run PROGRAM ...    becomes the program
    seccomp_child.py FILTER try                makes the system calls described on standard input, each in a process of
                                               its own, and writes how each ended

FILTER is the file of a filter, or `none`. A call is [number, argument ...]; an argument is a number, a text, or
{"open": path} for a descriptor. The number "code" runs the bytes that its argument spells in hexadecimal.
"""

import ctypes
import errno
import json
import mmap
import os
import signal
import sys
from pathlib import Path

_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.syscall.restype = ctypes.c_long
_PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 22, 38


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def install(code: bytes) -> None:
    program = _Program(len(code) // 8, code)
    for arguments in ((_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (_PR_SET_SECCOMP, 2, ctypes.byref(program), 0, 0)):
        if _LIBC.prctl(*arguments):
            raise OSError(ctypes.get_errno(), "the filter cannot be installed")


def call(number: object, *arguments: object) -> None:
    """Make one system call, and exit with its error."""
    if number == "code":
        memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        memory.write(bytes.fromhex(str(arguments[0])))
        ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))()
        os._exit(0)
    result = _LIBC.syscall(ctypes.c_long(number), *(_argument(argument) for argument in arguments))
    os._exit(ctypes.get_errno() if result == -1 else 0)


def _argument(value: object) -> object:
    if isinstance(value, str):
        return ctypes.c_char_p(value.encode())
    if isinstance(value, dict):
        return ctypes.c_long(os.open(value["open"], os.O_RDONLY))
    return ctypes.c_ulong(value)


def how_it_ends(description: list[object]) -> str:
    child = os.fork()
    if not child:
        try:
            call(*description)
        finally:
            os._exit(255)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status < 0:
        return signal.Signals(-status).name
    return errno.errorcode.get(status, str(status)) if status else "done"


def main() -> None:
    file, what, *program = sys.argv[1:]
    if file != "none":
        install(Path(file).read_bytes())
    if what == "run":
        os.execvp(program[0], program)  # noqa: S606 - that is what it is for
    json.dump([how_it_ends(description) for description in json.load(sys.stdin)], sys.stdout)


if __name__ == "__main__":
    main()
