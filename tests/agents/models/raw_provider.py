"""A provider that answers with whatever bytes a test wants, for what no other server can be told to do."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Literal, NamedTuple

from doorward.agents.models.model import (
    AnswerPiece,
    ChatTurn,
    ModelFailed,
    NativeCall,
    Prompt,
    TextPiece,
    TokenUsage,
    ToolSpec,
)
from doorward.agents.models.registry import ModelRegistry
from doorward.config.settings import ModelSettings as Limits
from doorward.config.settings import ProviderSettings
from waiting import PATIENCE

Kind = Literal["openai", "anthropic"]
KEY = "sk-key-of-the-tests-0123456789"
STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\nconnection: close\r\n\r\n"
TOOL = ToolSpec("data_list", "List records.", {"type": "object", "properties": {"collection": {"type": "string"}}})
PROMPT = Prompt(
    instructions="You are guide.", turns=(ChatTurn(role="user", text="Hello?", speaker="joel"),), tools=(TOOL,)
)


class Heard(NamedTuple):
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class Line:
    """The provider's end of one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, kind: str) -> None:
        self._reader = reader
        self._writer = writer
        self.kind = kind

    async def send(self, *data: bytes) -> bool:
        """Whether the client still takes it."""
        with contextlib.suppress(ConnectionError):
            self._writer.write(b"".join(data))
            await self._writer.drain()
            return not self._writer.is_closing()
        return False

    async def hung_up(self) -> None:
        """Wait until the client is gone."""
        with contextlib.suppress(ConnectionError):
            async with asyncio.timeout(PATIENCE):
                while await self._reader.read(65_536):
                    pass


Script = Callable[[Line], Awaitable[None]]


class RawProvider:
    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.heard: list[Heard] = []
        self.script: Script = answers("Hi.")
        self.left = asyncio.Event()
        """Set when a script has ended."""
        self.scheme = "http"
        self.port = 0

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}" + ("/v1" if self.kind == "openai" else "")

    async def meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            first, *lines = head.strip().split("\r\n")
            headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
            body = await reader.readexactly(int(headers["content-length"]))
            self.heard.append(Heard(first.split()[1], headers, json.loads(body)))
            await self.script(Line(reader, writer, self.kind))
        finally:
            self.left.set()
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    def models(
        self, *, now: Callable[[], float] | None = None, most_bytes: int = 1_000_000, **more: Any
    ) -> ModelRegistry:
        """The models of a house that knows this provider, under the name `raw`."""
        provider = ProviderSettings(kind=self.kind, base_url=self.url, **more)
        configured = Limits(providers={"raw": provider}, answer_bytes=most_bytes)
        environment = {"RAW_API_KEY": KEY}
        return ModelRegistry(configured, environment, now) if now else ModelRegistry(configured, environment)


@contextlib.asynccontextmanager
async def raw_provider(kind: Kind, tls: ssl.SSLContext | None = None) -> AsyncIterator[RawProvider]:
    provider = RawProvider(kind)
    provider.scheme = "https" if tls else "http"
    server = await asyncio.start_server(provider.meet, "127.0.0.1", 0, ssl=tls)
    provider.port = server.sockets[0].getsockname()[1]
    try:
        yield provider
    finally:
        server.close()


def said(*parts: Any) -> Script:
    """A script that sends these bytes and hangs up."""

    async def script(line: Line) -> None:
        await line.send(*parts)

    return script


def answers(*texts: str) -> Script:
    async def script(line: Line) -> None:
        await line.send(STREAM, begin(line.kind), *(words(line.kind, text) for text in texts), end(line.kind))

    return script


def status(code: int, body: Any = None, **headers: str) -> Script:
    text = body if isinstance(body, bytes) else json.dumps(body if body is not None else {}).encode()
    head = f"HTTP/1.1 {code} Said\r\ncontent-length: {len(text)}\r\nconnection: close\r\n"
    head += "".join(
        f"{name.replace('_', '-')}: {value}\r\n"
        for name, value in {"content_type": "application/json", **headers}.items()
    )
    return said(head.encode() + b"\r\n" + text)


def event(kind: str, data: Any) -> bytes:
    text = data if isinstance(data, str) else json.dumps(data)
    name = f"event: {data['type']}\n" if kind == "anthropic" and isinstance(data, dict) and "type" in data else ""
    return f"{name}data: {text}\n\n".encode()


def chunk(delta: Any, finish: str | None = None) -> dict[str, Any]:
    return {
        "id": "c1",
        "object": "chat.completion.chunk",
        "created": 1_700_000_000,
        "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }


def begin(kind: str) -> bytes:
    if kind == "openai":
        return event(kind, chunk({"role": "assistant"}))
    message = {
        "id": "m1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 400, "output_tokens": 1},
    }
    block = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    return event(kind, {"type": "message_start", "message": message}) + event(kind, block)


def words(kind: str, text: str) -> bytes:
    if kind == "openai":
        return event(kind, chunk({"content": text}))
    return event(kind, {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}})


def call(kind: str, index: int, id: str, name: str, *arguments: str) -> bytes:
    """A native call, its arguments in pieces."""
    if kind == "openai":
        first = {"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": ""}}
        rest = ({"index": index, "function": {"arguments": one}} for one in arguments)
        return b"".join(event(kind, chunk({"tool_calls": [one]})) for one in (first, *rest))
    block = {"type": "tool_use", "id": id, "name": name, "input": {}}
    deltas = (
        {"type": "content_block_delta", "index": index + 1, "delta": {"type": "input_json_delta", "partial_json": one}}
        for one in arguments
    )
    return b"".join(
        event(kind, one)
        for one in (
            {"type": "content_block_start", "index": index + 1, "content_block": block},
            *deltas,
            {"type": "content_block_stop", "index": index + 1},
        )
    )


def end(kind: str, *, called: bool = False) -> bytes:
    if kind == "openai":
        usage = {
            **chunk({}),
            "choices": [],
            "usage": {"prompt_tokens": 400, "completion_tokens": 7, "total_tokens": 407},
        }
        last = event(kind, chunk({}, "tool_calls" if called else "stop"))
        return last + event(kind, usage) + event(kind, "[DONE]")
    delta = {"stop_reason": "tool_use" if called else "end_turn", "stop_sequence": None}
    return event(kind, {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 7}}) + event(
        kind, {"type": "message_stop"}
    )


class Answered(NamedTuple):
    text: str
    calls: list[NativeCall]
    spent: TokenUsage | None
    failed: ModelFailed | None


async def asked(models: ModelRegistry, name: str, prompt: Prompt = PROMPT) -> Answered:
    """All that came, and how it failed; nothing but `ModelFailed` may come out of a model."""
    pieces: list[AnswerPiece] = []
    failed = None
    try:
        async with asyncio.timeout(PATIENCE):
            async for piece in models.find(name).answer(prompt):
                pieces.append(piece)
    except ModelFailed as error:
        failed = error
    assert failed is None or KEY not in failed.message
    text = "".join(one.text for one in pieces if isinstance(one, TextPiece))
    spent = next((one for one in pieces if isinstance(one, TokenUsage)), None)
    return Answered(text, [one for one in pieces if isinstance(one, NativeCall)], spent, failed)
