"""What Doorward's sandbox is compared with: a program that nothing confines, and a bubblewrap for each program."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Callable, Iterator, Mapping, Sequence

from doorward.sandbox import bubblewrap, view
from doorward.sandbox.program import SandboxProfile

_PIECE = 65_536
_HIGH = 64
"""Above the numbers at which bubblewrap expects its descriptors, so that none overwrites another."""


def run(argv: Sequence[str], given: Mapping[int, int] | None = None) -> None:
    """The raw limit: posix_spawn, both streams read to their end, and the program waited for."""
    output, output_writes = os.pipe2(os.O_CLOEXEC)
    errors, errors_writes = os.pipe2(os.O_CLOEXEC)
    placed = {1: output_writes, 2: errors_writes, **(given or {})}
    try:
        program = os.posix_spawn(
            argv[0],
            list(argv),
            {},
            file_actions=[(os.POSIX_SPAWN_DUP2, source, target) for target, source in placed.items()],
        )
    finally:
        os.close(output_writes)
        os.close(errors_writes)
    for stream in (output, errors):
        while os.read(stream, _PIECE):
            pass
        os.close(stream)
    code = os.waitstatus_to_exitcode(os.waitpid(program, 0)[1])
    if code != 0:
        raise RuntimeError(f"{argv[0]} was to be measured, but it ended with {code}")


@contextlib.contextmanager
def wrapped(profile: SandboxProfile, argv: Sequence[str]) -> Iterator[Callable[[], None]]:
    """The same in a bubblewrap of its own, with the namespaces and the files that our helpers have.

    It has less than Doorward gives: no filter of system calls, no Landlock, no limits.
    """
    with contextlib.ExitStack() as stack:
        given = {}
        for target, content in ((bubblewrap.PASSWD_FD, view.PASSWD), (bubblewrap.GROUP_FD, view.GROUP)):
            given[target] = _memory(content)
            stack.callback(os.close, given[target])
        words = [*bubblewrap.build_zygote_command(bubblewrap.find_bwrap() or "bwrap", profile, ()), *argv]

        def once() -> None:
            for descriptor in given.values():  # bubblewrap reads them to their end
                os.lseek(descriptor, 0, os.SEEK_SET)
            run(words, given)

        yield once


def _memory(content: bytes) -> int:
    low = os.memfd_create("bench", os.MFD_CLOEXEC)
    try:
        os.write(low, content)
        return fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, _HIGH)
    finally:
        os.close(low)
