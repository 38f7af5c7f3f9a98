"""Steps 7 to 11: store the start, execute, settle energy, store the end, publish."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from doorward.config.settings import Settings
from doorward.core.clock import Clock
from doorward.core.errors import Cancelled, Conflict, NotApproved, Unrecorded
from doorward.core.model import Outcome, Permit
from doorward.gate import outcomes, permit, result_text
from doorward.gate.cache import ResultCache
from doorward.gate.energy import Energy
from doorward.gate.executor import Ending, Executor
from doorward.gate.publisher import Publisher
from doorward.gate.recorder import Recorder
from doorward.gate.run import Run
from doorward.gate.throttle import Throttle
from doorward.store import long_results
from doorward.store.sqlite import Statement

T = TypeVar("T")


class Runner:
    def __init__(
        self,
        energy: Energy,
        throttle: Throttle,
        recorder: Recorder,
        publisher: Publisher,
        executor: Executor,
        clock: Clock,
        settings: Settings,
    ) -> None:
        self._energy = energy
        self._throttle = throttle
        self._recorder = recorder
        self._publisher = publisher
        self._executor = executor
        self._clock = clock
        self._limits = settings.limits
        self._cache = ResultCache(clock)
        self._kept: set[asyncio.Task[Any]] = set()

    async def run(self, run: Run) -> Outcome:
        """Run an admitted call to its end. The end record is stored even when the caller hangs up."""
        call, execution = run.call, run.execution
        if not run.place.try_take():
            await self._wait_for_turn(run)
        may_cache = run.may_cache and run.approval is None and self._cache.may_hold(call)
        cached = self._cache.get(call) if may_cache else None
        if cached is not None:
            execution.end("completed")
            return await self._finish(run, Ending(cached[0]), None)
        permitted = await (self._start(run) if run.records_start else permit.issue(run, self._recorder))
        if isinstance(permitted, Outcome):
            return permitted
        execution.begin()
        if run.records_start:
            execution.announce()
        self._throttle.note(call)
        ending = await self._executor.execute(permitted, execution)
        execution.end(ending.state)
        outcome = await self._finish(run, ending, execution.seconds)
        if not execution.claim_cancellation() and ending.cancelled:
            raise asyncio.CancelledError
        if may_cache and ending.error is None:
            self._cache.put(call, ending.result)
        return outcome

    async def settled(self) -> None:
        """Wait until every abandoned call has its end record."""
        await asyncio.gather(*self._kept)

    def keep(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run the work as a task that goes on when its waiter is cancelled."""
        task = asyncio.ensure_future(work)
        self._kept.add(task)
        task.add_done_callback(self._kept.discard)
        return task

    async def _wait_for_turn(self, run: Run) -> None:
        """Wait for a place to run. A call that is cancelled by id meanwhile is withdrawn: nothing ran."""
        run.execution.queue()
        try:
            await run.place.wait()
        except asyncio.CancelledError:
            run.execution.end("cancelled")
            if run.execution.claim_cancellation():
                raise outcomes.withdrawn(run.execution) from None
            raise

    async def _start(self, run: Run) -> Permit | Outcome:
        """Store the start and use the approval up, in one write. A caller that hangs up meanwhile leaves an end record.

        Gives the outcome instead of a permit when the call was cancelled by id before it could begin.
        """
        issuing = asyncio.ensure_future(permit.issue(run, self._recorder))
        try:
            return await asyncio.shield(issuing)
        except Conflict as conflict:
            raise NotApproved(conflict.message, hint="Run the call again without the ticket.") from conflict
        except asyncio.CancelledError:
            run.execution.end("cancelled")
            outcome = await asyncio.shield(self.keep(self._abandon(run, issuing)))
            if not run.execution.claim_cancellation():
                raise
            if outcome is None:
                raise outcomes.withdrawn(run.execution) from None
            return outcome

    async def _abandon(self, run: Run, issuing: asyncio.Future[Permit]) -> Outcome | None:
        """End a call that was cancelled while its start was stored. None when the start could not be stored."""
        await asyncio.wait([issuing])
        if issuing.exception() is not None:
            return None
        by = f" by {run.execution.cancelled_by}" if run.execution.cancelled_by else ""
        gone = Cancelled(f"{run.call.command.name} was cancelled{by} before it began.")
        return await self._finish(run, Ending(error=gone, cancelled=True), None)

    async def _finish(self, run: Run, ending: Ending, seconds: float | None) -> Outcome:
        """Settle the energy, store the end, publish. `seconds` is None when the command itself did not run."""
        call, execution, error = run.call, run.execution, ending.error
        charge = self._energy.settle(call, run.reservation, None if seconds is None else execution.own_seconds)
        also: list[Statement] = []
        is_keeper = call.command.facts.runs_agent
        if error is not None:
            text = result_text.render_failure(error, thought=is_keeper)
        else:
            text = result_text.render_result(ending.result, thought=is_keeper)
        full_text = text
        if error is not None and error.result is None and execution.output is not None:
            full_text = f"{text}\n{execution.output.text('output')}"
            error.hint = error.hint or f"To read its output: execution/output --execution={call.id}"
        most = self._limits.result_characters
        if error is not None:
            outcome = outcomes.failed(call, error, text, most)
        else:
            outcome = outcomes.done(run.admitted, ending.result, text, most, cached=seconds is None)
        if outcome.truncated or full_text is not text:
            also.append(long_results.store_result(call, full_text, self._clock.now()))
        try:
            await self._recorder.end(
                run,
                *also,
                status=outcome.status,
                code=outcome.code,
                note=result_text.record_note(error, ending.result, thought=is_keeper),
                charge=charge,
                duration=round((seconds or 0.0) * 1_000_000),
            )
        except Unrecorded as unrecorded:
            return outcomes.failed(call, unrecorded, result_text.render_failure(unrecorded), most)
        self._throttle.note_end(call, outcome, execution)
        self._publisher.answered(call, outcome, seconds or 0.0)
        self._publisher.ended(execution, seconds or 0.0)
        return outcome
