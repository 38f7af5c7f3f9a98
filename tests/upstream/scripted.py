"""A server in memory, for tests of what a client says and hears: it answers as a test scripts it, and at once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

from doorward.core.errors import DoorwardError, Unreachable
from doorward.upstream import input_required
from doorward.upstream.calls import CallHooks, QuestionAnswer, ServerQuestion
from doorward.upstream.config import ServerConfig
from doorward.upstream.connection import MessageReceiver, UpstreamConnection
from doorward.upstream.secret_mask import SecretMask
from doorward.upstream.session import Session

OLD, NEW = "2025-11-25", "2026-07-28"
SECRET = "hunter2-hunter2"

Message = dict[str, Any]
Reply = Callable[["Wire", Message], None]


class Wire:
    """A connection whose other end is the test: what is sent is kept, and `say` is what the server says."""

    process: int | None = None
    confinement = ""

    def __init__(self, receiver: MessageReceiver, reply: Reply | None = None) -> None:
        self.receiver = receiver
        self.reply = reply
        self.sent: list[Message] = []
        self.rests: list[float] = []
        self.version = ""
        self.closed = 0
        self.deaf = False
        self.heard_from_us = asyncio.Event()

    def send(
        self, frame: bytes, *, id: int | None = None, method: str = "", params: Mapping[str, Any] | None = None
    ) -> None:
        if self.deaf:
            raise Unreachable("It does not read.")
        message = json.loads(frame)
        assert message.get("method", "") == method
        assert (message.get("id") == id) if method else id is None
        self.sent.append(message)
        self.heard_from_us.set()
        if self.reply is not None:
            asyncio.get_running_loop().call_soon(self.reply, self, message)

    def drop(self, id: int, notice: bytes) -> None:
        self.sent.append(json.loads(notice))

    def agreed(self, version: str) -> None:
        self.version = version

    def admit(self, tools: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[str]]:
        return tools, []

    def rest(self, seconds: float) -> None:
        self.rests.append(seconds)

    async def close(self) -> None:
        self.closed += 1

    def say(self, message: Message, answering: int | None = None) -> None:
        self.receiver.received(json.dumps({"jsonrpc": "2.0", **message}).encode(), answering)

    def answer(self, asked: Message, result: Message) -> None:
        self.say({"id": asked["id"], "result": result})

    def fail(self, asked: Message, code: int, message: str, data: Any = None) -> None:
        self.say({"id": asked["id"], "error": {"code": code, "message": message, "data": data}})

    def asked(self, method: str) -> list[Message]:
        """What was sent with this method, in order."""
        return [message for message in self.sent if message.get("method") == method]


class Heard:
    """Who hears the news of a session."""

    def __init__(self) -> None:
        self.changes: list[str] = []
        self.uris: list[str] = []
        self.ends: list[tuple[DoorwardError, bool]] = []
        self.notes: list[tuple[str, str]] = []

    def changed(self, what: str) -> None:
        self.changes.append(what)

    def updated(self, uri: str) -> None:
        self.uris.append(uri)

    def ended(self, error: DoorwardError, again: bool) -> None:
        self.ends.append((error, again))

    def noted(self, source: str, line: str) -> None:
        self.notes.append((source, line))


def tool(name: str, **more: Any) -> Message:
    return {"name": name, "inputSchema": {"type": "object", "properties": {}}, **more}


class Scripted:
    """Makes connections to one server that speaks either era, and remembers them."""

    def __init__(self, *tools: Message, modern: bool = False) -> None:
        self.tools = list(tools)
        self.modern = modern
        self.wires: list[Wire] = []
        self.refuses: DoorwardError | None = None
        """Why no connection can be made at the moment."""
        self.mute: set[str] = set()
        """Methods that it does not answer."""
        self.capabilities: Message = {"tools": {"listChanged": True}}

    @property
    def wire(self) -> Wire:
        """The newest connection."""
        return self.wires[-1]

    async def connect(self, config: ServerConfig, receiver: MessageReceiver) -> UpstreamConnection:
        if self.refuses is not None:
            raise self.refuses
        wire = Wire(receiver, self._reply)
        self.wires.append(wire)
        return wire

    def _reply(self, wire: Wire, asked: Message) -> None:
        method = asked.get("method")
        if "id" not in asked or method is None or method in self.mute:
            return
        modern = "io.modelcontextprotocol/protocolVersion" in asked["params"].get("_meta", {})
        if modern is not self.modern:
            wire.fail(asked, -32601, "Method not found")
        elif method == "server/discover":
            wire.answer(asked, {"supportedVersions": ["2026-07-28"], "capabilities": self.capabilities})
        elif method == "initialize":
            wire.answer(asked, {"protocolVersion": "2025-11-25", "capabilities": self.capabilities, "serverInfo": {}})
        elif method == "tools/list":
            wire.answer(asked, {"tools": self.tools})
        elif method == "tools/call":
            wire.answer(asked, {"content": [{"type": "text", "text": asked["params"]["name"]}]})
        elif method in ("ping", "resources/subscribe", "resources/unsubscribe"):
            wire.answer(asked, {})


async def turns(many: int = 5) -> None:
    """Let the event loop go round a few times."""
    for _ in range(many):
        await asyncio.sleep(0)


async def opened(version: str = OLD, *, sampling: bool = False) -> tuple[Session, Wire, Heard]:
    heard = Heard()
    session = Session("it", heard, SecretMask([SECRET]), sampling=sampling)

    async def connect(config: ServerConfig, receiver: MessageReceiver) -> UpstreamConnection:
        return Wire(receiver)

    await session.open(ServerConfig(id="it", name="it"), connect)
    session.set_version(version)
    assert isinstance(session.connection, Wire)
    return session, session.connection, heard


def calling(
    session: Session, name: str = "t", hooks: CallHooks | None = None, within: float = 30.0, *, sampling: bool = False
) -> asyncio.Task[dict[str, Any]]:
    return asyncio.ensure_future(
        input_required.request_with_input(
            session, "tools/call", {"name": name}, within=within, hooks=hooks, sampling=sampling
        )
    )


class Asked:
    """A person who is asked, and answers as a test says."""

    def __init__(self, *given: QuestionAnswer) -> None:
        self.given = list(given)
        self.wanted: list[ServerQuestion] = []
        self.waits: asyncio.Event | None = None

    async def __call__(self, wanted: ServerQuestion) -> QuestionAnswer:
        self.wanted.append(wanted)
        if self.waits is not None:
            await self.waits.wait()
        return self.given.pop(0)
