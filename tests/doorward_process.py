"""The real `doorward` executable: in a pipe, on a terminal, and as a server, each with a home folder of its own."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import warm_doorward
from waiting import PATIENCE

BIN = Path(sys.executable).parent
COLUMNS = 100
PROMPT = "[y/N]: "
_STYLING = re.compile(r"\x1b\[[0-9;]*m")


class Ended(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Doorward:
    """Runs `doorward` with one home folder."""

    def __init__(self, home: Path, **env: str) -> None:
        self.home = home
        self.folder = home.parent
        self.env = {
            "PATH": f"{BIN}:/usr/bin:/bin",
            "HOME": str(self.folder),
            "DOORWARD_HOME": str(home),
            "LANG": "C.UTF-8",
            "TERM": "xterm",
            "NO_COLOR": "1",
            **env,
        }

    def __call__(self, *args: str | bytes, stdin: str | None = None) -> Ended:
        """Run to the end, with its output in a pipe, and its input too if there is some."""
        code, out, err = warm_doorward.run(args, env=self.env, cwd=self.folder, stdin=stdin, patience=PATIENCE)
        return Ended(code, out.decode(), err.decode())

    def started(
        self, *args: str | bytes, stdin: int = subprocess.DEVNULL, program: Path = BIN / "doorward"
    ) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [program, *args],
            env=self.env,
            cwd=self.folder,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def on_terminal(self, command_line: str, answer: str = "") -> Ended:
        """What a person sees who types this into a terminal and answers the first question so."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
        shell = subprocess.Popen(
            ["bash", "-c", command_line],
            env={**self.env, "PATH": f"{warm_doorward.stand_in().parent}:{self.env['PATH']}"},
            cwd=self.folder,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        try:
            text = _conversation(master, answer)
            return Ended(shell.wait(PATIENCE), _STYLING.sub("", text).replace("\r\n", "\n"), "")
        finally:
            os.close(master)
            if shell.poll() is None:
                os.killpg(shell.pid, signal.SIGKILL)
                shell.wait()

    @contextlib.contextmanager
    def up(self, *args: str) -> Iterator[Server]:
        """A real server on a free port, ended by force unless the test ended it."""
        with self.started("up", "--port", "0", *args) as process:
            try:
                yield Server(process)
            finally:
                process.kill()

    @contextlib.contextmanager
    def serving(self, *args: str) -> Iterator[Server]:
        """The same, forked from a process that has read the program already: a server for other tests than its own."""
        with self.started("up", "--port", "0", *args, program=warm_doorward.stand_in()) as process:
            try:
                yield Server(process)
            finally:
                process.kill()


class Server:
    """A `doorward up` that said that it is up."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self.process = process
        self.said: list[str] = []
        for line in process.stdout:
            self.said.append(line.rstrip("\n"))
            if line.startswith("Ctrl-C"):
                break
        else:
            assert process.stderr is not None
            raise AssertionError(f"the server did not start: {process.stderr.read()}")
        found = re.search(r"Doorward is up: http://([^:]+):(\d+)", "\n".join(self.said))
        assert found, self.said
        self.host, self.port = found[1], int(found[2])


def _conversation(master: int, answer: str) -> str:
    text = b""
    while True:
        ready, _, _ = select.select([master], [], [], PATIENCE)
        if not ready:
            raise AssertionError(f"nothing more was said after: {text.decode()}")
        try:
            piece = os.read(master, 65_536)
        except OSError:  # the other end is closed
            piece = b""
        if not piece:
            return text.decode()
        text += piece
        if answer and text.endswith(PROMPT.encode()):
            os.write(master, f"{answer}\n".encode())
            answer = ""
