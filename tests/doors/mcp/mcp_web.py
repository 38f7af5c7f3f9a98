"""An MCP client over HTTP in this process: raw ASGI, so that a test sees each event as it comes, and can hang up."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from doorward.core.wire import http as values
from doorward.core.wire import meta
from waiting import PATIENCE

NOW = "2026-07-28"
BEFORE = "2025-11-25"


class _With(dict[str, str]):
    """Headers and some more, without losing one that a test has put there twice."""

    def __init__(self, given: Mapping[str, str], more: Mapping[str, str]) -> None:
        super().__init__(more)
        self._all = [*given.items(), *more.items()]

    def items(self) -> Any:
        return self._all


class Exchange:
    """One HTTP request and what comes back, piece by piece."""

    def __init__(self, app: Any, method: str, path: str, headers: Mapping[str, str], body: bytes | None) -> None:
        self._gone = asyncio.Event()
        self._body = body
        self._sent: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._rest = b""
        self._over = False
        target, _, query = path.partition("?")
        if body is not None and "content-length" not in headers:
            headers = _With(headers, {"content-length": str(len(body))})
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "path": target,
            "raw_path": target.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "scheme": "http",
            "headers": [(key.lower().encode(), value.encode("latin-1")) for key, value in headers.items()],
            "server": ("127.0.0.1", 8642),
            "client": ("127.0.0.1", 50_000),
        }
        self.task = asyncio.create_task(app(scope, self._receive, self._sent.put))
        self.task.add_done_callback(lambda _: self._sent.put_nowait({"type": "end"}))

    async def _receive(self) -> dict[str, Any]:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _next(self) -> dict[str, Any]:
        async with asyncio.timeout(PATIENCE):
            return await self._sent.get()

    async def begun(self) -> Exchange:
        """Once the answer has begun: its status and headers are known."""
        start = await self._next()
        if start["type"] == "end":
            await self.task
            raise AssertionError("the application ended without an answer")
        self.status: int = start["status"]
        self.headers = {key.decode(): value.decode() for key, value in start["headers"]}
        return self

    async def event(self) -> dict[str, Any] | None:
        """The next message of a stream; None at its end. Comments are passed over."""
        while True:
            while b"\r\n\r\n" not in self._rest:
                if self._over:
                    assert not self._rest
                    return None
                piece = await self._next()
                self._rest += piece.get("body", b"")
                self._over = piece["type"] == "end" or not piece.get("more_body", False)
            block, _, self._rest = self._rest.partition(b"\r\n\r\n")
            lines = [line for line in block.split(b"\r\n") if not line.startswith(b":") and line]
            if lines:
                assert lines[0] == b"event: message"
                return dict(json.loads(lines[1].removeprefix(b"data: ")))

    async def events(self) -> list[dict[str, Any]]:
        found = []
        while (event := await self.event()) is not None:
            found.append(event)
        return found

    async def body(self) -> bytes:
        found = b""
        while not self._over:
            piece = await self._next()
            found += piece.get("body", b"")
            self._over = piece["type"] == "end" or not piece.get("more_body", False)
        await self.task
        return found

    async def hang_up(self) -> None:
        """Leave, and wait until the server has noticed."""
        self._gone.set()
        async with asyncio.timeout(PATIENCE):
            await asyncio.wait([self.task])


class Answer:
    def __init__(self, exchange: Exchange, messages: list[dict[str, Any]]) -> None:
        self.status = exchange.status
        self.headers = exchange.headers
        self.messages = messages

    @property
    def last(self) -> dict[str, Any]:
        return self.messages[-1]

    @property
    def result(self) -> dict[str, Any]:
        assert "result" in self.last, self.last
        return dict(self.last["result"])

    @property
    def error(self) -> dict[str, Any]:
        assert "error" in self.last, self.last
        return dict(self.last["error"])

    @property
    def said(self) -> str:
        """The text of a tool's result."""
        return str(self.result["content"][0]["text"])


class Web:
    """One client of an application, with or without a token."""

    def __init__(
        self, app: Any, token: str = "", path: str = "/mcp", capabilities: dict[str, Any] | None = None
    ) -> None:
        self.app = app
        self.token = token
        self.path = path
        self.capabilities = capabilities or {}
        self.session: dict[str, str] = {}
        self._ids = 0

    def next_id(self) -> int:
        self._ids += 1
        return self._ids

    def headers(self, **more: str) -> dict[str, str]:
        base = {
            "host": "127.0.0.1:8642",
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
        }
        if self.token:
            base["authorization"] = f"Bearer {self.token}"
        return base | {key.replace("_", "-"): value for key, value in more.items()}

    def raw(
        self, body: bytes | None, headers: Mapping[str, str] | None = None, method: str = "POST", path: str = ""
    ) -> Exchange:
        return Exchange(self.app, method, path or self.path, self.headers() if headers is None else headers, body)

    async def whole(self, exchange: Exchange) -> Answer:
        await exchange.begun()
        if exchange.headers.get("content-type") == "text/event-stream":
            return Answer(exchange, await exchange.events())
        body = await exchange.body()
        return Answer(exchange, [json.loads(body)] if body else [])

    # The stateless era

    def stateless(self, method: str, params: dict[str, Any] | None = None, **more: Any) -> tuple[bytes, dict[str, str]]:
        """The body and headers of a request; `more` goes into its _meta."""
        params = params or {}
        about = {
            meta.VERSION: NOW,
            meta.CLIENT: {"name": "test", "version": "1"},
            meta.CAPABILITIES: self.capabilities,
            **more,
        }
        headers = self.headers(mcp_protocol_version=NOW, mcp_method=method)
        named = params.get("name") or params.get("uri")
        if isinstance(named, str) and method in ("tools/call", "prompts/get", "resources/read"):
            headers["mcp-name"] = values.encode_header(named)
        body = {"jsonrpc": "2.0", "id": self.next_id(), "method": method, "params": {**params, "_meta": about}}
        return json.dumps(body).encode(), headers

    def open(self, method: str, params: dict[str, Any] | None = None, **more: Any) -> Exchange:
        return self.raw(*self.stateless(method, params, **more))

    async def ask(self, method: str, params: dict[str, Any] | None = None, **more: Any) -> Answer:
        return await self.whole(self.open(method, params, **more))

    async def call(self, name: str, /, **arguments: Any) -> Answer:
        return await self.ask("tools/call", {"name": name, "arguments": arguments})

    # The era of sessions

    async def initialize(self, version: str = BEFORE, **more: Any) -> Answer:
        params = {
            "protocolVersion": version,
            "capabilities": self.capabilities,
            "clientInfo": {"name": "test", "version": "1"},
            **more,
        }
        answer = await self.whole(self.begin("initialize", params))
        if "mcp-session-id" in answer.headers:
            self.session = {
                "mcp_session_id": answer.headers["mcp-session-id"],
                "mcp_protocol_version": answer.result["protocolVersion"],
            }
            told = await self.whole(self.tell("notifications/initialized"))
            assert told.status == 202
        return answer

    def begin(self, method: str, params: dict[str, Any] | None = None) -> Exchange:
        body = {"jsonrpc": "2.0", "id": self.next_id(), "method": method, "params": params or {}}
        return self.raw(json.dumps(body).encode(), self.headers(**self.session))

    def tell(self, method: str, params: dict[str, Any] | None = None) -> Exchange:
        body = {"jsonrpc": "2.0", "method": method, "params": params or {}}
        return self.raw(json.dumps(body).encode(), self.headers(**self.session))

    def answers(self, id: Any, result: dict[str, Any]) -> Exchange:
        body = {"jsonrpc": "2.0", "id": id, "result": result}
        return self.raw(json.dumps(body).encode(), self.headers(**self.session))

    async def request(self, method: str, params: dict[str, Any] | None = None) -> Answer:
        return await self.whole(self.begin(method, params))

    def listen(self) -> Exchange:
        return self.raw(b"", self.headers(**self.session), method="GET")
