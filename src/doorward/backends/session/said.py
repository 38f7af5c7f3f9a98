"""What came of running a text in the session shell."""

from __future__ import annotations

from typing import Annotated, NotRequired, TypedDict

from msgspec import Meta, Struct

from doorward.model import Status


class StageSaid(TypedDict):
    """What became of one stage: a call of its own."""

    step: Annotated[int, Meta(description="Which line of the script it belongs to, from 1")]
    command: str
    status: Status
    exitCode: int
    call: Annotated[str, Meta(description="The call, as the record has it")]
    code: NotRequired[str]
    message: NotRequired[str]
    ticket: NotRequired[Annotated[str, Meta(description="The approval that it waits for")]]


class Said(Struct, kw_only=True):
    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0
    steps: list[StageSaid] = []
    bad: bool = False
    """Whether the last command failed; one that merely says no, as `grep` does, did not."""
    message: str = ""
    """Why, in a sentence."""
    code: str = ""
    """Why, for programs, where the last command was a call."""
    retry_after: float | None = None
    """In how many seconds the last command may be asked for again, where it was refused only for now."""
    ticket: str = ""
    """The approval that the last command waits for; empty when it waits for none."""
    leaves: bool = False
    """Whether the session is to be left, as `exit` asks for."""
