"""The interfaces of the keeper and the models, as commands use them. The agents implement them."""

from __future__ import annotations

from collections.abc import Callable
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
    dollars: NotRequired[Annotated[float, Meta(description="The cost in US dollars, if its price is known and not 0")]]
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


class PriceFacts(TypedDict):
    input: Annotated[float, Meta(description="US dollars per million tokens of the prompt")]
    output: Annotated[float, Meta(description="US dollars per million tokens of the answer")]


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
    price: Annotated[PriceFacts | None, Meta(description="The price of that model; null if it is not known")]
    context: Annotated[int | None, Meta(description="The context of that model in tokens; null if it is not known")]
    problem: Annotated[str, Meta(description="Why it is not available; empty if no problem is known")]


class TrialCheck(TypedDict):
    check: Annotated[str, Meta(description="What was tested")]
    right: bool
    problem: Annotated[str, Meta(description="What is wrong with the answer; empty if it is right")]
    said: Annotated[str, Meta(description="The start of the answer, or the call")]
    seconds: float
    inputTokens: Annotated[int | None, Meta(description="As the provider counted them; null if it did not")]
    outputTokens: int | None


class ModelTrial(TypedDict):
    model: str
    answers: Annotated[bool, Meta(description="Whether it answered every request")]
    said: Annotated[str, Meta(description="The start of its first answer, or the error")]
    fault: Annotated[str, Meta(description="The kind of error; empty if it answered")]
    checks: Annotated[list[TrialCheck], Meta(description="Each request and whether its answer is right")]
    dollars: Annotated[float | None, Meta(description="The cost in US dollars; null if it is not known")]


class AvailableModel(TypedDict):
    name: Annotated[str, Meta(description="The name for model/use; empty for a file that must be added first")]
    kind: Annotated[Literal["house", "server", "file", "service"], Meta(description="What runs it")]
    where: Annotated[str, Meta(description="The address, the file, or `this process`")]
    configured: Annotated[bool, Meta(description="Whether the settings name it, or its service")]
    isDefault: bool
    bytes: Annotated[int | None, Meta(description="The size of its file; null if it is not known")]
    parameters: Annotated[int | None, Meta(description="The number of its weights; null if it is not known")]
    context: Annotated[int | None, Meta(description="Its context in tokens; null if it is not known")]
    price: Annotated[PriceFacts | None, Meta(description="Its price; null if it is not known")]
    problem: Annotated[str, Meta(description="Why it is not available; empty if no problem is known")]


class KeyFacts(TypedDict):
    variable: Annotated[str, Meta(description="An environment variable of the server that is set; never its value")]
    provider: str
    configured: Annotated[bool, Meta(description="Whether its service can be used already")]


class AvailableModels(TypedDict):
    items: list[AvailableModel]
    keys: list[KeyFacts]
    default: Annotated[str, Meta(description="The model in models.default")]
    keeper: Annotated[str, Meta(description="The model in keeper.model; empty for the usual choice")]
    notes: Annotated[list[str], Meta(description="What was found that cannot be used, and why")]


class ModelUse(TypedDict):
    model: str
    was: Annotated[str, Meta(description="The default before")]
    file: Annotated[str, Meta(description="The settings file")]
    changed: Annotated[list[str], Meta(description="The settings that were changed")]
    notes: list[str]


class ModelAddition(TypedDict):
    model: Annotated[str, Meta(description="The name of the new model")]
    file: str
    bytes: int
    parameters: int | None
    context: Annotated[int, Meta(description="The context that is used, in tokens")]
    sha256: Annotated[str, Meta(description="The checksum, if it was downloaded or checked")]
    settings: Annotated[str, Meta(description="The settings file")]
    notes: list[str]


class NamedModel(Protocol):
    @property
    def name(self) -> str: ...


OnProgress = Callable[[float | None, str], None]
"""Receives the progress from 0 to 1 (None: unknown), and a message."""


class ModelSetup(Protocol):
    """Finds models on this machine, and writes the settings of models."""

    async def find(self) -> AvailableModels: ...

    async def use(self, ctx: Context, name: str) -> ModelUse: ...

    async def add(self, ctx: Context, source: str, name: str, sha256: str) -> ModelAddition: ...


class ModelService(Protocol):
    @property
    def setup(self) -> ModelSetup: ...

    def providers(self) -> list[ProviderFacts]: ...

    def problem(self, name: str) -> str:
        """Why there is no model of this name; empty when there is one."""
        ...

    def instead_of(self, name: str) -> NamedModel | None:
        """The fallback for a model that is not available; None if there is none."""
        ...

    async def trial(self, name: str, progress: OnProgress | None = None) -> ModelTrial: ...
