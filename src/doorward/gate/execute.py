"""Step 8: run what a permit proves may run. The only place that calls a command's functions."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Generator
from types import CoroutineType
from typing import Any

import msgspec

from doorward.command import Foreseen, as_builtins
from doorward.errors import Broken, Cancelled, DoorwardError, TimedOut
from doorward.executions.execution import Execution, State, Unanswered
from doorward.gate.deadlines import Deadlines, Limit
from doorward.logs import SECRETS
from doorward.model import Permit

log = logging.getLogger(__name__)

ContextFor = Callable[[Permit, Execution | None], Any]
"""What a command is given; without an execution it only tells an effect."""


class Ending(msgspec.Struct, frozen=True):
    """How the command itself ended: a result, or an error."""

    result: Any = None
    error: DoorwardError | None = None
    cancelled: bool = False
    """Whether somebody stopped it, or the task that carried it."""

    @property
    def state(self) -> State:
        """The same as an execution says it."""
        if self.error is None:
            return "completed"
        if self.cancelled or isinstance(self.error, Cancelled):
            return "cancelled"
        return "timed_out" if isinstance(self.error, TimedOut) else "failed"


async def execute(permit: Permit, context_for: ContextFor, execution: Execution, deadlines: Deadlines) -> Ending:
    """Run the permitted command. Never raises; a cancelled task ends as Cancelled."""
    call = permit.call
    work = call.command(context_for(permit, execution), call.params)
    ending = await _within_time(permit, deadlines, work, task=execution.task)
    if ending.cancelled and execution.cancelled_by:
        by = Cancelled(f"{call.command.name} was cancelled by {execution.cancelled_by}.")
        return Ending(error=by, cancelled=True)
    if execution.unanswered is not None and isinstance(ending.error, TimedOut):
        return Ending(error=_nobody_answered(permit, execution.unanswered))
    return ending


async def preview(permit: Permit, context_for: ContextFor, deadlines: Deadlines) -> Ending:
    """Run what tells the command's effect, which changes nothing."""
    call = permit.call
    if call.command.effect is None:
        raise TypeError(f"{call.command.name} cannot tell its effect")
    arguments = {call.command.arguments[key]: value for key, value in call.params.items()}
    return await _within_time(permit, deadlines, call.command.effect(context_for(permit, None), **arguments))


async def foresee(permit: Permit, context_for: ContextFor, deadlines: Deadlines) -> Foreseen | None:
    """What the command would do, for people to approve; changes nothing. None when it cannot be known beforehand."""
    call = permit.call
    if call.command.foresee is None:
        return None
    arguments = {call.command.arguments[key]: value for key, value in call.params.items()}
    work = call.command.foresee(context_for(permit, None), **arguments)
    ending = await _within_time(permit, deadlines, work, lambda foreseen: foreseen)
    if ending.cancelled:
        raise asyncio.CancelledError
    if ending.error is not None:
        return Foreseen(None, f"What it would change could not be worked out: {ending.error.message}")
    return msgspec.convert(ending.result, Foreseen | None)


async def _within_time(
    permit: Permit,
    deadlines: Deadlines,
    work: Awaitable[Any],
    shape: Callable[[Any], Any] = as_builtins,
    task: asyncio.Task[Any] | None = None,
) -> Ending:
    call = permit.call
    limit: Limit | None = None
    try:
        if type(work) is CoroutineType:
            work = _Begun(work)
            if work.over:
                return Ending(shape(work.result))
        with Limit(deadlines, task or _this_task(), permit.timeout) as limit:
            return Ending(shape(await work))
    except DoorwardError as error:
        return Ending(error=error)
    except asyncio.CancelledError:
        return Ending(error=Cancelled(f"{call.command.name} was cancelled."), cancelled=True)
    except Exception:
        if limit is not None and limit.expired:
            return Ending(
                error=TimedOut(f"{call.command.name} was stopped after {permit.timeout:g} s, the most it may take.")
            )
        log.exception("call %s (%s) broke", call.id, call.command.name, extra={SECRETS: call.secrets})
        return Ending(
            error=Broken(
                f"{call.command.name} failed because of a defect in Doorward; the log has the details under {call.id}."
            )
        )


def _nobody_answered(permit: Permit, question: Unanswered) -> TimedOut:
    seconds = min(permit.timeout, question.seconds)
    return TimedOut(
        f"{permit.call.command.name} was stopped after {seconds:g} s, the most it may take: the server"
        f" {question.server} asked something meanwhile, and nobody answered.",
        hint="Questions that wait are shown by `doorward approvals questions`; a larger timeoutSeconds in the server's"
        " entry gives people more time.",
    )


def _this_task() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    if task is None:
        raise RuntimeError("a command runs in a task, or nobody could stop it")
    return task


class _Begun:
    """Work whose first step is taken. Most commands that only look something up are over with it, and a command that
    waits for nothing needs no timer, which costs more than the rest of such a command."""

    __slots__ = ("_awaited", "_work", "over", "result")

    def __init__(self, work: Coroutine[Any, Any, Any]) -> None:
        self._work = work
        self._awaited: Any = None
        self.over = False
        self.result: Any = None
        try:
            self._awaited = work.send(None)
        except StopIteration as end:
            self.over = True
            self.result = end.value

    def __await__(self) -> Generator[Any, Any, Any]:
        """The rest of it; whatever comes in from outside, a cancellation too, is passed on to the work."""
        awaited = self._awaited
        while True:
            try:
                try:
                    given = yield awaited
                except BaseException as error:  # noqa: BLE001 - it is the work's to deal with
                    awaited = self._work.throw(error)
                else:
                    awaited = self._work.send(given)
            except StopIteration as end:
                return end.value
