"""A call inside a call, for commands that do all their work by others: the result, or the error that came of it.

Whatever a virtual file shows or changes, another command shows or changes, asked for by the same caller in the same
room. So nothing can be reached by way of the tree that could not be reached without it.
"""

from __future__ import annotations

from typing import Any

from doorward import errors
from doorward.backends.context import Context
from doorward.errors import CommandFailed, DoorwardError
from doorward.model import Outcome

_BY_CODE: dict[str, type[DoorwardError]] = {leaf.code: leaf for leaf in errors.leaves()}


class Waits(CommandFailed):
    """An inner call waits for a person; what stands behind it was not done."""

    def __init__(self, outcome: Outcome) -> None:
        self.ticket = outcome.ticket
        self.command = outcome.command
        super().__init__(
            f"{outcome.command} waits for a person's approval, ticket {outcome.ticket}; it was not done yet.",
            hint=f"Once it is approved, ask for {outcome.command} again with that ticket; it then runs as shown.",
            rule=outcome.rule,
            result={"ticket": outcome.ticket, "command": outcome.command},
        )


async def asked(ctx: Context, command: str, /, **params: Any) -> Any:
    """What a call inside this one gives; what it refuses or fails with is raised as it is."""
    return result_of(await ctx.house.ask(ctx.call, command, params))


async def done_by(ctx: Context, command: str, /, **params: Any) -> tuple[Any, str]:
    """The same, with the id of the inner call, by which a change can be taken back."""
    outcome = await ctx.house.ask(ctx.call, command, params)
    return result_of(outcome), outcome.call


def result_of(outcome: Outcome) -> Any:
    if outcome.status == "done":
        return outcome.result
    if outcome.status == "parked":
        raise Waits(outcome)
    raise _BY_CODE.get(outcome.code, CommandFailed)(
        outcome.message,
        hint=outcome.hint,
        retry_after=outcome.retry_after,
        rule=outcome.rule,
        result=outcome.result,
    )
