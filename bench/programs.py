"""What the `doorward` command and its server cost as programs of their own."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.apart import resident
from bench.sizes import Sizes

_ADDRESS = re.compile(rb"http://(127\.0\.0\.1):(\d+)")


def measure(folder: Path, sizes: Sizes) -> dict[str, float]:
    doorward, home = doorward_command(), folder / "programs"
    searching = [*doorward, "run", "help/search", "--query=read a file"]
    cpu: dict[str, list[float]] = {"help": [], "python": [], "run": []}
    start, idle = [], []
    _served(doorward, home)
    for number in range(sizes.starts):
        cpu["help"].append(_cpu([*doorward, "--help"], home))
        cpu["python"].append(_cpu([sys.executable, "-c", "pass"], home))
        cpu["run"].append(_cpu([*searching, f"--limit={number % 100 + 1}"], home))
        seconds, megabytes = _served(doorward, home)
        start.append(seconds)
        idle.append(megabytes)
    with running_server(doorward, home):
        hook = [_hook_seconds(doorward, home) for _ in range(sizes.starts)]
    return {
        **{key: statistics.median(values) * 1e3 for key, values in cpu.items()},
        "hook": statistics.median(hook) * 1e3,
        "start": statistics.median(start) * 1e3,
        "idle": statistics.median(idle),
    }


def doorward_command() -> list[str]:
    """The installed command beside this Python, or the package run as a module."""
    script = Path(sys.executable).with_name("doorward")
    return [str(script)] if script.exists() else [sys.executable, "-m", "doorward"]


def environment(home: Path) -> dict[str, str]:
    return {**os.environ, "DOORWARD_HOME": str(home)}


def _cpu(arguments: Sequence[str], home: Path) -> float:
    """The processor seconds of a program, in user and system together."""
    program = subprocess.Popen(arguments, env=environment(home), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(program.pid, 0)
    program.returncode = os.waitstatus_to_exitcode(status)
    if program.returncode != 0:
        raise RuntimeError(f"{' '.join(arguments)} was to be measured, but it ended with {program.returncode}")
    return used.ru_utime + used.ru_stime


def _hook_seconds(doorward: Sequence[str], home: Path) -> float:
    """The seconds until a client has the gate's decision on a tool of its own, from the start of the hook."""
    call = {"cwd": str(home / "workspace"), "tool_name": "Read", "tool_input": {"file_path": "notes.txt"}}
    begun = time.perf_counter()
    done = subprocess.run(
        [*doorward, "hook", "claude-code", "--room=general"],
        env=environment(home),
        input=json.dumps(call).encode(),
        capture_output=True,
        check=True,
    )
    seconds = time.perf_counter() - begun
    if b'"allow"' not in done.stdout:
        raise RuntimeError(f"a decision was to be measured, but the hook answered {done.stdout!r}")
    return seconds


def _served(doorward: Sequence[str], home: Path) -> tuple[float, float]:
    """Start a server and stop it: seconds until it answered, and its megabytes then."""
    begun = time.perf_counter()
    with running_server(doorward, home) as server:
        return time.perf_counter() - begun, resident(server.pid)


@contextlib.contextmanager
def running_server(doorward: Sequence[str], home: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A server that answers, until the end of the block."""
    with subprocess.Popen(
        [*doorward, "up", "--port", "0"], env=environment(home), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    ) as server:
        try:
            _ask_health(server)
            yield server
        finally:
            server.terminate()


def _ask_health(server: subprocess.Popen[bytes]) -> None:
    for line in server.stdout or ():
        address = _ADDRESS.search(line)
        if address:
            connection = http.client.HTTPConnection(address[1].decode(), int(address[2]), timeout=10)
            connection.request("GET", "/health")
            status = connection.getresponse().status
            connection.close()
            if status == http.client.OK:
                return
            raise RuntimeError(f"/health was to be measured, but it answered {status}")
    raise RuntimeError("the server was to be measured, but it ended before it was up")
