"""Gateways of others, as their makers start them, each before the same trivial upstream.

`make bench` installs them, each in an environment of its own; whoever measures without has no numbers of them.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from bench.serving import Served
from bench.upstream_direct import command

INSTALLED = Path(sys.prefix) / "peers"
_PATIENCE = 30
_PAUSE = 0.05
_QUIET = {"FASTMCP_JSON_RESPONSE": "true", "FASTMCP_CHECK_FOR_UPDATES": "off"}
"""An answer as JSON is the cheapest that it has, and looking for a newer version is not what is measured."""


def _fastmcp(program: Path, port: int, folder: Path) -> list[str]:
    file = folder / "fastmcp.json"
    first, *rest = command()
    file.write_text(json.dumps({"mcpServers": {"echo": {"command": first, "args": rest}}}))
    words = ("run", file, "--transport", "http", "--port", port, "--no-banner", "--skip-env", "--log-level", "ERROR")
    return [str(program), *map(str, words)]


def _mcp_proxy(program: Path, port: int, folder: Path) -> list[str]:
    return [str(program), "--port", str(port), "--log-level", "ERROR", "--", *command()]


_KNOWN: dict[str, Callable[[Path, int, Path], list[str]]] = {"fastmcp": _fastmcp, "mcp-proxy": _mcp_proxy}
NAMES = tuple(_KNOWN)


@contextlib.contextmanager
def peers(folder: Path) -> Iterator[dict[str, Served]]:
    """Those that are installed, each answering. All are started before the first is waited for."""
    with contextlib.ExitStack() as stack:
        started = {}
        for name, words in _KNOWN.items():
            program = INSTALLED / name / "bin" / name
            if program.exists():
                port = _free_port()
                started[name] = (stack.enter_context(_program(words(program, port, folder))), port)
        yield {name: _up(*one) for name, one in started.items()}


@contextlib.contextmanager
def _program(words: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        words, env={**os.environ, **_QUIET}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=sys.stderr
    ) as program:
        try:
            yield program
        finally:
            program.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                program.wait(_PATIENCE)
            program.kill()


def _up(program: subprocess.Popen[bytes], port: int) -> Served:
    """They do not tell when they listen, so they are asked until they do."""
    end = time.monotonic() + _PATIENCE
    while program.poll() is None and time.monotonic() < end:
        with contextlib.suppress(ConnectionError):
            socket.create_connection(("127.0.0.1", port), _PATIENCE).close()
            return Served(program.pid, {"port": port})
        time.sleep(_PAUSE)
    raise RuntimeError(f"{program.args!r} was to be measured, but it did not listen within {_PATIENCE} s")


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])
