"""The result of running a script in the session shell."""

from __future__ import annotations

from typing import Annotated, NotRequired, TypedDict

from msgspec import Meta, Struct

from doorward.model import Status


class StageSaid(TypedDict):
    """The result of one stage, which is a call of its own."""

    step: Annotated[int, Meta(description="The line of the script it belongs to, from 1")]
    command: str
    status: Status
    exitCode: int
    call: Annotated[str, Meta(description="The id of the call in the ledger")]
    code: NotRequired[str]
    message: NotRequired[str]
    ticket: NotRequired[Annotated[str, Meta(description="The ticket of the approval that it waits for")]]


class Said(Struct, kw_only=True):
    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0
    steps: list[StageSaid] = []
    bad: bool = False
    """Whether the last command failed. A negative answer, such as exit code 1 of `grep`, is not a failure."""
    message: str = ""
    """The reason of the failure."""
    code: str = ""
    """The error code of the failure, when the last command was a call."""
    retry_after: float | None = None
    """Seconds after which the last command may be retried, when its refusal is temporary."""
    ticket: str = ""
    """The ticket of the approval that the last command waits for; empty when it waits for none."""
    leaves: bool = False
    """Whether the shell should exit."""
