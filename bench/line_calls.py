"""How many calls a second go through the line door, asked one behind the other without waiting for the answers."""

from __future__ import annotations

import contextlib
import os
import socket
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

from bench.serving import Served, served
from bench.sizes import Sizes

_AHEAD = 64
"""How many calls are asked before the first of them is answered."""
_PIECE = 262_144
_LONGEST = 30.0


def measure(folder: Path, sizes: Sizes) -> dict[str, float]:
    with (
        served("bench.house_server", folder / "line", 0) as house,
        _on_one_core(house),
        socket.create_connection(("127.0.0.1", house.facts["line"]), _LONGEST) as line,
    ):
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _ask(line, 0, sizes.door_calls // 4)
        rates = []
        for number in range(1, sizes.rounds + 1):
            begun = time.perf_counter()
            _ask(line, number * sizes.door_calls, sizes.door_calls)
            rates.append(sizes.door_calls / (time.perf_counter() - begun))
    return {"line": statistics.median(rates)}


@contextlib.contextmanager
def _on_one_core(house: Served) -> Iterator[None]:
    """The server with all its threads on one core, and whoever asks on the others, where there are others."""
    mine = os.sched_getaffinity(0)
    core = max(mine)
    for thread in os.listdir(f"/proc/{house.process}/task"):
        os.sched_setaffinity(int(thread), {core})
    os.sched_setaffinity(0, (mine - {core}) or mine)
    try:
        yield
    finally:
        os.sched_setaffinity(0, mine)


def _ask(line: socket.socket, first: int, count: int) -> None:
    """So many calls; every one must be answered with the number it gave."""
    asked = answered = 0
    buffer = b""
    while answered < count:
        ahead = min(count - asked, _AHEAD - (asked - answered))
        if ahead:
            line.sendall(b"".join(_request(first + number) for number in range(asked, asked + ahead)))
            asked += ahead
        buffer += line.recv(_PIECE)
        *lines, buffer = buffer.split(b"\n")
        for one in lines:
            if b'"type":"response"' not in one:
                raise RuntimeError(f"the line door was to be measured, but it answered {one[:500]!r}")
        answered += len(lines)


def _request(number: int) -> bytes:
    return b'{"id":%d,"method":"call_tool","params":{"tool":"bench_read","args":{"number":%d}}}\n' % (number, number)
