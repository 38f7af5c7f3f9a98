"""Step 8: run a permitted call. The only place that calls a command's functions."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Generator
from types import CoroutineType
from typing import Any

import msgspec

from doorward.core.command import to_builtins
from doorward.core.effect_preview import EffectPreview
from doorward.core.errors import Broken, Cancelled, Conflict, DoorwardError, Refused, TimedOut
from doorward.core.logs import SECRETS
from doorward.core.model import Admitted, Permit
from doorward.gate.deadlines import Deadlines, TimeLimit
from doorward.gate.drafts import Drafts
from doorward.gate.executions.execution import Execution, ExecutionState, OpenQuestion

log = logging.getLogger(__name__)

ContextFor = Callable[[Admitted, Execution | None], Any]
"""Makes the context that a command gets. Without an execution, the command only previews its effect."""


class Ending(msgspec.Struct, frozen=True):
    """How the command itself ended: with a result or an error."""

    result: Any = None
    error: DoorwardError | None = None
    cancelled: bool = False
    """Whether the call, or the task that ran it, was cancelled."""

    @property
    def state(self) -> ExecutionState:
        """The final state of the execution."""
        if self.error is None:
            return "completed"
        if self.cancelled or isinstance(self.error, Cancelled):
            return "cancelled"
        return "timed_out" if isinstance(self.error, TimedOut) else "failed"


class Executor:
    """Runs commands, each within its time limit."""

    def __init__(self, context_for: ContextFor, drafts: Drafts) -> None:
        self._context_for = context_for
        self._drafts = drafts
        self._deadlines = Deadlines()

    async def execute(self, permit: Permit, execution: Execution) -> Ending:
        """Run the permitted command. Never raises; a cancelled task ends as Cancelled."""
        call = permit.call
        if call.draft:
            return await self._execute_in_draft(permit, execution)
        return await self._execute(permit, execution)

    async def _execute_in_draft(self, permit: Permit, execution: Execution) -> Ending:
        call = permit.call
        try:
            await self._drafts.prepare(call)
        except DoorwardError as error:
            return Ending(error=error)
        except asyncio.CancelledError:
            return Ending(error=Cancelled(f"{call.command.name} was cancelled."), cancelled=True)
        self._drafts.begin(call)
        try:
            return await self._execute(permit, execution)
        finally:
            await self._drafts.end(call)

    async def _execute(self, permit: Permit, execution: Execution) -> Ending:
        call = permit.call
        work = call.command(self._context_for(permit, execution), call.params)
        ending = await self._within_time(permit, work, execution=execution)
        if ending.cancelled and execution.cancelled_by:
            by = Cancelled(f"{call.command.name} was cancelled by {execution.cancelled_by}.")
            return Ending(error=by, cancelled=True)
        if execution.open_question is not None and isinstance(ending.error, TimedOut):
            return Ending(error=_question_expired(permit, execution.open_question))
        return ending

    async def preview(self, admitted: Admitted) -> Ending:
        """Preview the effect of a call for a dry run. Changes nothing."""
        call = admitted.call
        if call.command.effect is None:
            raise TypeError(f"{call.command.name} cannot preview its effect")
        if call.draft:
            try:
                await self._drafts.prepare(call)
            except DoorwardError as error:
                return Ending(error=error)
        arguments = {call.command.arguments[key]: value for key, value in call.params.items()}
        return await self._within_time(admitted, call.command.effect(self._context_for(admitted, None), **arguments))

    async def preview_for_approval(self, admitted: Admitted) -> EffectPreview | None:
        """Preview the effect of a call for its approvers. Changes nothing. None when the effect cannot be known.

        For a command that needs a preview, the error of the preview is raised, as a refusal.
        """
        call = admitted.call
        if call.command.preview is None:
            return None
        if call.draft:
            await self._drafts.prepare(call)
        arguments = {call.command.arguments[key]: value for key, value in call.params.items()}
        work = call.command.preview(self._context_for(admitted, None), **arguments)
        ending = await self._within_time(admitted, work, lambda foreseen: foreseen)
        if ending.cancelled:
            raise asyncio.CancelledError
        if ending.error is not None and call.command.needs_preview:
            if isinstance(ending.error, Refused):
                raise ending.error
            raise Conflict(f"{ending.error.message} So there is nothing to approve.", hint=ending.error.hint)
        if ending.error is not None:
            return EffectPreview(None, f"The effect could not be previewed: {ending.error.message}")
        return msgspec.convert(ending.result, EffectPreview | None)

    async def _within_time(
        self,
        admitted: Admitted,
        work: Awaitable[Any],
        shape: Callable[[Any], Any] = to_builtins,
        execution: Execution | None = None,
    ) -> Ending:
        call = admitted.call
        limit: TimeLimit | None = None
        try:
            if type(work) is CoroutineType:
                work = _StartedCoroutine(work)
                if work.is_done:
                    return Ending(shape(work.result))
            task = execution.task if execution is not None else _this_task()
            with TimeLimit(self._deadlines, task, admitted.timeout) as limit:
                if execution is not None:
                    execution.time_limit = limit
                return Ending(shape(await work))
        except DoorwardError as error:
            return Ending(error=error)
        except asyncio.CancelledError:
            return Ending(error=Cancelled(f"{call.command.name} was cancelled."), cancelled=True)
        except Exception:
            if limit is not None and limit.expired:
                return Ending(
                    error=TimedOut(f"{call.command.name} was stopped at its time limit of {admitted.timeout:g} s.")
                )
            log.exception("call %s (%s) broke", call.id, call.command.name, extra={SECRETS: call.secrets})
            return Ending(
                error=Broken(
                    f"{call.command.name} failed because of a defect in Doorward. The log has details under {call.id}."
                )
            )


def _question_expired(permit: Permit, question: OpenQuestion) -> TimedOut:
    seconds = min(permit.timeout, question.seconds)
    return TimedOut(
        f"{permit.call.command.name} was stopped at its time limit of {seconds:g} s while the server"
        f" {question.server} waited for an answer to a question.",
        hint="`doorward approvals questions` lists questions that wait. A larger timeoutSeconds in the server's entry"
        " gives people more time.",
    )


def _this_task() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    if task is None:
        raise RuntimeError("a command must run in a task, so that it can be cancelled")
    return task


class _StartedCoroutine:
    """A coroutine whose first step has run. Most lookups finish in that step and so need no timer, which would cost
    more than the rest of the call."""

    __slots__ = ("_awaited", "_work", "is_done", "result")

    def __init__(self, work: Coroutine[Any, Any, Any]) -> None:
        self._work = work
        self._awaited: Any = None
        self.is_done = False
        self.result: Any = None
        try:
            self._awaited = work.send(None)
        except StopIteration as end:
            self.is_done = True
            self.result = end.value

    def __await__(self) -> Generator[Any, Any, Any]:
        """Run the rest. Exceptions from outside, cancellation included, are passed on to the coroutine."""
        awaited = self._awaited
        while True:
            try:
                try:
                    given = yield awaited
                except BaseException as error:  # noqa: BLE001 - the coroutine handles it
                    awaited = self._work.throw(error)
                else:
                    awaited = self._work.send(given)
            except StopIteration as end:
                return end.value
