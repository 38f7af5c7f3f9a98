"""How soon `doorward mcp`, as MCP clients start it, answers its first tools/list: alone, and beside a server."""

from __future__ import annotations

import contextlib
import json
import statistics
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from bench.programs import doorward_command, environment, running_server
from bench.sizes import Sizes

_VERSION = "2025-11-25"
_HELLO = (
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": _VERSION,
            "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"},
        },
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
)
_PATIENCE = 15


def measure(folder: Path, sizes: Sizes) -> dict[str, float]:
    home, program = folder / "first-list", doorward_command()
    _seconds(program, home)  # which makes the home
    alone = [_seconds(program, home) for _ in range(sizes.starts)]
    with running_server(program, home):
        beside = [_seconds(program, home) for _ in range(sizes.starts)]
    return {"mcp_start": statistics.median(alone) * 1e3, "mcp_start_beside": statistics.median(beside) * 1e3}


def _seconds(program: Sequence[str], home: Path) -> float:
    """From the start of the program until the tools are listed. It is given everything at once, as a pipe allows."""
    begun = time.perf_counter()
    with subprocess.Popen(
        [*program, "mcp"], env=environment(home), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        if server.stdin is None or server.stdout is None:
            raise TypeError("both are pipes")
        try:
            server.stdin.write(b"".join(json.dumps(one).encode() + b"\n" for one in _HELLO))
            server.stdin.flush()
            for line in server.stdout:
                answer = json.loads(line)
                if answer.get("id") == 2:
                    if not answer["result"]["tools"]:
                        raise RuntimeError("tools were to be listed, but there are none")
                    return time.perf_counter() - begun
            raise RuntimeError("doorward mcp was to be measured, but it ended without a list of tools")
        finally:
            server.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                server.wait(_PATIENCE)
            server.kill()
