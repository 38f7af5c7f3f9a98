"""A real `doorward up`, and the ways in that the official clients take: both transports, in both eras."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import anyio.to_thread
import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

import warm_doorward
from doorward.config.home import short_path
from doorward_process import Doorward
from waiting import AT_LEISURE, PATIENCE, until

OLD, NEW = "2025-11-25", "2026-07-28"
TRANSPORTS = ("http", "stdio")
MODE = {OLD: "legacy", NEW: NEW}
_names = (f"peer-{number}" for number in itertools.count(1))


class PeerHouse:
    """A running house. Every client of it acts under a name of its own, so that no test meets another's limits."""

    def __init__(self, doorward: Doorward, url: str) -> None:
        self.doorward = doorward
        self.url = url
        self.workspace = doorward.home / "workspace"

    def owner(self, command: str, **params: Any) -> Any:
        """What the owner gets for a command outside rooms, asked over the owner's own socket."""
        with short_path(self.doorward.home / "doorward.sock") as address:
            transport = httpx2.HTTPTransport(uds=address)
            with httpx2.Client(transport=transport, base_url="http://localhost", timeout=PATIENCE) as http:
                answer = http.post("/api/run", json={"command": command, "params": params}).json()
        assert answer["status"] == "done", answer
        return answer["result"]

    def token(self, name: str) -> str:
        return str(self.owner("token/create", name=name)["token"])

    def stdio(self, name: str) -> StdioServerParameters:
        words = ["mcp", "--room", "general", "--as", name, "--tools", "all"]
        return StdioServerParameters(command=str(warm_doorward.stand_in()), args=words, env=self.doorward.env)

    def ended(self, name: str) -> list[tuple[str, str]]:
        """The commands that the record says this caller asked for, and how each ended."""
        lines = self.doorward("audit", "export").out.splitlines()
        return [(line["command"], line["code"]) for line in map(json.loads, lines) if line["caller"] == name]

    def running(self) -> list[str]:
        """The commands that run at this moment."""
        found = self.doorward("executions", "list", "--json").json["result"]["items"]
        return [one["command"] for one in found if one["state"] == "running"]

    async def until(self, condition: Callable[[PeerHouse], bool]) -> None:
        """Wait for something that only shows in the house."""
        await until(lambda: anyio.to_thread.run_sync(condition, self), AT_LEISURE)


class Way(NamedTuple):
    """One transport, in one era."""

    house: PeerHouse
    transport: str
    era: str

    @contextlib.asynccontextmanager
    async def client(self, name: str = "", *, mode: str = "", **more: Any) -> AsyncIterator[Client]:
        """The official client, connected and agreed on the era."""
        name = name or next(_names)
        async with contextlib.AsyncExitStack() as stack:
            server: Any = self.house.stdio(name)
            if self.transport == "http":
                head = {"Authorization": f"Bearer {self.house.token(name)}"}
                http = await stack.enter_async_context(httpx2.AsyncClient(headers=head, timeout=PATIENCE))
                server = streamable_http_client(self.house.url, http_client=http)
            client = await stack.enter_async_context(
                Client(server, mode=mode or MODE[self.era], read_timeout_seconds=PATIENCE, **more)
            )
            assert client.protocol_version == self.era
            yield client


@contextlib.contextmanager
def peer_house(folder: Path) -> Iterator[PeerHouse]:
    doorward = Doorward(folder / "home")
    with doorward.serving() as server:
        yield PeerHouse(doorward, f"http://{server.host}:{server.port}/mcp?tools=all")
