"""A house whose upstream servers are in memory: the file is real, and so is everything from there to the gate."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from scripted import Message, Scripted, Wire, tool

from doorward.core.events import Event, UpstreamOffered
from doorward.core.model import Credential
from doorward.upstream.config import ServerConfig
from doorward.upstream.connection import MessageReceiver, UpstreamConnection
from waiting import PATIENCE

__all__ = ["Answering", "Upstairs", "upstairs"]


class Answering(Scripted):
    """Answers a call with the arguments that it was given, or as a test says."""

    def __init__(self, *tools: Message, **more: Any) -> None:
        super().__init__(*tools, **more)
        self.calls: list[Message] = []
        self.answers: dict[str, Message] = {}
        self.before: Callable[[Wire, Message], None] | None = None

    def _reply(self, wire: Wire, asked: Message) -> None:
        if asked.get("method") != "tools/call":
            super()._reply(wire, asked)
            return
        params = asked["params"]
        self.calls.append(params)
        if self.before is not None:
            self.before(wire, asked)
        echo = {"content": [{"type": "text", "text": json.dumps(params.get("arguments"))}]}
        wire.answer(asked, self.answers.get(params["name"], echo))


class Upstairs:
    """A house, its file of servers, and the servers behind it."""

    def __init__(self, servers: dict[str, Answering]) -> None:
        self.servers = servers
        self.driver: Any = None

    @property
    def house(self) -> Any:
        return self.driver.house

    @property
    def upstreams(self) -> Any:
        return self.house.services.upstreams

    @property
    def owner(self) -> Any:
        """The owner, as the gate knows them."""
        return self.house.gate.caller(Credential(owner=True))

    async def connect(self, config: ServerConfig, receiver: MessageReceiver) -> UpstreamConnection:
        return await self.servers[config.id].connect(config, receiver)

    def command(self, name: str) -> Any:
        return self.house.services.registry.resolve(name)

    def names(self) -> list[str]:
        return [offer.names.canonical for offer in self.upstreams.offers]

    async def file(self, *entries: Message, **more: Any) -> None:
        """Write the file, and have it read."""
        await self.write(*entries, **more)
        await self.house.services.servers.load()
        assert self.house.services.servers.problem == ""

    async def write(self, *entries: Message, **more: Any) -> None:
        text = json.dumps({"servers": [{"command": "server", **one} for one in entries], **more})
        (self.house.home.path / "mcp-servers.json").write_text(text)

    async def ready(self) -> None:
        """Connect to all, and wait until each has said what it offers."""
        self.upstreams.start()
        await asyncio.gather(*(one.start_and_wait() for one in self.upstreams if one.config.enabled))
        self.upstreams.refresh()

    async def lists(self, server: str, *tools: Message) -> None:
        """A server says that its tools are others now; returns when that is in force."""
        self.servers[server].tools = list(tools)
        async with self.offered():
            self.servers[server].wire.say({"method": "notifications/tools/list_changed"})

    @contextlib.asynccontextmanager
    async def offered(self) -> AsyncIterator[None]:
        """Wait, at the end, until something else is offered than at the beginning."""
        heard = asyncio.Event()

        def hear(event: Event) -> None:
            heard.set()

        leave = self.house.services.events.subscribe(hear, UpstreamOffered)
        try:
            yield
            async with asyncio.timeout(PATIENCE):
                await heard.wait()
        finally:
            leave()

    async def room(self, name: str = "den", recipe: str = "admin") -> None:
        await self.driver.owner("room/create", name=name, recipe=recipe)

    async def shop(self, *commands: str) -> None:
        """A room in which agents may run these and nothing else."""
        agents = {"enabled": True, "whitelist": commands}
        recipe = {"recipeId": "shop", "displayName": "Shop", "strategy": {"aiCommands": agents}}
        await self.driver.owner("recipe/put", id="shop", text=json.dumps(recipe))
        await self.room("shop", "shop")

    async def run(self, command: str, /, *, by: str = "helper", room: str = "den", **params: Any) -> Any:
        """As an agent, or, with `by=""`, as the owner."""
        return await self.driver.ask(command, by=by, room=room, params=params)


@contextlib.asynccontextmanager
async def upstairs(opened: Any, monkeypatch: Any, **servers: Answering) -> AsyncIterator[Upstairs]:
    """A house that knows no server yet."""
    house = Upstairs(servers or {"time": Answering(tool("now"), tool("add"))})
    monkeypatch.setattr("doorward.app.connect_by_transport", lambda *_: house.connect)
    async with opened() as driver:
        house.driver = driver
        await house.room()
        yield house
