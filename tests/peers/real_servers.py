"""A real `doorward up` before five real MCP servers of others, each in the sandbox, and a room that may use them."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mcp import StdioServerParameters
from peer_house import PeerHouse

import warm_doorward
from doorward_process import BIN, Doorward
from node_peers import FOLDER, NODE, package
from waiting import AT_LEISURE, wait_until

ROOM = "servers"
RECIPE = {
    "recipeId": "servers",
    "displayName": "Servers",
    "description": "AIs use what MCP servers offer, and nothing else.",
    "strategy": {"aiCommands": {"enabled": True, "whitelist": ["mcp/*"], "maxCommandsPerMinute": 10_000}},
}
MODULES = FOLDER / "node_modules"


def npm(name: str) -> list[str]:
    """A reference server on Node, as npx would start it once it is there."""
    return [str(NODE), str(package(f"@modelcontextprotocol/server-{name}") / "dist" / "index.js")]


def pypi(name: str) -> list[str]:
    """One in Python, as uvx would."""
    return [str(BIN / name)]


class Places:
    """The folders that servers are about."""

    def __init__(self, folder: Path) -> None:
        self.documents = folder / "documents"
        self.private = folder / "private"
        self.repository = folder / "repository"
        for one in (self.documents, self.private, self.repository):
            one.mkdir()
        (self.documents / "notes.md").write_text("one door\n")
        (self.private / "diary.md").write_text("not for servers\n")
        (self.repository / "notes.md").write_text("one door\n")
        for words in (
            ["init", "-q", "-b", "main"],
            ["add", "notes.md"],
            ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "-q", "-m", "Write notes"],
        ):
            subprocess.run(
                ["git", *words], cwd=self.repository, check=True, env={"HOME": str(folder), "PATH": "/usr/bin:/bin"}
            )


def entry(id: str, words: list[str], **more: Any) -> dict[str, Any]:
    first, *rest = words
    given = more.pop("sandbox", {})
    read = [str(MODULES), *given.get("read", ())] if first == str(NODE) else given.get("read", [])
    sandbox = {**given, "read": read}
    return {"id": id, "command": first, "args": rest, "sandbox": sandbox, "autoApprove": True, **more}


def five(places: Places) -> list[dict[str, Any]]:
    """What an operator writes who knows these servers, one of them twice: once it may ask for a model's answer.

    The file server is told of more than its sandbox lets it reach.
    """
    documents, private, repository = map(str, (places.documents, places.private, places.repository))
    reading = ["read_*", "list_*"]
    return [
        entry(
            "files",
            [*npm("filesystem"), documents, private],
            sandbox={"write": [documents]},
            autoApprove=reading,
            denyTools=["move_file"],
        ),
        entry("everything", npm("everything"), sampling=True),
        entry("everything-else", npm("everything"), tools=["trigger-*"]),
        entry("memory", npm("memory"), env={"MEMORY_FILE_PATH": "/tmp/memory.jsonl"}),
        entry("git", [*pypi("mcp-server-git"), "--repository", repository], sandbox={"read": [repository]}),
        entry("time", [*pypi("mcp-server-time"), "--local-timezone", "Europe/Berlin"]),
    ]


class RealHouse(PeerHouse):
    """A house whose clients act in the room for servers."""

    def __init__(self, doorward: Doorward, url: str, places: Places) -> None:
        super().__init__(doorward, f"{url}/{ROOM}")
        self.places = places

    def stdio(self, name: str) -> StdioServerParameters:
        words = ["mcp", "--room", ROOM, "--as", name]
        return StdioServerParameters(command=str(warm_doorward.stand_in()), args=words, env=self.doorward.env)

    def ready(self) -> None:
        """Wait until every server is there."""

        def there() -> bool:
            servers = [one for one in self.owner("mcp/servers")["items"] if one["enabled"]]
            return all(one["state"] == "ready" and one["tools"] for one in servers)

        wait_until(there, AT_LEISURE)


@contextlib.contextmanager
def real_house(folder: Path) -> Iterator[RealHouse]:
    places = Places(folder)
    doorward = Doorward(folder / "home")
    doorward.home.mkdir()
    (doorward.home / "mcp-servers.json").write_text(json.dumps({"servers": five(places)}))
    with doorward.serving() as server:
        house = RealHouse(doorward, f"http://{server.host}:{server.port}/mcp", places)
        house.owner("recipe/put", id="servers", text=json.dumps(RECIPE))
        house.owner("room/create", name=ROOM, recipe="servers")
        house.ready()
        yield house
