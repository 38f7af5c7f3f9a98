"""Launcher of a long-running program: confines itself, then execs the program, so that no Python stays in memory.

It reports that it is ready and waits for its setup. If Doorward has ended meanwhile, no setup arrives and it exits.
"""

import errno
import os
import signal
import socket
from typing import Any

from . import landlock, messages, worker
from .messages import CONTROL


def main() -> None:
    control = socket.socket(fileno=CONTROL)
    control.set_inheritable(False)  # exec closes it, which tells Doorward that the program has started
    os.closerange(CONTROL + 1, os.sysconf("SC_OPEN_MAX"))
    messages.send(control, messages.encode({"ready": True}))
    setup, descriptors = messages.receive(control)
    if setup is None:
        return
    try:
        _confine_and_exec(setup, descriptors)
    except OSError as error:
        code, what = error.errno, str(error.filename or error.strerror or "")
    except ValueError:  # not a valid argument for the system, such as a name with a null character
        code, what = errno.EINVAL, setup["argv"][0]
    messages.send(control, messages.encode({"error": code, "what": what}))


def _confine_and_exec(setup: dict[str, Any], descriptors: list[int]) -> None:
    os.chdir(setup["folder"])
    setup["landlock"] = landlock.get_version() > 0
    worker.confine(setup, capabilities=())
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores these; programs expect the default
        signal.signal(number, signal.SIG_DFL)
    output, errors, given = descriptors
    for source, target in ((given, 0), (output, 1), (errors, 2)):
        os.dup2(source, target)
    os.execve(setup["program"], setup["argv"], setup["environment"])  # noqa: S606 - the argv is the program to run
