"""The model interface: a model takes a prompt with tools and streams an answer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, Literal, Protocol, runtime_checkable

import msgspec

from doorward.agents import tool_results
from doorward.core.command import Example
from doorward.core.escape_invisible import escape_invisible, to_storable
from doorward.store.collection_profiles import CollectionProfile

ModelFault = Literal["down", "slow", "rate_limited", "cut", "not_allowed", "bad_answer", "not_installed", "unknown"]


class ModelFailed(Exception):
    """The model gave no complete answer. The message is safe to show in a room: it holds no key and no address."""

    def __init__(self, fault: ModelFault, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.fault = fault
        self.message = message
        self.retry_after = retry_after


class ToolSpec(msgspec.Struct, frozen=True):
    """A command as models see it."""

    name: str
    """Its wire name, such as `data_list`."""
    description: str
    schema: Mapping[str, Any]
    command: str = ""
    """Its own name, such as `data/list`."""
    uses: tuple[Example, ...] = ()
    """Example requests with their parameters, for models that learn from examples."""
    reads_only: bool = False
    destroys: bool = False
    """Whether it can delete or overwrite data."""
    asks: bool = False
    """Whether it needs approval."""


class NativeCall(msgspec.Struct, frozen=True):
    """A native tool call; the arguments are the model's text, unparsed."""

    id: str
    name: str
    arguments: str
    in_text: bool = False
    """Whether the model wrote it as the text of an answer with a `shape`, where it could also copy a call."""


class ChatTurn(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of a conversation: a message, a call or a result."""

    role: Literal["user", "assistant", "result"]
    """`user` is everybody else in the room, `assistant` the agent itself, `result` the result of its call."""
    text: str
    """A result begins with `command: status.`, followed by the output between data marks."""
    speaker: str = ""
    """The sender, for a user."""
    calls: tuple[NativeCall, ...] = ()
    """The native calls of an assistant."""
    answers: str = ""
    """The id of the call, for a result."""
    tool: str = ""
    """The tool that was called, for a result."""
    marked: bool = False
    """Whether the data marks in a user's text are Doorward's own, as in the card of another AI's call."""
    full: str = ""
    """The whole result, if `text` is a short form of it for a small model."""

    @property
    def rendered_text(self) -> str:
        """The text as models read it: prefixed with the sender's name, further lines indented.

        Entries are shown one below the other, so no text may look like the start of another entry or like the output
        of a command.
        """
        text = to_storable(self.text) if self.marked else tool_results.escape_marks(to_storable(self.text))
        if not self.speaker or not text.strip():
            return text
        return f"{escape_invisible(self.speaker, lines=False)}: " + "\n  ".join(text.splitlines())


class UndoableChange(msgspec.Struct, frozen=True):
    """An earlier change of the same conversation that can be undone."""

    execution: str
    says: str
    """The command and its targets, in words."""


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """The complete input of a model for one answer."""

    instructions: str
    turns: tuple[ChatTurn, ...]
    tools: tuple[ToolSpec, ...] = ()
    most_tokens: int = 1_024
    """The longest answer, in tokens."""
    changes: tuple[UndoableChange, ...] = ()
    """The changes that `undo` can mean, newest first; for models that do not read the instructions."""
    folder: str | None = ""
    """The session's folder relative to the workspace, for the same models; None outside the workspace."""
    data: tuple[CollectionProfile, ...] = ()
    """The collections that the caller may list, for models that do not read the instructions and to build them."""
    files: tuple[str, ...] = ()
    """Files and folders (which end with /) beneath the session's folder, relative to it, for the same purpose."""
    shape: Mapping[str, Any] | None = None
    """The JSON schema of the whole answer, from `answer_shape.build_shape`, for models with `constrains`.

    The tools are then not offered natively: describe them in the instructions. A model that cannot keep to a shape
    is offered the tools instead.
    """


class TextPiece(msgspec.Struct, frozen=True):
    """The next piece of an answer's text."""

    text: str


class TokenUsage(msgspec.Struct, frozen=True):
    """The tokens of one answer, as the provider counted them."""

    input_tokens: int
    output_tokens: int
    dollars: float | None = None
    """The cost in US dollars; None if the price is not known."""


class NoAction(msgspec.Struct, frozen=True):
    """The model does not act on the request, and its text says why."""

    understood: bool = False
    """True if the model understood the request but may not or will not act; False if it did not understand."""


AnswerPiece = TextPiece | NativeCall | TokenUsage | NoAction


class Model(Protocol):
    name: str

    def answer(self, prompt: Prompt) -> AsyncIterator[AnswerPiece]:
        """Stream the answer. Closing the iterator ends the request. Raises only `ModelFailed`."""
        ...

    def count(self, text: str) -> int:
        """Return the tokens of a text for this model, or an upper bound."""
        ...


@runtime_checkable
class ConstrainedModel(Protocol):
    """A model whose answers can be constrained to a shape."""

    @property
    def constrains(self) -> bool:
        """Whether it keeps to the `shape` of a prompt, as far as known: by the settings, and by its last answer."""
        ...


@runtime_checkable
class SizedModel(Protocol):
    """A model that says whether it is small. Small models get a short context."""

    small: bool


class SuggestedStep(msgspec.Struct, frozen=True):
    """The next step for a request: a call or, if `command` is empty, an answer."""

    command: str = ""
    params: Mapping[str, Any] = {}
    answer: str = ""


@runtime_checkable
class SuggestingModel(Protocol):
    """A model that suggests steps to others without running them."""

    def suggest_step(self, prompt: Prompt) -> SuggestedStep | None:
        """Return the next step for a prompt; None unless the request is surely understood."""
        ...


@runtime_checkable
class LoadableModel(Protocol):
    """A model that must be loaded before it answers, which takes a while, and that has a limited context."""

    context: int
    """The size of its context in tokens, including the answer."""

    @property
    def loaded(self) -> bool: ...

    async def load(self) -> None:
        """Load the model. Raises only `ModelFailed`."""
        ...
