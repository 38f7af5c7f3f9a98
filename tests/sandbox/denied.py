"""Runs a program on a machine that lacks something: the kernel refuses it to the program and to all that it starts.

    denied.py WHAT PROGRAM ...

WHAT is `namespaces`, as in most containers, `landlock`, as on old kernels, or both with a comma between them.
"""

from __future__ import annotations

import errno
import os
import struct
import sys
from collections.abc import Iterator

from seccomp_child import install

from doorward.sandbox.seccomp.machines import load_machines

_LOAD, _IF_SAME, _IF_ANY, _ANSWER = 0x20, 0x15, 0x45, 0x06
_NUMBER, _FIRST_ARGUMENT = 0, 16
_ALLOWED, _FAILS = 0x7FFF_0000, 0x0005_0000
_EVERY_NAMESPACE = 0x7E02_0080

_REFUSED = {
    "namespaces": {"unshare": errno.EPERM, "setns": errno.EPERM, "mount": errno.EPERM, "clone3": errno.ENOSYS},
    "landlock": dict.fromkeys(("landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"), errno.ENOSYS),
}


def _instructions(missing: list[str]) -> Iterator[bytes]:
    (numbers,) = (machine.numbers for machine in load_machines() if machine.name == os.uname().machine)
    yield _one(_LOAD, _NUMBER)
    for what in missing:
        for call, code in _REFUSED[what].items():
            yield _one(_IF_SAME, numbers[call], 0, 1)
            yield _one(_ANSWER, _FAILS | code)
    if "namespaces" in missing:
        yield _one(_IF_SAME, numbers["clone"], 0, 3)
        yield _one(_LOAD, _FIRST_ARGUMENT)
        yield _one(_IF_ANY, _EVERY_NAMESPACE, 0, 1)
        yield _one(_ANSWER, _FAILS | errno.EPERM)
    yield _one(_ANSWER, _ALLOWED)


def _one(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)


def main() -> None:
    what, *program = sys.argv[1:]
    install(b"".join(_instructions(what.split(","))))
    os.execvp(program[0], program)  # noqa: S606 - to become the program is the purpose


if __name__ == "__main__":
    main()
