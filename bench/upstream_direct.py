"""The trivial upstream asked through pipes, with nothing between: the most that any gateway before it could do."""

from __future__ import annotations

import contextlib
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

from bench import upstream_echo
from bench.mcp_requests import OLD, message

_PIECE = 1 << 16
_PATIENCE = 10

ECHO = upstream_echo.__file__
_INTERPRETER = (sys.executable, "-I", "-S")
"""It needs nothing that is installed, and starts sooner without looking for it."""


def command(tools: int = 1, *, hangs: bool = False) -> list[str]:
    """What starts the trivial upstream, for every gateway alike."""
    return [*_INTERPRETER, ECHO, str(tools), *(["hangs"] if hangs else [])]


class Direct(NamedTuple):
    calls: float
    """So many a second, 16 asked ahead."""
    alone: float
    """Seconds of half of the calls that are asked one after the other."""


def measure(calls: int, ahead: int) -> Direct:
    with _started() as (asking, answering):
        begun = time.perf_counter()
        asked = answered = 0
        while answered < calls:
            more = min(ahead - (asked - answered), calls - asked)
            os.write(asking, b"".join(map(_call, range(asked, asked + more))))
            asked += more
            answered += os.read(answering, _PIECE).count(b"\n")
        seconds = time.perf_counter() - begun
        alone = [_once(asking, answering, number) for number in range(max(1, calls // 10))]
    return Direct(calls / seconds, statistics.median(alone))


def _once(asking: int, answering: int, number: int) -> float:
    begun = time.perf_counter()
    os.write(asking, _call(number))
    os.read(answering, _PIECE)
    return time.perf_counter() - begun


def _call(number: int) -> bytes:
    return message(OLD, "tools/call", number, name="echo", arguments={"number": number}) + b"\n"


@contextlib.contextmanager
def _started() -> Iterator[tuple[int, int]]:
    with subprocess.Popen(command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        if server.stdin is None or server.stdout is None:
            raise TypeError("both are pipes")
        try:
            yield server.stdin.fileno(), server.stdout.fileno()
        finally:
            server.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                server.wait(_PATIENCE)
            server.kill()
