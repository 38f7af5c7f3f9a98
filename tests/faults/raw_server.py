"""A real server, spoken to over its owner's socket in raw bytes, and by the real command."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import warm_doorward
from doorward.config.home import short_path
from waiting import PATIENCE

DOORWARD = Path(sys.executable).with_name("doorward")


class Server:
    """A real server, spoken to over its owner's socket in raw bytes."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.workspace = home / "workspace"
        self.environment = {**os.environb, b"DOORWARD_HOME": os.fsencode(home)}
        self._process = subprocess.Popen(
            [DOORWARD, "up", "--port", "0"], env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(b"Ctrl-C"):
                return
        raise AssertionError(self._process.communicate())

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        _, said = self._process.communicate(timeout=PATIENCE)
        assert self._process.returncode == 0
        assert b"Traceback" not in said, said

    def connect(self) -> socket.socket:
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(PATIENCE)
        with short_path(self.home / "doorward.sock") as address:
            sock.connect(address)
        return sock

    def raw(self, request: bytes, *, half: bool = False) -> bytes:
        """Send bytes as they are, and read what comes until the server closes."""
        with self.connect() as sock:
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                sock.sendall(request)
                if half:
                    sock.shutdown(socket.SHUT_WR)
            return read(sock)

    def post(self, body: bytes | dict[str, Any], path: str = "/api/run", head: str = "") -> tuple[int, dict[str, Any]]:
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        answer = self.raw(
            f"POST {path} HTTP/1.1\r\nHost: doorward\r\nConnection: close\r\n{head}"
            f"Content-Length: {len(text)}\r\n\r\n".encode()
            + text
        )
        status, _, rest = answer.partition(b"\r\n")
        return int(status.split()[1]), json.loads(rest.partition(b"\r\n\r\n")[2])

    def run(self, *arguments: str | bytes) -> subprocess.CompletedProcess[str]:
        return warm_doorward.completed(self.home, *arguments)

    def lives(self) -> bool:
        return self.raw(b"GET /health HTTP/1.1\r\nHost: doorward\r\nConnection: close\r\n\r\n").startswith(
            b"HTTP/1.1 200"
        )


def read(sock: socket.socket) -> bytes:
    answer = b""
    with contextlib.suppress(ConnectionResetError):
        while some := sock.recv(65_536):
            answer += some
    return answer
