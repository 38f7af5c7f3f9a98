"""What a trivial tool call over Streamable HTTP costs, gate and ledger on, beside servers that do much less.

Below it: an endpoint that answers with given bytes. Above it: servers of the official SDK with the same tool.
"""

from __future__ import annotations

import contextlib
import importlib.util
import statistics
from pathlib import Path

from bench.mcp_requests import NEW, OLD, Client, calling
from bench.serving import Served, served_together
from bench.sizes import Sizes
from bench.volley import Shot, Volley

_CONNECTIONS = 16
_WARM_UP = 4
_SLOWER = 4
"""The SDK's servers are given so many times fewer calls, so that they take about as long."""
_FINEST = 1e-9
"""Seconds that a call takes at least, for machines that tell a process's time in coarse steps."""

HAS_SDK = importlib.util.find_spec("mcp") is not None
"""Whether the official SDK is installed, which Doorward itself does not need."""


def measure(folder: Path, sizes: Sizes) -> dict[str, float]:
    """Each round measures everything once, so that a busy machine spoils all numbers alike."""
    servers: list[tuple[object, ...]] = [
        ("bench.house_server", folder / "mcp", 0),
        ("bench.asgi_server",),
        *((("bench.sdk_server", "json"), ("bench.sdk_server", "sse")) if HAS_SDK else ()),
    ]
    with served_together(*servers) as (house, bare, *sdks), contextlib.ExitStack() as stack:
        client = Client(house)
        stack.callback(client.close)
        lanes = {
            "mcp": _Lane(stack, house, calling(house, NEW), sizes.door_calls),
            "asgi": _Lane(stack, bare, calling(bare, NEW, echoed=False), sizes.door_calls),
            "mcp_session": _Lane(stack, house, calling(house, OLD, client.session()), sizes.door_calls),
        }
        for name, version, sdk in zip(("sdk_json", "sdk_sse"), (NEW, OLD), sdks, strict=False):
            lanes[name] = _Lane(stack, sdk, calling(sdk, version), max(1, sizes.door_calls // _SLOWER))
        for lane in lanes.values():
            lane.run(_WARM_UP)
        for _ in range(sizes.rounds):
            for lane in lanes.values():
                lane.run()
    return _found(lanes)


def _found(lanes: dict[str, _Lane]) -> dict[str, float]:
    mcp, asgi, session = lanes["mcp"], lanes["asgi"], lanes["mcp_session"]
    found = {
        "asgi": statistics.median(asgi.cpu) * 1e6,
        "mcp": statistics.median(mcp.cpu) * 1e6,
        "mcp_of_asgi": _beside(mcp.cpu, asgi.cpu),
        "mcp_calls": statistics.median(mcp.rates),
        "mcp_session": statistics.median(session.rates),
    }
    if "sdk_json" in lanes:
        json, sse = lanes["sdk_json"], lanes["sdk_sse"]
        found |= {
            "sdk_json": statistics.median(json.rates),
            "mcp_of_sdk_json": _beside(mcp.rates, json.rates),
            "sdk_sse": statistics.median(sse.rates),
            "mcp_of_sdk_sse": _beside(session.rates, sse.rates),
        }
    return found


def _beside(mine: list[float], theirs: list[float]) -> float:
    return statistics.median(one / other for one, other in zip(mine, theirs, strict=True))


class _Lane:
    """One server with its clients, and what was found of it in each round."""

    def __init__(self, stack: contextlib.ExitStack, server: Served, shot: Shot, calls: int) -> None:
        self._server = server
        self._calls = calls
        self._volley = stack.enter_context(Volley(server.address, shot, _CONNECTIONS))
        self.rates: list[float] = []
        self.cpu: list[float] = []

    def run(self, warm_up: int = 0) -> None:
        """So many calls, counted unless they are for warming up, which takes only a part of them."""
        calls = max(1, self._calls // (warm_up or 1))
        before = self._server.cpu()
        seconds = self._volley.calls(calls)
        if not warm_up:
            self.rates.append(calls / seconds)
            self.cpu.append(max(_FINEST, (self._server.cpu() - before) / calls))
