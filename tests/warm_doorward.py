"""Runs of `doorward` in processes that are forked from one that has read the program already.

Reading it takes most of the time of a short command, and the tests run very many of them. What runs is the same `main`,
in a process of its own with the arguments, environment, folder and streams it was given. Tests of how a process starts,
lives long or is killed start the real executable instead.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import functools
import gc
import importlib
import json
import os
import pkgutil
import random
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import threading
from collections.abc import Mapping, Sequence
from importlib.metadata import entry_points as _installed
from pathlib import Path
from typing import Any, NoReturn

PROGRAM = Path(sys.executable).with_name("doorward")
_LARGEST = 1_000_000
_READ_LATE = (
    "doorward.app",
    "doorward.agents.house.model",
    "anyio._backends._asyncio",
    "uvicorn.lifespan.off",
    "zoneinfo",
)
"""What commands read only when they need it."""
_STAND_IN = """#!{python} -ISE
import json, os, signal, socket, sys

environment = dict(os.environ)
leads = bool(environment.pop("WARM_LEADS", ""))
environment["PATH"] = environment["PATH"].replace(os.path.dirname(__file__) + ":", "")
asked = {{"arguments": sys.argv[1:], "env": environment, "cwd": os.getcwd(), "leads": leads}}
line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
line.connect({address!r})
socket.send_fds(line, [json.dumps(asked).encode()], [0, 1, 2])
process = json.loads(line.recv(64))[1]
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda number, _: os.kill(process, number))
for stream in (0, 1, 2):
    os.close(stream)
code = json.loads(line.recv(64))[1]
if code < 0:
    signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
os._exit(code)
"""
"""Stands for `doorward` where a shell looks for it; its streams are those of the process that is forked."""


def run(
    arguments: Sequence[str | bytes], *, env: Mapping[Any, Any], cwd: Path | str, stdin: str | None, patience: float
) -> tuple[int, bytes, bytes]:
    """One command to its end: its exit code (negative for a signal), what it wrote and what it complained."""
    asked = json.dumps(
        {
            "arguments": [os.fsdecode(one) for one in arguments],
            "env": {os.fsdecode(name): os.fsdecode(value) for name, value in env.items()},
            "cwd": str(cwd),
        }
    ).encode()
    with contextlib.ExitStack() as stack, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as line:
        line.settimeout(patience)
        line.connect(_forking()[0])
        ours = [os.pipe() for _ in range(3)]
        (read, write), out, err = ours
        feeding = stack.enter_context(os.fdopen(write, "wb", buffering=0))
        said, complained = (stack.enter_context(os.fdopen(one[0], "rb")) for one in (out, err))
        theirs = [read, out[1], err[1]]
        try:
            socket.send_fds(line, [asked], theirs)
        finally:
            for one in theirs:
                os.close(one)
        texts: dict[str, bytes] = {}
        readers = [
            threading.Thread(target=lambda file=file, name=name: texts.update({name: file.read()}))
            for name, file in (("out", said), ("err", complained))
        ]
        for reader in readers:
            reader.start()
        with contextlib.suppress(BrokenPipeError):
            feeding.write((stdin or "").encode())
        feeding.close()
        try:
            code, process = json.loads(line.recv(64)), 0
            if code[0] == "started":
                process = code[1]
                code = json.loads(line.recv(64))
        except TimeoutError:
            if process:
                os.kill(process, signal.SIGKILL)
            raise AssertionError(f"doorward {arguments} did not end in {patience} s") from None
        for reader in readers:
            reader.join(patience)
        return int(code[1]), texts["out"], texts["err"]


def completed(home: Path | bytes, *arguments: str | bytes) -> subprocess.CompletedProcess[str]:
    """The same for one home folder, in the environment of the tests and outside any project."""
    environment = {**os.environb, b"DOORWARD_HOME": os.fsencode(home)}
    code, out, err = run(arguments, env=environment, cwd="/", stdin=None, patience=120)
    return subprocess.CompletedProcess(["doorward", *arguments], code, out.decode(), err.decode())


def stand_in() -> Path:
    """A program that a shell can start; who starts it with WARM_LEADS gives a terminal, which it then controls."""
    return _forking()[1]


@functools.cache
def _forking() -> tuple[str, Path]:
    """Where the process listens from which commands are forked, and its stand-in; both end with this one."""
    ours, theirs = socket.socketpair()
    process = subprocess.Popen(
        [sys.executable, __file__], stdin=theirs, stdout=subprocess.PIPE, env={"PATH": os.environ["PATH"]}
    )
    theirs.close()
    assert process.stdout is not None
    name, program = process.stdout.readline().decode().split()
    process.stdout.close()
    process.wait(120)
    atexit.register(ours.close)
    return f"\0{name}", Path(program)


def _serve() -> None:
    """Fork for whoever asks, and tell them how it ended, until the tests are over, however they ended."""
    _read_program()
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    name = f"doorward-tests-{os.getpid()}"
    listening.bind(f"\0{name}")
    listening.listen(64)
    program = Path(tempfile.mkdtemp(prefix="doorward-stand-in-")) / PROGRAM.name
    program.write_text(_STAND_IN.format(python=sys.executable, address=f"\0{name}"))
    program.chmod(0o755)
    print(name, program, flush=True)
    os.dup2(2, 1)
    waiting = selectors.DefaultSelector()
    waiting.register(0, selectors.EVENT_READ, None)
    waiting.register(listening, selectors.EVENT_READ, listening)
    while True:
        for key, _ in waiting.select():
            if waiting.get_map().get(key.fileobj) is not key:  # it went with one that came before it
                continue
            if key.data is None:
                for left in waiting.get_map().values():
                    if isinstance(left.data, tuple):
                        os.kill(left.data[0], signal.SIGKILL)
                shutil.rmtree(program.parent)
                return
            if key.data is listening:
                line, _ = listening.accept()
                asked, streams, _, _ = socket.recv_fds(line, _LARGEST, 3)
                if not asked:
                    line.close()
                    continue
                process = os.fork()
                if process == 0:
                    _become(json.loads(asked), streams)
                for stream in streams:
                    os.close(stream)
                line.send(json.dumps(["started", process]).encode())
                ends = os.pidfd_open(process)
                waiting.register(ends, selectors.EVENT_READ, (process, line))
                waiting.register(line, selectors.EVENT_READ, ends)
            elif isinstance(key.data, int):  # whoever asked for it is gone
                waiting.unregister(key.fileobj)
                signal.pidfd_send_signal(key.data, signal.SIGKILL)
            else:
                process, line = key.data
                waiting.unregister(key.fd)
                with contextlib.suppress(KeyError):
                    waiting.unregister(line)
                os.close(key.fd)
                code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
                with contextlib.suppress(OSError):
                    line.send(json.dumps(["ended", code]).encode())
                line.close()


def _read_program() -> None:
    """Read all that a command may need, and build what is the same in every home; nothing here depends on one."""
    from doorward import cli  # noqa: PLC0415 - this is what the other side must not have to read
    from doorward.agents.house.model import HouseModel  # noqa: PLC0415
    from doorward.agents.models.model import ToolSpec  # noqa: PLC0415
    from doorward.commands import families  # noqa: PLC0415
    from doorward.commands.catalogue.parser import parse_catalogue  # noqa: PLC0415
    from doorward.commands.catalogue.watched_catalogue import shipped_catalogue  # noqa: PLC0415
    from doorward.commands.programs.catalogue_command import build_commands  # noqa: PLC0415
    from doorward.config.settings import Settings  # noqa: PLC0415

    for module in pkgutil.iter_modules(cli.__path__):
        importlib.import_module(f"doorward.cli.{module.name}")
    for name in _READ_LATE:
        importlib.import_module(name)
    build_commands(parse_catalogue(shipped_catalogue(), "shipped"), Settings())
    families.entry_points = functools.cache(_installed)  # type: ignore[assignment]
    families.load_plugin_families()
    HouseModel().suggest("List my files", [ToolSpec("file_list", "List files.", {"type": "object"})])
    gc.freeze()  # so that a collection in a forked process does not copy all of this


def _become(asked: dict[str, Any], streams: list[int]) -> NoReturn:
    """Be the command that was asked for, as the interpreter would have started it."""
    for place, stream in enumerate(streams):
        os.dup2(stream, place)
    os.closerange(3, 1_024)
    if asked.get("leads"):
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.environ.clear()
    os.environ.update(asked["env"])
    if own := [one for one in asked["env"].get("PYTHONPATH", "").split(os.pathsep) if one]:
        from doorward.commands import families  # noqa: PLC0415

        sys.path[:0] = own
        families.entry_points = _installed  # more may be installed there
    random.seed()
    sys.stdin = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False, buffering=1)  # noqa: SIM115
    code = 1
    try:
        os.chdir(asked["cwd"])
        sys.argv = [str(PROGRAM), *asked["arguments"]]
        from doorward.cli.main import main  # noqa: PLC0415

        main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:  # noqa: BLE001 - as the interpreter does with whatever comes out
        sys.excepthook(*sys.exc_info())
    finally:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        with contextlib.suppress(BrokenPipeError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    if os.fork():
        os._exit(0)  # it shall be nobody's child: tests count their own
    _serve()
