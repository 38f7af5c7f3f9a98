"""The interface of the keeper, as commands use it. The agents implement it; commands must not import them."""

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
"""Outcomes that count as failures: the keeper has no answer and only reports what it did so far."""


class ToolCall(TypedDict):
    """One tool call of the keeper, with its real input and output."""

    name: Annotated[Literal["run_command", "read_file", "write_file"], Meta(description="The tool")]
    input: Annotated[dict[str, Any], Meta(description="The input of the tool")]
    output: Annotated[str, Meta(description="The output of the tool, as text")]
    status: Annotated[str, Meta(description="done, failed, refused or parked (waiting for approval)")]
    execution: Annotated[str, Meta(description="The id of the execution in the ledger")]
    ticket: NotRequired[Annotated[str, Meta(description="The approval that a parked call waits for")]]


class Answer(TypedDict):
    success: Annotated[bool, Meta(description="Whether the request was carried out and answered")]
    response: Annotated[str, Meta(description="The answer in words")]
    toolCalls: list[ToolCall]
    error: NotRequired[Annotated[str, Meta(description="Why the request failed, in a sentence")]]
    ended: Annotated[Ended, Meta(description="How the run ended")]
    sessionId: Annotated[str, Meta(description="Pass it as `session` to continue in the same session")]
    model: Annotated[str, Meta(description="The model that was used")]
    turns: Annotated[int, Meta(description="The number of model requests")]
    notes: Annotated[list[str], Meta(description="Further remarks, such as that a fallback model was used")]


class Suggestion(TypedDict):
    """A call that would carry out a request. It has not run."""

    command: str
    params: dict[str, Any]
    line: Annotated[str, Meta(description="The call as a line for the session shell")]
    explanation: str
    score: Annotated[float, Meta(description="Confidence from 0 to 1")]
    reason: Annotated[str, Meta(description="Which words of the request match")]
    safety: str
    alternatives: list[str]


class KeeperDesk(Protocol):
    async def answer(
        self, ctx: Context, prompt: str, *, session: str = "", model: str = "", ticket: str = ""
    ) -> Answer:
        """Carry out a request with nested calls, and answer."""
        ...

    async def suggest(self, ctx: Context, request: str, folder: str) -> Suggestion | None:
        """Suggest the call that would carry out a request in this folder; None if the keeper does not know one."""
        ...
