"""An upstream server that costs next to nothing, so that a gateway before it is what is measured.

It stands alone on the standard library, reads lines and answers with bytes that are ready but for an id and a number.
Its arguments: how many tools it has, each called `echo`, `echo1`, …; and `hangs`, if the first call
is the last thing that it reads.
"""

from __future__ import annotations

import json
import os
import sys
import time

_PIECE = 1 << 16
_LONG = 3_600
_CALLED = (
    b'{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%d"}],"structuredContent":{"number":%d}}}\n'
)
_ANSWERED = b'{"jsonrpc":"2.0","id":%s,"result":%s}\n'
_UNKNOWN = b'{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"There is no such method here."}}\n'


def tool(name: str) -> dict[str, object]:
    return {
        "name": name,
        "description": "Give the number back.",
        "inputSchema": {
            "type": "object",
            "properties": {"number": {"type": "integer", "description": "Any number"}},
            "required": ["number"],
        },
    }


def answers(tools: int) -> dict[str, bytes]:
    """What is answered to each method but a call, whatever it is asked with."""
    names = ["echo", *(f"echo{number}" for number in range(1, tools))]
    told: dict[str, object] = {
        "initialize": {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "echo", "version": "1"},
        },
        "tools/list": {"tools": [tool(name) for name in names]},
        "ping": {},
    }
    return {method: json.dumps(result, separators=(",", ":")).encode() for method, result in told.items()}


def answer(line: bytes, ready: dict[str, bytes], hangs: bool) -> bytes:
    asked = json.loads(line)
    if "id" not in asked or "method" not in asked:
        return b""
    id, method = json.dumps(asked["id"]).encode(), asked["method"]
    if method == "tools/call":
        while hangs:
            time.sleep(_LONG)
        number = asked["params"]["arguments"]["number"]
        return _CALLED % (id, number, number)
    return _ANSWERED % (id, ready[method]) if method in ready else _UNKNOWN % id


def main(tools: int, hangs: bool) -> None:
    ready = answers(tools)
    rest = b""
    while piece := os.read(0, _PIECE):
        *lines, rest = (rest + piece).split(b"\n")
        said = b"".join([answer(line, ready, hangs) for line in lines])
        while said:
            said = said[os.write(1, said) :]


if __name__ == "__main__":
    main(int(sys.argv[1]), "hangs" in sys.argv)
