"""An MCP client over pipes: starts the real `doorward mcp` and speaks frames with it, as any client does."""

from __future__ import annotations

import json
import os
import select
import subprocess
from types import TracebackType
from typing import Any

from doorward_process import BIN, Doorward
from waiting import PATIENCE


class StdioClient:
    """One client with its process. Ended by force at the end of the `with` block, unless the test ended it."""

    def __init__(self, doorward: Doorward, *args: str, name: str = "tester") -> None:
        self.name = name
        self.process = subprocess.Popen(
            [BIN / "doorward", "mcp", *args],
            env=doorward.env,
            cwd=doorward.folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.seen: list[dict[str, Any]] = []
        """Messages that came and that nobody has asked for yet."""
        self._rest = b""
        self._next = 0

    def __enter__(self) -> StdioClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait(PATIENCE)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None and not stream.closed:
                stream.close()

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, method: str, id: Any = None, **params: Any) -> None:
        frame = {"jsonrpc": "2.0", "method": method, "params": params}
        if id is not None:
            frame["id"] = id
        self.write(json.dumps(frame).encode() + b"\n")

    def begin(self, method: str, **params: Any) -> int:
        """Send a request and return its id."""
        self._next += 1
        self.send(method, self._next, **params)
        return self._next

    def begin_call(self, tool: str, **arguments: Any) -> int:
        return self.begin("tools/call", name=tool, arguments=arguments)

    def message(self) -> dict[str, Any]:
        """The next message, whatever it is."""
        assert self.process.stdout is not None
        while b"\n" not in self._rest:
            ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
            assert ready, "nothing came"
            piece = os.read(self.process.stdout.fileno(), 65_536)
            assert piece, f"the process closed its end: {self.process.stderr.read() if self.process.stderr else b''!r}"
            self._rest += piece
        line, _, self._rest = self._rest.partition(b"\n")
        found: dict[str, Any] = json.loads(line)
        return found

    def answer(self, id: int) -> dict[str, Any]:
        """The answer to a request; other messages are kept in `seen`."""
        while True:
            found = self.message()
            if found.get("id") == id and "method" not in found:
                return found
            self.seen.append(found)

    def until(self, method: str) -> dict[str, Any]:
        """The next message with this method."""
        while True:
            found = self.seen.pop(0) if self.seen else self.message()
            if found.get("method") == method:
                return found

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        return self.answer(self.begin(method, **params))

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The result of a tool; it must have one."""
        answer = self.answer(self.begin_call(tool, **arguments))
        assert "result" in answer, answer
        found: dict[str, Any] = answer["result"]
        return found

    def initialize(self, **capabilities: Any) -> dict[str, Any]:
        info = {"name": self.name, "version": "1"}
        answer = self.ask("initialize", protocolVersion="2025-11-25", capabilities=capabilities, clientInfo=info)
        self.send("notifications/initialized")
        found: dict[str, Any] = answer["result"]
        return found

    def close(self) -> tuple[int, str]:
        """Close the pipe, as clients do at their end; gives the exit code and what was said on stderr."""
        assert self.process.stdin is not None
        assert self.process.stderr is not None
        self.process.stdin.close()
        code = self.process.wait(PATIENCE)
        return code, self.process.stderr.read().decode()
