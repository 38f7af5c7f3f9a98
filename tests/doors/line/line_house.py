"""A house with the line door open, commands that run as long as a test likes, and a client that reads line by line."""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any

from msgspec import Meta

from doorward.config.settings import LimitSettings, LineSettings, Settings
from doorward.core.classification import Access, Effects, Safety, Tier
from doorward.core.command import READS_ONLY, Example, Family, NoUndo
from doorward.core.errors import CommandFailed
from doorward.doors.line.door import open_line_door as door_opened
from waiting import PATIENCE, until

Name = Annotated[str, Meta(description="Any name")]
RULES = {"enabled": True, "whitelist": ["*"], "maxCommandsPerMinute": 100_000}


class Stage:
    """Commands that answer at once, and one that goes on until it is told to end."""

    def __init__(self) -> None:
        self.family = Family("stage", category="test")
        self.running: dict[str, Any] = {}
        self.seen: list[str] = []
        self.secrets: list[str] = []
        self._ends: dict[str, asyncio.Future[None]] = {}
        common: dict[str, Any] = {"access": Access.READ, "safety": Safety.SAFE, "cost": 1, "timeout": 60}
        reads = {"tier": Tier.INFORMATION, "effects": Effects.READ, "undo": READS_ONLY, **common}
        writes = {"tier": Tier.CODE, "effects": Effects.WRITE, "undo": NoUndo("a test"), **common}
        example = [Example("try it", {"name": "x"})]

        @self.family.command("quick", examples=example, **reads)
        async def quick(ctx: Any, name: Name) -> dict[str, str]:
            """Answer at once."""
            self.seen.append(name)
            return {"name": name}

        @self.family.command("hold", examples=example, **writes)
        async def hold(ctx: Any, name: Name) -> dict[str, str]:
            """Go on until the test ends it."""
            self.running[name] = ctx.execution
            self._ends[name] = asyncio.get_running_loop().create_future()
            try:
                await self._ends[name]
            finally:
                del self.running[name]
            return {"name": name}

        @self.family.command("fail", examples=example, **writes)
        async def fail(ctx: Any, name: Name) -> dict[str, str]:
            """Fail."""
            raise CommandFailed(f"It did not work: {name}.")

        @self.family.command("large", examples=[Example("try it", {"howMany": 1})], **reads)
        async def large(ctx: Any, how_many: Annotated[int, Meta(description="How many items")]) -> dict[str, Any]:
            """Give a long list."""
            return {"items": [f"{number:090}" for number in range(how_many)]}

        @self.family.command("login", examples=[Example("x", {"user": "a", "pin": "b"})], secret=["pin"], **reads)
        async def login(ctx: Any, user: Name, pin: Name) -> dict[str, str]:
            """Take a secret."""
            return {"user": user}

    async def on(self, name: str) -> Any:
        """The execution of that name, once it runs."""
        await until(lambda: name in self.running)
        return self.running[name]

    def end(self, name: str) -> None:
        self._ends[name].set_result(None)


class Wire:
    """A plain client: lines out, lines in."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, id: Any, method: str, params: Any = None, **more: Any) -> None:
        self.raw(json.dumps({"id": id, "method": method, "params": {} if params is None else params, **more}))

    def raw(self, text: str | bytes) -> None:
        self.writer.write((text.encode() if isinstance(text, str) else text) + b"\n")

    def call(self, id: Any, tool: str, args: Any = None, **more: Any) -> None:
        self.send(id, "call_tool", {"tool": tool, "args": {} if args is None else args, **more})

    async def line(self) -> Any:
        async with asyncio.timeout(PATIENCE):
            text = await self.reader.readline()
        assert text.endswith(b"\n"), f"the connection ended after {text!r}"
        return json.loads(text)

    async def answer(self, id: Any) -> Any:
        """The answer to one request, past notifications."""
        while (found := await self.line())["type"] == "notification":
            pass
        assert found["id"] == id, found
        return found

    async def up_to(self, id: Any) -> list[Any]:
        """All lines up to the answer to one request."""
        lines = [await self.line()]
        while lines[-1]["id"] != id:
            lines.append(await self.line())
        return lines

    async def asked(self, id: Any, method: str, params: Any = None, **more: Any) -> Any:
        self.send(id, method, params, **more)
        return await self.answer(id)

    async def called(self, id: Any, tool: str, args: Any = None, **more: Any) -> Any:
        self.call(id, tool, args, **more)
        return await self.answer(id)

    async def rest(self) -> list[Any]:
        """Everything until the other side closes."""
        async with asyncio.timeout(PATIENCE):
            text = await self.reader.read()
        return [json.loads(line) for line in text.splitlines()]

    def end_input(self) -> None:
        self.writer.write_eof()

    async def close(self) -> None:
        self.writer.close()
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            await self.writer.wait_closed()


class LineHouse:
    def __init__(self, driver: Any, stage: Stage, port: int) -> None:
        self.driver = driver
        self.house = driver.house
        self.stage = stage
        self.port = port
        self.wires: list[Wire] = []

    async def wire(self, **more: Any) -> Wire:
        made = Wire(*await asyncio.open_connection("127.0.0.1", self.port, limit=2**22, **more))
        self.wires.append(made)
        return made

    async def records(self, command: str) -> list[tuple[str, str]]:
        return [(row["status"], row["code"]) for row in await self.driver.ledger() if row["command"] == command]


@contextlib.asynccontextmanager
async def line_house(
    opened: Callable[..., Any],
    *,
    running: int = 5,
    queued: int = 10,
    rules: Any = None,
    again: bool = False,
    **line: Any,
) -> AsyncIterator[LineHouse]:
    """Made at first use; `again` opens the same one. `line` are settings of the door: unless they say otherwise, nobody
    is too fast and nothing takes too long."""
    given = {"port": 0, "calls": 1_000_000, "room": "lab"} | line
    settings = Settings(line=LineSettings(**given), limits=LimitSettings(running=running, queued=queued))
    stage = Stage()
    recipe = {"recipeId": "stage", "displayName": "Stage", "strategy": {"aiCommands": RULES | (rules or {})}}
    async with opened(families=[stage.family], changes=settings) as driver:
        if not again:
            await driver.owner("recipe/put", id="stage", text=json.dumps(recipe))
            await driver.owner("room/create", name="lab", recipe="stage")
        async with door_opened(driver.house.gate, driver.house.services) as (_, port):
            made = LineHouse(driver, stage, port)
            try:
                yield made
            finally:
                for wire in made.wires:
                    await wire.close()
