"""Servers in processes of their own, which tell where they listen and end when whoever started them does."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

import msgspec
import uvicorn

from bench.apart import ROOT

_PATIENCE = 15
_LOOPBACK = "127.0.0.1"
_OF_A_PROCESS = 2
"""With this and its number, Linux tells the processor time of another process as finely as that of one's own."""
IDLE_SECONDS = 600
"""How long a connection may wait for its turn while others are measured."""


class Served(msgspec.Struct, frozen=True):
    """A server that answers."""

    process: int
    facts: dict[str, Any]
    """What it told when it was up: its port, and whatever a client needs."""

    @property
    def address(self) -> tuple[str, int]:
        return _LOOPBACK, self.facts["port"]

    def cpu(self) -> float:
        """The processor seconds that it has used so far, in all its threads."""
        return cpu_of(self.process)


def cpu_of(process: int) -> float:
    """The processor seconds that a process has used so far, in all its threads."""
    return time.clock_gettime(~process << 3 | _OF_A_PROCESS)


@contextlib.contextmanager
def served(module: str, *arguments: object) -> Iterator[Served]:
    """A module of the bench as a server, until the end of the block."""
    with served_together((module, *arguments)) as (one,):
        yield one


@contextlib.contextmanager
def served_together(*commands: Sequence[object]) -> Iterator[list[Served]]:
    """Several modules as servers, each with its arguments. All are started before the first is waited for."""
    with contextlib.ExitStack() as stack:
        programs = [stack.enter_context(_program(*command)) for command in commands]
        yield [_up(program) for program in programs]


@contextlib.contextmanager
def _program(*words: object) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [sys.executable, "-m", *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
    ) as program:
        try:
            yield program
        finally:
            if program.stdin:
                program.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                program.wait(_PATIENCE)
            program.kill()


def _up(program: subprocess.Popen[bytes]) -> Served:
    told = program.stdout.readline() if program.stdout else b""
    if not told:
        raise RuntimeError(f"{program.args!r} was to be measured, but it ended before it was up")
    return Served(program.pid, json.loads(told))


def listening() -> socket.socket:
    """A socket of this machine alone, at any free port.

    Only where the protocol is named does asyncio send small pieces at once.
    """
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    sock.bind((_LOOPBACK, 0))
    sock.listen(2_048)
    return sock


def tell(**facts: object) -> None:
    """Say that this server is up; `served` waits for it."""
    print(json.dumps(facts), flush=True)


async def abandoned() -> None:
    """Returns when whoever started this process closes its input, which its death does too."""
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    await reader.read()


async def serve_until_abandoned(app: Callable[..., Awaitable[None]] | Any, **facts: object) -> None:
    """An ASGI application on the HTTP server that Doorward uses, without anything of Doorward."""
    config = uvicorn.Config(
        app,
        http="httptools",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=IDLE_SECONDS,
    )
    with listening() as sock:
        server = uvicorn.Server(config)
        running = asyncio.create_task(server.serve(sockets=[sock]))  # until it runs, whoever connects waits
        tell(port=sock.getsockname()[1], **facts)
        await abandoned()
        server.should_exit = True
        await running
