"""The executions of this process: those that wait or run, and recently ended ones with output."""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import Iterator

import msgspec

from doorward.clock import Clock
from doorward.events import Bus
from doorward.executions.execution import Execution, Means
from doorward.executions.notices import Watch
from doorward.model import Call
from doorward.settings import Settings

_MOST_KEPT = 200
_MOST_BYTES = 32_000_000


class Executions:
    """Live and recently ended executions. Older ones are in the ledger, without their output."""

    def __init__(
        self, clock: Clock, events: Bus, settings: Settings, loop: asyncio.AbstractEventLoop | None = None
    ) -> None:
        self._means = Means(clock, events, settings.sandbox.output_bytes, loop)
        self._live: dict[str, Execution] = {}
        self._ended: OrderedDict[str, Execution] = OrderedDict()
        self._bytes = 0

    def __contains__(self, id: str) -> bool:
        """Whether a call is live: it waits, runs, or is being recorded."""
        return id in self._live

    def __iter__(self) -> Iterator[Execution]:
        """Iterate over the live executions, newest first."""
        return reversed(self._live.values())

    def get(self, id: str) -> Execution | None:
        """Return a live execution, or a recently ended one with output."""
        return self._live.get(id) or self._ended.get(id)

    def open(self, call: Call, watch: Watch | None = None, parent: Execution | None = None) -> Execution:
        execution = self._live[call.id] = Execution(call, self._means, watch, parent)
        return execution

    def apart(self, call: Call) -> Execution:
        """Create an unlisted execution for work beside the call, such as predicting its effect."""
        return Execution(call, self._means)

    def close(self, execution: Execution) -> None:
        """Remove an ended call from the live ones; keep it for a while if it has output."""
        del self._live[execution.call.id]
        if not execution.ended:
            execution.end("failed")
        execution.close()
        if execution.written is not None:
            self._keep(execution, execution.written.size)

    async def stop(self, by: str, patience: float) -> None:
        """Cancel all live calls and wait up to `patience` seconds until they are recorded."""
        live = list(self._live.values())
        for execution in live:
            if not execution.is_being_stopped:
                execution.cancel(by)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience):
                for execution in live:
                    await execution.closed()

    def _keep(self, execution: Execution, size: int) -> None:
        """Keep an ended execution without its parameters, which may be large and are in the ledger."""
        execution.call = msgspec.structs.replace(execution.call, params={})
        self._ended[execution.call.id] = execution
        self._bytes += size
        while len(self._ended) > _MOST_KEPT or self._bytes > _MOST_BYTES:
            _, oldest = self._ended.popitem(last=False)
            self._bytes -= oldest.written.size if oldest.written is not None else 0
