"""Calls to a trivial upstream through gateways: Doorward with policy and ledger on, and those of others, side by side.

The upstream costs next to nothing, so that the gateways are what is measured. One raw client asks them all.
"""

from __future__ import annotations

import contextlib
import statistics
from pathlib import Path

from bench.apart import descendants
from bench.mcp_requests import OLD, Client, calling
from bench.serving import Served, cpu_of
from bench.sizes import Sizes
from bench.upstream_direct import Direct, command
from bench.upstream_direct import measure as measure_direct
from bench.upstream_house import TOOL, entry, upstream_house
from bench.upstream_peers import NAMES, peers
from bench.volley import Answers, Volley

CALLERS = 16
_DIRECT = 10
"""Without a gateway so many times more calls take about as long."""
_WARM_UP = 0.5
_FINEST = 1e-9
"""Seconds that a call takes at least, for machines that tell a process's time in coarse steps."""
_UPSTREAM = [word.encode() for word in command()[1:]]
"""What the words of its process are, whatever name its interpreter has."""


def measure(folder: Path, sizes: Sizes) -> dict[str, float]:
    """Each round asks every gateway for the same time, so that a busy machine spoils all numbers alike."""
    here = folder / "gateways"
    here.mkdir()
    with contextlib.ExitStack() as stack:
        house = stack.enter_context(upstream_house(here / "home", [entry("echo")], 1))
        others = stack.enter_context(peers(here))
        lanes = {"doorward": Lane(stack, house, TOOL)}
        lanes |= {name: Lane(stack, other, "echo") for name, other in others.items()}
        for lane in lanes.values():
            lane.warm_up(sizes.gateway_seconds * _WARM_UP)
        for _ in range(sizes.rounds):
            for lane in lanes.values():
                lane.run(sizes.gateway_seconds)
    return _found(lanes, measure_direct(sizes.door_calls * _DIRECT, CALLERS))


def _found(lanes: dict[str, Lane], direct: Direct) -> dict[str, float]:
    found = {"up_direct": direct.calls, "up_direct_alone": direct.alone * 1e3}
    for name, lane in lanes.items():
        key = f"up_{name.replace('-', '_')}"
        found |= {
            f"{key}_calls": statistics.median(lane.rates),
            f"{key}_alone": statistics.median(lane.alone) * 1e3,
            f"{key}_p99": percentile(lane.crowded, 0.99) * 1e3,
            f"{key}_cpu": statistics.median(lane.cpu) * 1e3,
        }
    if all(name in lanes for name in NAMES):
        best = max((lanes[name] for name in NAMES), key=lambda lane: statistics.median(lane.rates))
        ours = lanes["doorward"].rates
        found["up_of_best"] = statistics.median(one / other for one, other in zip(ours, best.rates, strict=True))
    return found


def percentile(values: list[float], part: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


class Lane:
    """One gateway with its callers, and what was found of it in each round."""

    def __init__(self, stack: contextlib.ExitStack, gateway: Served, tool: str) -> None:
        client = Client(gateway)
        stack.callback(client.close)
        shot = calling(gateway, OLD, client.session(), tool=tool)
        self._gateway = gateway
        self._many = stack.enter_context(Volley(gateway.address, shot, CALLERS))
        self._one = stack.enter_context(Volley(gateway.address, shot, 1))
        self.rates: list[float] = []
        self.cpu: list[float] = []
        self.alone: list[float] = []
        self.crowded: list[float] = []

    def warm_up(self, seconds: float) -> None:
        answered(self._many, seconds)

    def run(self, seconds: float) -> None:
        before = self._used()
        many = answered(self._many, seconds)
        self.cpu.append(max(_FINEST, (self._used() - before) / len(many.latencies)))
        self.rates.append(len(many.latencies) / many.seconds)
        self.crowded += many.latencies
        self.alone += answered(self._one, seconds / 2).latencies

    def _used(self) -> float:
        """The processor seconds of the gateway and all that came of it, but for the upstream."""
        tree = [self._gateway.process, *descendants(self._gateway.process)]
        return sum(map(spent, tree))


def answered(volley: Volley, seconds: float) -> Answers:
    """What happens when all ask for so long; a call that is not answered well is an error of the measure."""
    answers = volley.during(seconds)
    if answers.errors:
        raise RuntimeError(f"calls were to be measured, but {answers.errors} failed, such as {volley.wrong[:500]!r}")
    return answers


def spent(process: int) -> float:
    """The processor seconds of a process; none if it is the upstream itself, or is gone."""
    try:
        words = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
        return 0.0 if words[1:][: len(_UPSTREAM)] == _UPSTREAM else cpu_of(process)
    except OSError:
        return 0.0
