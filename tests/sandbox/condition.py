"""What a process is like, as far as an attack on it could change that."""

from __future__ import annotations

import ctypes
import os
import resource
import select
import subprocess
import sys
from pathlib import Path

import victim

_PATIENCE = 120.0
_IOPRIO_GET = {"x86_64": 252, "aarch64": 31}[os.uname().machine]
_OF_A_PROCESS = 1
_libc = ctypes.CDLL(None)


class Victim:
    """The process that attacks are aimed at, and whether one hit it."""

    def __init__(self, file: str, secret: str, environment: dict[str, str], folder: str, marker: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", victim.__file__, file, marker],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            cwd=folder,
        )
        self.id = self._process.pid
        address, held = self._asked(secret).split()
        self.address, self.held = int(address), int(held)
        self._before = self._condition()

    def changed(self) -> bool:
        return self._condition() != self._before

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()

    def _asked(self, line: str) -> str:
        """What it answers to a line; nothing when it is dead or does not answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(f"{line}\n".encode())
            self._process.stdin.flush()
        except BrokenPipeError:
            return ""
        ready, _, _ = select.select([self._process.stdout], [], [], _PATIENCE)
        return self._process.stdout.readline().decode() if ready else ""

    def _condition(self) -> tuple[object, ...]:
        state = Path(f"/proc/{self.id}/stat").read_text().rpartition(")")[2].split()[0]
        if state in "TtZX":
            return ("stopped or dead", state)
        answer = self._asked("how are you")
        if not answer:
            return ("dead or silent",)
        return (
            answer,
            os.getpriority(os.PRIO_PROCESS, self.id),
            _libc.syscall(_IOPRIO_GET, _OF_A_PROCESS, self.id),
            os.sched_getaffinity(self.id),
            resource.prlimit(self.id, resource.RLIMIT_NOFILE),
            Path(f"/proc/{self.id}/oom_score_adj").read_text(),
        )
