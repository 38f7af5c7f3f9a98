"""Inner calls for commands that do all their work by other commands: return the result or raise the error.

Each inner call is made by the same caller in the same room, so the virtual tree gives no access that the caller would
not have without it.
"""

from __future__ import annotations

from typing import Any

from doorward.commands.context import Context
from doorward.core import errors
from doorward.core.errors import CommandFailed, DoorwardError
from doorward.core.model import Outcome

_BY_CODE: dict[str, type[DoorwardError]] = {leaf.code: leaf for leaf in errors.concrete_errors()}


class InnerCallWaiting(CommandFailed):
    """An inner call is waiting for approval; later steps were not run."""

    def __init__(self, outcome: Outcome) -> None:
        self.ticket = outcome.ticket
        self.command = outcome.command
        super().__init__(
            f"{outcome.command} is waiting for approval, ticket {outcome.ticket}; it was not run yet.",
            hint=f"When it is approved, run {outcome.command} again with this ticket; it then runs as shown.",
            rule=outcome.rule,
            result={"ticket": outcome.ticket, "command": outcome.command},
        )


async def call_inner(ctx: Context, command: str, /, **params: Any) -> Any:
    """Make an inner call and return its result; a refusal or failure is raised unchanged."""
    return unwrap_outcome(await ctx.services.run_nested(ctx.call, command, params))


async def call_inner_with_id(ctx: Context, command: str, /, **params: Any) -> tuple[Any, str]:
    """Make an inner call; return its result and its id, which undo needs."""
    outcome = await ctx.services.run_nested(ctx.call, command, params)
    return unwrap_outcome(outcome), outcome.call


def unwrap_outcome(outcome: Outcome) -> Any:
    if outcome.status == "done":
        return outcome.result
    if outcome.status == "parked":
        raise InnerCallWaiting(outcome)
    raise _BY_CODE.get(outcome.code, CommandFailed)(
        outcome.message,
        hint=outcome.hint,
        retry_after=outcome.retry_after,
        rule=outcome.rule,
        result=outcome.result,
    )
