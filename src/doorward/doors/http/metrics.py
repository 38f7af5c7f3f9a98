"""Prometheus metrics: plain counters that events update, formatted on request."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from itertools import accumulate

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector

from doorward.core.byte_budget import ByteBudget
from doorward.core.events import CommandExecuted, EnergyChanged, SubAgentReported

CONTENT_TYPE = CONTENT_TYPE_LATEST
_ENDED = ("completed", "failed", "cancelled")
_BOUNDS = (0.001, 0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 30.0)


class Metrics(Collector):
    def __init__(
        self,
        running: Callable[[], int],
        ledger_records: Callable[[], int],
        budget: ByteBudget,
        energy_levels: Callable[[], Mapping[str, float]],
    ) -> None:
        self._running = running
        self._ledger_records = ledger_records
        self._budget = budget
        self._energy_levels = energy_levels
        self._charges: dict[str, int] = {}
        self._requests: dict[tuple[str, str], int] = {}
        """Requests to sub-agents that reached a state, by agent and state."""
        self._request_states: dict[str, str] = {}
        """The last state of each request that has not ended."""
        self._calls: dict[tuple[str, str], int] = {}
        self._buckets = [0] * (len(_BOUNDS) + 1)
        """Calls per histogram bucket, not cumulative."""
        self._seconds = 0.0
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def observe(self, event: CommandExecuted) -> None:
        ending = event.status, event.code
        self._calls[ending] = self._calls.get(ending, 0) + 1
        if event.status in ("done", "failed"):
            self._buckets[bisect_left(_BOUNDS, event.seconds)] += 1
            self._seconds += event.seconds

    def observe_charge(self, event: EnergyChanged) -> None:
        self._charges[event.agent] = self._charges.get(event.agent, 0) + 1

    def observe_request(self, event: SubAgentReported) -> None:
        """Count a request once for each state that it reaches. Most reports are about progress within a state."""
        if self._request_states.get(event.request) == event.state:
            return
        self._request_states[event.request] = event.state
        if event.state in _ENDED:
            del self._request_states[event.request]
        key = event.agent, event.state
        self._requests[key] = self._requests.get(key, 0) + 1

    def collect(self) -> Iterator[Metric]:
        calls = CounterMetricFamily("doorward_calls", "Calls by status and code", labels=["status", "code"])
        for ending, count in self._calls.items():
            calls.add_metric(ending, count)
        yield calls
        seconds = HistogramMetricFamily("doorward_call_seconds", "Run time of commands in seconds")
        names = [*map(str, _BOUNDS), "+Inf"]
        seconds.add_metric([], list(zip(names, map(float, accumulate(self._buckets)), strict=True)), self._seconds)
        yield seconds
        yield GaugeMetricFamily("doorward_running", "Commands running now", value=self._running())
        yield GaugeMetricFamily("doorward_ledger_records", "Records in the ledger", value=self._ledger_records())
        yield GaugeMetricFamily("doorward_inflight_bytes", "Bytes of unanswered requests now", value=self._budget.held)
        yield GaugeMetricFamily(
            "doorward_inflight_bytes_peak", "Most bytes of unanswered requests since the start", value=self._budget.peak
        )

        yield from self._collect_effort()

    def _collect_effort(self) -> Iterator[Metric]:
        levels = GaugeMetricFamily("doorward_energy_level", "Energy of agents with effort", labels=["agent"])
        for agent, level in self._energy_levels().items():
            levels.add_metric([agent], level)
        yield levels
        charges = CounterMetricFamily("doorward_energy_charges", "Charges of energy by agent", labels=["agent"])
        for agent, count in self._charges.items():
            charges.add_metric([agent], count)
        yield charges
        requests = CounterMetricFamily(
            "doorward_subagent_requests", "Requests to sub-agents by state reached", labels=["agent", "state"]
        )
        for key, count in self._requests.items():
            requests.add_metric(key, count)
        yield requests

    def render(self) -> bytes:
        return generate_latest(self._registry)
