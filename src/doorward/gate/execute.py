"""Step 8: run what a permit proves may run. The only place that calls a command's functions."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from doorward import redact
from doorward.errors import Broken, Cancelled, DoorwardError, TimedOut
from doorward.logs import SECRETS
from doorward.model import Permit

log = logging.getLogger(__name__)

ContextFor = Callable[[Permit], Any]


class Ending(msgspec.Struct, frozen=True):
    """How the command itself ended: a result, or an error."""

    result: Any = None
    error: DoorwardError | None = None


async def execute(permit: Permit, context_for: ContextFor) -> Ending:
    """Run the permitted command. Never raises; a cancelled task ends as Cancelled."""
    return await _within_time(permit, permit.call.command(context_for(permit), permit.call.params))


async def preview(permit: Permit, context_for: ContextFor) -> Ending:
    """Run what tells the command's effect, which changes nothing."""
    call = permit.call
    if call.command.effect is None:
        raise TypeError(f"{call.command.name} cannot tell its effect")
    arguments = {call.command.arguments[key]: value for key, value in call.params.items()}
    return await _within_time(permit, call.command.effect(context_for(permit), **arguments))


async def _within_time(permit: Permit, work: Awaitable[Any]) -> Ending:
    call = permit.call
    try:
        async with asyncio.timeout(permit.timeout) as limit:
            return Ending(msgspec.to_builtins(await work))
    except DoorwardError as error:
        return Ending(error=error)
    except asyncio.CancelledError:
        return Ending(error=Cancelled(f"{call.command.name} was cancelled."))
    except Exception:
        if limit.expired():
            return Ending(
                error=TimedOut(f"{call.command.name} was stopped after {permit.timeout:g} s, the most it may take.")
            )
        known = redact.secrets(call.params, call.command.secret)
        log.exception("call %s (%s) broke", call.id, call.command.name, extra={SECRETS: known})
        return Ending(
            error=Broken(
                f"{call.command.name} failed because of a defect in Doorward; the log has the details under {call.id}."
            )
        )
