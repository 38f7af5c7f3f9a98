"""Questions that go on from an earlier one: `and which of those are open`, `sort them by price`, `what about Anna`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from doorward.agents.house.record_reader import RecordReading
from doorward.agents.house.request_context import RequestContext


def read_followup(
    context: RequestContext, read: Callable[[RequestContext], Iterable[RecordReading]]
) -> Iterator[RecordReading]:
    """Return the readings of a request that narrows, sorts or changes the query before it."""
    yield from ()
