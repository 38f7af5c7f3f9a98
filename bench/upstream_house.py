"""A scratch house with trivial upstream servers, each in the sandbox, and a room in which agents may call them."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.mcp_requests import OLD, Client
from bench.serving import Served, served
from bench.upstream_direct import ECHO, command
from doorward.config.home import Home

TOOL = "echo_echo"
"""The first tool of the first server, as it is called."""
_PATIENCE = 120
_PAUSE = 0.05


def entry(id: str, tools: int = 1, *, hangs: bool = False) -> dict[str, object]:
    """A server as its operator writes it down: its tools only read, and need nobody's approval."""
    first, *rest = command(tools, hangs=hangs)
    sandbox = {"read": [ECHO]}
    return {"id": id, "command": first, "args": rest, "sandbox": sandbox, "tier": "information", "autoApprove": True}


@contextlib.contextmanager
def upstream_house(folder: Path, entries: Sequence[dict[str, object]], tools: int) -> Iterator[Served]:
    """A house with these servers, once it offers so many of their tools."""
    home = Home(folder)
    home.create()
    (folder / "mcp-servers.json").write_text(json.dumps({"servers": entries}))
    with served("bench.house_server", folder, 0) as house:
        client = Client(house)
        try:
            _offered(client, client.session(), tools)
        finally:
            client.close()
        yield house


def _offered(client: Client, session: str, tools: int) -> None:
    end = time.monotonic() + _PATIENCE
    found = 0
    while time.monotonic() < end:
        found = listed(client, session)[1]
        if found >= tools:
            return
        time.sleep(_PAUSE)
    raise RuntimeError(
        f"{tools} tools of upstream servers were to be measured, but after {_PATIENCE} s there are {found}"
    )


def listed(client: Client, session: str) -> tuple[float, int]:
    """The seconds until the whole list of tools has come, page by page, and how many of them are an upstream's."""
    seconds, found = 0.0, 0
    params: dict[str, str] = {}
    while True:
        begun = time.perf_counter()
        _, text = client.ask(OLD, "tools/list", session, **params)
        seconds += time.perf_counter() - begun
        result = json.loads(text)["result"]
        found += sum("_echo" in tool["name"] for tool in result["tools"])
        if "nextCursor" not in result:
            return seconds, found
        params = {"cursor": result["nextCursor"]}
