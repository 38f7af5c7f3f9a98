"""The interfaces of the keeper and the models, as commands use them. The agents implement them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired, Protocol, TypedDict

from msgspec import Meta

if TYPE_CHECKING:
    from doorward.commands.context import Context

KeeperOutcome = Literal[
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
FAILED_OUTCOMES: frozenset[KeeperOutcome] = frozenset(
    ("turn_limit", "time_limit", "token_limit", "energy_limit", "model_failed")
)
"""Outcomes that count as failures: the keeper has no answer and only reports what it did so far."""


class KeeperToolCall(TypedDict):
    """One tool call of the keeper, with its real input and output."""

    name: Annotated[Literal["run_command", "read_file", "write_file"], Meta(description="The tool")]
    input: Annotated[dict[str, Any], Meta(description="The input of the tool")]
    output: Annotated[str, Meta(description="The output of the tool, as text")]
    status: Annotated[str, Meta(description="done, failed, refused or parked (waiting for approval)")]
    execution: Annotated[str, Meta(description="The id of the execution in the ledger")]
    ticket: NotRequired[Annotated[str, Meta(description="The approval that a parked call waits for")]]


class KeeperAnswer(TypedDict):
    success: Annotated[bool, Meta(description="Whether the request was carried out and answered")]
    response: Annotated[str, Meta(description="The answer in words")]
    toolCalls: list[KeeperToolCall]
    error: NotRequired[Annotated[str, Meta(description="Why the request failed, in a sentence")]]
    ended: Annotated[KeeperOutcome, Meta(description="How the run ended")]
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


class KeeperService(Protocol):
    async def answer(
        self, ctx: Context, prompt: str, *, session: str = "", model: str = "", ticket: str = ""
    ) -> KeeperAnswer:
        """Carry out a request with nested calls, and answer."""
        ...

    async def suggest(self, ctx: Context, request: str, folder: str) -> Suggestion | None:
        """Suggest the call that would carry out a request in this folder; None if the keeper does not know one."""
        ...


KeyState = Literal["there", "missing", "not needed"]


class ProviderFacts(TypedDict):
    provider: str
    kind: Annotated[
        str,
        Meta(description="The kind: house, openai, anthropic, local (a file) or tier (a name for another model)"),
    ]
    model: Annotated[
        str,
        Meta(description="The default model of the provider, which may be empty; for a local model, its own name"),
    ]
    where: Annotated[str, Meta(description="Its address, or `this process`")]
    key: Annotated[KeyState, Meta(description="Whether its API key is set; never the key itself")]
    problem: Annotated[str, Meta(description="Why it is not available; empty if no problem is known")]


class ModelTrial(TypedDict):
    model: str
    answers: Annotated[bool, Meta(description="Whether it answered")]
    said: Annotated[str, Meta(description="The start of its answer, or the error")]
    fault: Annotated[str, Meta(description="The kind of error; empty if it answered")]


class NamedModel(Protocol):
    @property
    def name(self) -> str: ...


class ModelService(Protocol):
    def providers(self) -> list[ProviderFacts]: ...

    def problem(self, name: str) -> str:
        """Why there is no model of this name; empty when there is one."""
        ...

    def instead_of(self, name: str) -> NamedModel | None:
        """The fallback for a model that is not available; None if there is none."""
        ...

    async def trial(self, name: str) -> ModelTrial: ...
