"""What tests with real processes share: a `doorward` that has the talker, and the test's end of its strings."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import termios
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import warm_doorward
from doorward.config.home import short_path
from doorward_process import COLUMNS, Doorward
from waiting import AT_LEISURE, PATIENCE, wait_until


def with_talker(folder: Path, *more: str) -> Doorward:
    """A `doorward` with a home in `folder` that finds the talker as an installed plugin, and its room `lab`.

    Whatever else agents may do in that room is told by `more`.
    """
    installed = folder / "installed"
    about = installed / "talker-1.0.dist-info"
    about.mkdir(parents=True)
    (installed / "talker.py").write_text((Path(__file__).parent / "talker.py").read_text())
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: talker\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[doorward.families]\ntalker = talker:family\n")
    doorward = Doorward(folder / "home", PYTHONPATH=str(installed))
    rules = {"enabled": True, "whitelist": ["talk/*", "execution/*", *more], "maxCommandsPerMinute": 1_000}
    recipe = {"recipeId": "talking", "displayName": "Talking", "strategy": {"aiCommands": rules}}
    assert doorward("init").code == 0
    (doorward.home / "recipes" / "talking.json").write_text(json.dumps(recipe))
    made = doorward("rooms", "create", "lab", "--recipe=talking")
    assert made.code == 0, made.err
    return doorward


class Talker:
    """The test's end of one running `talk/live`."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._file = sock.makefile("rb")

    def tell(self, *order: Any) -> None:
        """Give an order and wait until it was followed."""
        self._sock.sendall(json.dumps(order).encode() + b"\n")
        if order[0] != "end":
            assert self._file.readline() == b"done\n"

    def ended(self) -> bool:
        """Wait until the command is over, however it ended."""
        with contextlib.suppress(ConnectionResetError):
            return self._file.readline() == b""
        return True

    def close(self) -> None:
        self._file.close()
        self._sock.close()


class Answer:
    """An answer of the server on its way: its head, and its chunks as they come."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._file = sock.makefile("rb")

    def head(self) -> str:
        lines = []
        while (line := self._file.readline()) not in (b"\r\n", b""):
            lines.append(line.decode().strip())
        return "\n".join(lines)

    def chunk(self) -> bytes:
        """The next chunk of the body; empty at its end."""
        size = int(self._file.readline(), 16)
        data = self._file.read(size)
        self._file.readline()
        return data

    def lines(self) -> list[Any]:
        """All that comes until the end, as the lines of JSON it is."""
        body = b"".join(iter(self.chunk, b""))
        return [json.loads(line) for line in body.splitlines()]

    def hang_up(self) -> None:
        self._file.close()
        self._sock.close()


class Stage:
    """Where talkers report, and requests are made in raw HTTP; all is closed at the end."""

    def __init__(self, closing: contextlib.ExitStack) -> None:
        self._closing = closing
        self._sock = closing.enter_context(socket.create_server(("127.0.0.1", 0)))
        self._sock.settimeout(PATIENCE)
        self.port = self._sock.getsockname()[1]

    def talker(self) -> Talker:
        """The next command that runs."""
        sock, _ = self._sock.accept()
        sock.settimeout(PATIENCE)
        talker = Talker(sock)
        self._closing.callback(talker.close)
        return talker

    def post(self, doorward: Doorward, **ask: Any) -> Answer:
        """Ask the running server over its owner's socket."""
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(PATIENCE)
        with short_path(doorward.home / "doorward.sock") as address:
            sock.connect(address)
        body = json.dumps(ask).encode()
        head = f"POST /api/run HTTP/1.1\r\nHost: doorward\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
        sock.sendall(head.encode() + body)
        answer = Answer(sock)
        self._closing.callback(answer.hang_up)
        return answer

    def live(self, doorward: Doorward, note: str = "", **more: Any) -> Answer:
        """Ask for a command that this stage directs."""
        params = {"port": self.port, "note": note}
        return self.post(doorward, command="talk/live", params=params, room="lab", speakAs="bot", **more)

    def terminal(self, doorward: Doorward, *args: str) -> Terminal:
        """`doorward` on a terminal of its own."""
        one = Terminal(doorward, *args)
        self._closing.callback(one.close)
        return one


@contextlib.contextmanager
def stage() -> Iterator[Stage]:
    with contextlib.ExitStack() as closing:
        yield Stage(closing)


class Terminal:
    """`doorward` on a terminal of its own, at which the test types and reads."""

    def __init__(self, doorward: Doorward, *args: str) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
        self.process = subprocess.Popen(
            [warm_doorward.stand_in(), *args],
            env={**doorward.env, "WARM_LEADS": "1"},
            cwd=doorward.folder,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self.text = ""

    def type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def until(self, words: str) -> str:
        """Read until these words stand on the screen; all that was read so far."""
        while words not in self.text:
            assert self._read(), f"the end came before {words!r}: {self.text!r}"
        return self.text

    def end(self) -> int:
        """Read to the end; the exit code."""
        while self._read():
            pass
        return self.process.wait(PATIENCE)

    @property
    def shown(self) -> str:
        """What a person can read in the end: no styling, and no line that was erased."""
        plain = re.sub(r"\x1b\[[0-9;]*m", "", self.text).replace("\r\n", "\n")
        return re.sub(r"[^\n]*\r\x1b\[K", "", plain)

    def close(self) -> None:
        os.close(self._master)
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def _read(self) -> bool:
        ready, _, _ = select.select([self._master], [], [], PATIENCE)
        assert ready, f"nothing more was said after: {self.text!r}"
        try:
            piece = os.read(self._master, 65_536)
        except OSError:  # the other end is closed
            return False
        self.text += piece.decode()
        return bool(piece)


def recorded(doorward: Doorward, execution: str) -> dict[str, Any]:
    """Where an execution stands, as the record has it, as soon as its end is there."""

    def ended() -> dict[str, Any]:
        shown = doorward("executions", "show", execution)
        found = dict(shown.json["result"]) if shown.code == 0 else {}
        return found if found.get("state") not in ("queued", "running") else {}

    return dict(wait_until(ended, AT_LEISURE))
