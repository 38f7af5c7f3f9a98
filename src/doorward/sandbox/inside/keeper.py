"""The keeper: closes every lock behind itself and then becomes the program, so that nothing of it stays in memory.

It says that it is there, and goes on only when it is told what to run. Should Doorward have ended meanwhile, nobody
tells it, and it ends.
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
    control.set_inheritable(False)  # whoever listens learns by its end that the program has begun
    os.closerange(CONTROL + 1, os.sysconf("SC_OPEN_MAX"))
    messages.send(control, messages.encoded({"ready": True}))
    setup, descriptors = messages.receive(control)
    if setup is None:
        return
    try:
        _become(setup, descriptors)
    except OSError as error:
        code, what = error.errno, str(error.filename or error.strerror or "")
    except ValueError:  # nothing that the system could be asked for, such as a name with a null character
        code, what = errno.EINVAL, setup["argv"][0]
    messages.send(control, messages.encoded({"error": code, "what": what}))


def _become(setup: dict[str, Any], descriptors: list[int]) -> None:
    os.chdir(setup["folder"])
    setup["landlock"] = landlock.version() > 0
    worker.confine(setup, capabilities=())
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores these; a program shall not
        signal.signal(number, signal.SIG_DFL)
    output, errors, given = descriptors
    for source, target in ((given, 0), (output, 1), (errors, 2)):
        os.dup2(source, target)
    os.execve(setup["program"], setup["argv"], setup["environment"])  # noqa: S606 - to become it is the purpose
