"""Prometheus metrics, fed by events."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from doorward.events import CommandExecuted, Event

CONTENT_TYPE = CONTENT_TYPE_LATEST


class Metrics:
    def __init__(self, running: Callable[[], int], ledger_records: Callable[[], int]) -> None:
        self._registry = CollectorRegistry()
        self._calls = Counter("doorward_calls", "Calls by how they ended", ["status", "code"], registry=self._registry)
        self._by_ending: dict[tuple[str, str], Counter] = {}
        """The counters by their labels, since finding one by its labels costs as much as a permission decision."""
        self._seconds = Histogram(
            "doorward_call_seconds",
            "How long commands ran",
            buckets=(0.001, 0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 30.0),
            registry=self._registry,
        )
        Gauge("doorward_running", "Commands running now", registry=self._registry).set_function(running)
        Gauge("doorward_ledger_records", "Records ever written", registry=self._registry).set_function(ledger_records)

    def observe(self, event: Event) -> None:
        if isinstance(event, CommandExecuted):
            ending = event.status, event.code
            counter = self._by_ending.get(ending)
            if counter is None:
                counter = self._by_ending[ending] = self._calls.labels(*ending)
            counter.inc()
            if event.status in ("done", "failed"):
                self._seconds.observe(event.seconds)

    def text(self) -> bytes:
        return generate_latest(self._registry)
