"""What well-known clients send, frame by frame: their handshake, the lists they ask for, and a call of a tool.

The frames have the members, the order and the versions of the real clients. `CALL` stands for the call's own part.
"""

from __future__ import annotations

import json
from typing import Any

CALL = "CALL"

CLAUDE_CODE: list[dict[str, Any]] = [
    {
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {"roots": {}, "elicitation": {}},
            "clientInfo": {
                "name": "claude-code",
                "title": "Claude Code",
                "version": "2.1.160",
                "websiteUrl": "https://claude.com/claude-code",
            },
        },
        "jsonrpc": "2.0",
        "id": 0,
    },
    {"method": "notifications/initialized", "jsonrpc": "2.0"},
    {"method": "tools/list", "jsonrpc": "2.0", "id": 1},
    {"method": "prompts/list", "jsonrpc": "2.0", "id": 2},
    {"method": "resources/list", "jsonrpc": "2.0", "id": 3},
    {
        "method": "tools/call",
        "params": {CALL: CALL, "_meta": {"claudecode/toolUseId": "toolu_01H5MWZpag2yLEKD9wemGFSu", "progressToken": 4}},
        "jsonrpc": "2.0",
        "id": 4,
    },
]
CODEX: list[dict[str, Any]] = [
    {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {"elicitation": {}},
            "clientInfo": {"name": "codex-mcp-client", "title": "Codex", "version": "0.144.1"},
        },
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {"progressToken": 0}}},
    {
        "jsonrpc": "2.0",
        "id": 2,
        "method": "tools/call",
        "params": {
            "_meta": {
                "progressToken": 1,
                "threadId": "019a7c3e-5d0e-7b41-9c05-3f9f0a2b1c4d",
                "x-codex-turn-metadata": {"turn_id": "1", "sandbox": "seccomp"},
            },
            CALL: CALL,
        },
    },
]
GEMINI: list[dict[str, Any]] = [
    {
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {"roots": {"listChanged": True}},
            "clientInfo": {"name": "gemini-cli-mcp-client-doorward", "version": "0.50.0"},
        },
        "jsonrpc": "2.0",
        "id": 0,
    },
    {"method": "notifications/initialized", "jsonrpc": "2.0"},
    {"method": "prompts/list", "params": {}, "jsonrpc": "2.0", "id": 1},
    {"method": "tools/list", "params": {}, "jsonrpc": "2.0", "id": 2},
    {"method": "resources/list", "params": {}, "jsonrpc": "2.0", "id": 3},
    {
        "method": "tools/call",
        "params": {CALL: CALL, "_meta": {"progressToken": 4}},
        "jsonrpc": "2.0",
        "id": 4,
    },
]
CLIENTS = {"claude-code": CLAUDE_CODE, "codex": CODEX, "gemini": GEMINI}


def fill_call(frame: dict[str, Any], name: str, arguments: dict[str, Any]) -> bytes:
    """The frame as one line. A call gets its name and arguments where the client puts them."""
    params = {}
    for key, value in frame.get("params", {}).items():
        params |= {"name": name, "arguments": arguments} if key == CALL else {key: value}
    return json.dumps({**frame, "params": params} if "params" in frame else frame).encode() + b"\n"
