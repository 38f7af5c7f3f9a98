"""The executions of this process: those that wait or run, and recently ended ones with output."""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import Iterator

import msgspec

from doorward.config.settings import Settings
from doorward.core.clock import Clock
from doorward.core.events import Bus
from doorward.core.model import Call
from doorward.gate.executions.execution import Execution, ExecutionServices
from doorward.gate.executions.notices import Watcher

_MAX_ENDED = 200
_MAX_BYTES = 32_000_000


class ExecutionRegistry:
    """Live and recently ended executions. Older ones are in the ledger, without their output."""

    def __init__(
        self, clock: Clock, events: Bus, settings: Settings, loop: asyncio.AbstractEventLoop | None = None
    ) -> None:
        self._services = ExecutionServices(clock, events, settings.sandbox.output_bytes, loop)
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

    def open(self, call: Call, watch: Watcher | None = None, parent: Execution | None = None) -> Execution:
        execution = self._live[call.id] = Execution(call, self._services, watch, parent)
        return execution

    def create_unlisted(self, call: Call) -> Execution:
        """Create an unlisted execution for work beside the call, such as predicting its effect."""
        return Execution(call, self._services)

    def close(self, execution: Execution) -> None:
        """Remove an ended call from the live ones; keep it for a while if it has output."""
        del self._live[execution.call.id]
        if not execution.has_ended:
            execution.end("failed")
        execution.close()
        if execution.output is not None:
            self._keep(execution, execution.output.size)

    async def cancel_all(self, by: str, patience: float) -> None:
        """Cancel all live calls and wait up to `patience` seconds until they are recorded."""
        live = list(self._live.values())
        for execution in live:
            if not execution.is_cancelling:
                execution.cancel(by)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience):
                for execution in live:
                    await execution.wait_closed()

    def _keep(self, execution: Execution, size: int) -> None:
        """Keep an ended execution without its parameters, which may be large and are in the ledger."""
        execution.call = msgspec.structs.replace(execution.call, params={})
        self._ended[execution.call.id] = execution
        self._bytes += size
        while len(self._ended) > _MAX_ENDED or self._bytes > _MAX_BYTES:
            _, oldest = self._ended.popitem(last=False)
            self._bytes -= oldest.output.size if oldest.output is not None else 0
