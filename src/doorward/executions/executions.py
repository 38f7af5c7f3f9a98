"""The calls of this process that wait or run, and for a short while those that ended and had something to say."""

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
    """Whatever is not here any more is in the ledger, without its output."""

    def __init__(
        self, clock: Clock, events: Bus, settings: Settings, loop: asyncio.AbstractEventLoop | None = None
    ) -> None:
        self._means = Means(clock, events, settings.sandbox.output_bytes, loop)
        self._live: dict[str, Execution] = {}
        self._ended: OrderedDict[str, Execution] = OrderedDict()
        self._bytes = 0

    def __contains__(self, id: str) -> bool:
        """Whether this call is live: it waits, it runs, or its end is being recorded."""
        return id in self._live

    def __iter__(self) -> Iterator[Execution]:
        """The live ones, newest first."""
        return reversed(self._live.values())

    def get(self, id: str) -> Execution | None:
        """A live one, or one that ended a short while ago with output."""
        return self._live.get(id) or self._ended.get(id)

    def open(self, call: Call, watch: Watch | None = None, parent: Execution | None = None) -> Execution:
        execution = self._live[call.id] = Execution(call, self._means, watch, parent)
        return execution

    def apart(self, call: Call) -> Execution:
        """For work that is not the call itself, such as telling its effect: nobody can see or stop it by its id."""
        return Execution(call, self._means)

    def close(self, execution: Execution) -> None:
        """The call is over and whatever record it leaves is on its way; keep it if there is output to read."""
        del self._live[execution.call.id]
        if not execution.ended:
            execution.end("failed")
        execution.close()
        if execution.written is not None:
            self._keep(execution, execution.written.size)

    async def stop(self, by: str, patience: float) -> None:
        """Cancel whatever still waits or runs, and wait until it has its record, for no longer than `patience`."""
        live = list(self._live.values())
        for execution in live:
            if not execution.is_being_stopped:
                execution.cancel(by)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience):
                for execution in live:
                    await execution.closed()

    def _keep(self, execution: Execution, size: int) -> None:
        """Its parameters may be large and are in the ledger, so only the rest of the call stays."""
        execution.call = msgspec.structs.replace(execution.call, params={})
        self._ended[execution.call.id] = execution
        self._bytes += size
        while len(self._ended) > _MOST_KEPT or self._bytes > _MOST_BYTES:
            _, oldest = self._ended.popitem(last=False)
            self._bytes -= oldest.written.size if oldest.written is not None else 0
