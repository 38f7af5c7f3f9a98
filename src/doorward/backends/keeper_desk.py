"""What commands can ask of the keeper: a form that the part of the house which thinks fills in.

Commands stand below the agents, so they know the keeper by this form alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired, Protocol, TypedDict

from msgspec import Meta

if TYPE_CHECKING:
    from doorward.backends.context import Context

Ended = Literal[
    "answered",
    "not_understood",
    "waiting",
    "not_approved",
    "turn_limit",
    "time_limit",
    "token_limit",
    "energy_limit",
    "model_failed",
]
FELL_SHORT: frozenset[Ended] = frozenset(("turn_limit", "time_limit", "token_limit", "energy_limit", "model_failed"))
"""Ends that are failures: it came to no answer, and only says what it did so far."""


class ToolCall(TypedDict):
    """One thing that the keeper did, with what it really gave and what really came of it."""

    name: Annotated[Literal["run_command", "read_file", "write_file"], Meta(description="Which of its tools it used")]
    input: Annotated[dict[str, Any], Meta(description="What it gave the tool")]
    output: Annotated[str, Meta(description="What came of it, as text")]
    status: Annotated[str, Meta(description="done, failed, refused or parked")]
    execution: Annotated[str, Meta(description="The call, as the record has it")]
    ticket: NotRequired[Annotated[str, Meta(description="The approval that it waits for, when it is parked")]]


class Answer(TypedDict):
    success: Annotated[bool, Meta(description="Whether what was asked for was done and answered")]
    response: Annotated[str, Meta(description="The answer in words")]
    toolCalls: list[ToolCall]
    error: NotRequired[Annotated[str, Meta(description="Why it was not done, in a sentence")]]
    ended: Annotated[Ended, Meta(description="How it came to its end, in one word")]
    sessionId: Annotated[str, Meta(description="Give it again to go on in the same session")]
    model: Annotated[str, Meta(description="What it thought with")]
    turns: Annotated[int, Meta(description="How often the model was asked")]
    notes: Annotated[list[str], Meta(description="What else should be known, such as that another model stood in")]


class Suggestion(TypedDict):
    """A call that would do what somebody wants; nothing of it has run."""

    command: str
    params: dict[str, Any]
    line: Annotated[str, Meta(description="The call as a person would type it in the session shell")]
    explanation: str
    score: Annotated[float, Meta(description="How sure it is, from 0 to 1")]
    reason: Annotated[str, Meta(description="What in the request speaks for it")]
    safety: str
    alternatives: list[str]


class KeeperDesk(Protocol):
    async def answer(
        self, ctx: Context, prompt: str, *, session: str = "", model: str = "", ticket: str = ""
    ) -> Answer:
        """Do what is asked for by calls inside this one, and say what was done."""
        ...

    async def suggest(self, ctx: Context, request: str, folder: str) -> Suggestion | None:
        """The one call that would do what is wanted, by somebody in this folder; None when it does not know."""
        ...
