"""The servers that the examples of the mcp commands speak of, in memory."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from doorward.upstream.config import ServerConfig
from doorward.upstream.connection import MessageReceiver, UpstreamConnection

FILE = {
    "servers": [
        {"id": "time", "name": "Time", "command": "time-server", "autoApprove": True},
        {"id": "notes", "name": "Notes", "command": "notes-server", "autoApprove": True},
        {"id": "search", "name": "Search", "url": "https://search.example/mcp", "enabled": False},
    ]
}
_TEXT = {"content": [{"type": "text", "text": "3"}]}
_ANSWERS: dict[str, dict[str, Any]] = {
    "ping": {},
    "tools/call": _TEXT,
    "resources/list": {"resources": [{"uri": "note:///today", "name": "today"}]},
    "resources/templates/list": {"resourceTemplates": []},
    "resources/read": {"contents": [{"uri": "note:///today", "text": "Nothing yet."}]},
    "prompts/list": {"prompts": [{"name": "review", "arguments": [{"name": "file"}]}]},
    "prompts/get": {"messages": [{"role": "user", "content": {"type": "text", "text": "Review a.py."}}]},
}


class Wire:
    """A connection to one of them."""

    process: int | None = None
    confinement = ""

    def __init__(self, receiver: MessageReceiver, tools: list[dict[str, Any]]) -> None:
        self._receiver = receiver
        self._tools = tools

    def send(
        self, frame: bytes, *, id: int | None = None, method: str = "", params: Mapping[str, Any] | None = None
    ) -> None:
        if id is not None:
            asyncio.get_running_loop().call_soon(self._answer, id, method)

    def _answer(self, id: int, method: str) -> None:
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": id}
        if method == "initialize":
            about = {"name": "example", "version": "1"}
            can: dict[str, Any] = {"tools": {"listChanged": True}, "resources": {}, "prompts": {}}
            answer["result"] = {"protocolVersion": "2025-11-25", "capabilities": can, "serverInfo": about}
        elif method == "tools/list":
            answer["result"] = {"tools": self._tools}
        elif method in _ANSWERS:
            answer["result"] = _ANSWERS[method]
        else:
            answer["error"] = {"code": -32601, "message": "Method not found"}
        self._receiver.received(json.dumps(answer).encode())

    def drop(self, id: int, notice: bytes) -> None: ...

    def agreed(self, version: str) -> None: ...

    def admit(self, tools: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[str]]:
        return tools, []

    def rest(self, seconds: float) -> None: ...

    async def close(self) -> None: ...


class Servers:
    """Connects to them all. `tools` are what each of them lists."""

    def __init__(self) -> None:
        self.tools = [_tool("get_current_time"), _tool("add")]

    async def connect(self, config: ServerConfig, receiver: MessageReceiver) -> UpstreamConnection:
        return Wire(receiver, self.tools)

    async def known(self, house: Any) -> None:
        """Have a house read the file, and see the servers in it."""
        write(house.home.path)
        await house.services.servers.load()
        await house.services.upstreams.discover()

    async def changed(self, house: Any) -> None:
        """One of the servers has come back with another definition."""
        self.tools = [_tool("get_current_time"), _tool("add", description="Adds, and more.")]
        await house.services.upstreams.restart("time")


def write(home: Path) -> None:
    (home / "mcp-servers.json").write_text(json.dumps(FILE))


def _tool(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object", "properties": {}}, **more}
