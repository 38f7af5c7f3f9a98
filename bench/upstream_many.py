"""Very many upstream servers at once, one of which hangs as soon as it is called."""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

from bench.apart import resident
from bench.mcp_requests import OLD, Client, calling
from bench.serving import Served
from bench.sizes import Sizes
from bench.upstream_calls import CALLERS, answered, percentile
from bench.upstream_house import TOOL, entry, listed, upstream_house
from bench.volley import Volley

_TOOLS_EACH = 10


def measure(folder: Path, sizes: Sizes) -> dict[str, float]:
    others = [entry(f"server{number}", _TOOLS_EACH) for number in range(2, sizes.upstreams)]
    entries = [entry("echo", _TOOLS_EACH), entry("hung", _TOOLS_EACH, hangs=True), *others]
    begun = time.perf_counter()
    with upstream_house(folder / "many-upstreams", entries, len(entries) * _TOOLS_EACH) as house:
        up = time.perf_counter() - begun
        memory = resident(house.process)
        with _session(house) as (client, session):
            lists = [listed(client, session)[0] for _ in range(sizes.pages)]
            beside = _beside_a_hanging_one(house, session, sizes)
    return {
        "up_many_start": up,
        "up_many_list": statistics.median(lists) * 1e3,
        "up_many_memory": memory,
        "up_hanging_p99": beside,
    }


def _beside_a_hanging_one(house: Served, session: str, sizes: Sizes) -> float:
    """The latency of all but one in a hundred calls to one server, while calls hang at another, beside it without.

    By turns, so that a busy machine spoils both alike.
    """
    found: dict[bool, list[float]] = {False: [], True: []}
    with Volley(house.address, calling(house, OLD, session, tool=TOOL), CALLERS) as volley:
        answered(volley, sizes.gateway_seconds)
        for turn in range(2 * sizes.rounds):
            hanging = turn % 4 in (1, 2)
            with _hung(house, session) if hanging else contextlib.nullcontext():
                found[hanging] += answered(volley, sizes.gateway_seconds).latencies
    return percentile(found[True], 0.99) / percentile(found[False], 0.99)


@contextlib.contextmanager
def _hung(house: Served, session: str) -> Iterator[None]:
    """As many callers as there are others wait for the server that never answers."""
    shot = calling(house, OLD, session, tool="hung_echo")
    with Volley(house.address, shot, CALLERS) as volley:
        volley.ask_all()
        yield


@contextlib.contextmanager
def _session(house: Served) -> Iterator[tuple[Client, str]]:
    client = Client(house)
    try:
        yield client, client.session()
    finally:
        client.close()
