"""A model: something that is shown a conversation and tools, and answers in pieces."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, Literal, Protocol, runtime_checkable

import msgspec

from doorward.agents import data
from doorward.command import Example
from doorward.visible import storable, visible

Fault = Literal["down", "slow", "rate_limited", "cut", "not_allowed", "bad_answer", "not_installed", "unknown"]


class ModelFailed(Exception):
    """No answer, or none that is whole. The message is fit to be shown in a room: it holds no key and no address."""

    def __init__(self, fault: Fault, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.fault = fault
        self.message = message
        self.retry_after = retry_after


class Tool(msgspec.Struct, frozen=True):
    """A command as models are told of it."""

    name: str
    """Its wire name, such as `data_list`."""
    description: str
    schema: Mapping[str, Any]
    command: str = ""
    """Its own name, such as `data/list`."""
    uses: tuple[Example, ...] = ()
    """What people say when they want it, and the parameters that give it; for a model that learns from that."""
    reads_only: bool = False
    destroys: bool = False
    """Whether it can take away, or overwrite, what is there."""
    asks: bool = False
    """Whether a person is asked before it runs."""


class Asked(msgspec.Struct, frozen=True):
    """A native call, as a model asked for it; the arguments are what it wrote, unread."""

    id: str
    name: str
    arguments: str


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was said, asked for or found out."""

    role: Literal["user", "assistant", "result"]
    """`user` is everybody else in the room, `assistant` the persona itself, `result` what came of its call."""
    text: str
    """A result begins with `command: status.`; what the command gave stands behind it, between marks (`data.py`)."""
    speaker: str = ""
    """Who said it, when that is a user."""
    calls: tuple[Asked, ...] = ()
    """The calls that came with it, when that is the assistant."""
    answers: str = ""
    """The id of the call that it is the result of."""
    tool: str = ""
    """The tool that was called, when that is a result."""
    marked: bool = False
    """Whether the marks around data in it are ours, when that is a user: the call of another AI."""

    @property
    def spoken(self) -> str:
        """What somebody said, as models read it: behind the name, every further line indented.

        Several are shown one below the other, so nothing in one may look like the beginning of another, or like what
        a command gave.
        """
        text = storable(self.text) if self.marked else data.harmless(storable(self.text))
        if not self.speaker or not text.strip():
            return text
        return f"{visible(self.speaker, lines=False)}: " + "\n  ".join(text.splitlines())


class Change(msgspec.Struct, frozen=True):
    """What was done before in the same conversation, and can be taken back."""

    execution: str
    says: str
    """The command and what it changed, in words."""


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """All that a model is given for one answer."""

    instructions: str
    turns: tuple[Turn, ...]
    tools: tuple[Tool, ...] = ()
    most_tokens: int = 1_024
    """How long the answer may be."""
    changes: tuple[Change, ...] = ()
    """What `undo` could mean here, the newest first; for a model that is not told of it in words."""
    folder: str | None = ""
    """Where the session is below the workspace, for the same; empty for the workspace itself, None for elsewhere."""


class Text(msgspec.Struct, frozen=True):
    """The next piece of an answer's text."""

    text: str


class Spent(msgspec.Struct, frozen=True):
    """What an answer cost, as the provider counted it."""

    input_tokens: int
    output_tokens: int


class Lost(msgspec.Struct, frozen=True):
    """The model does nothing of what is asked, and its text says why; for one that can tell."""

    understood: bool = False
    """Whether it knows what is meant and may not do it, or holds back; otherwise it does not know how."""


Piece = Text | Asked | Spent | Lost


class Model(Protocol):
    name: str

    def answer(self, prompt: Prompt) -> AsyncIterator[Piece]:
        """The answer, piece by piece. Closing the iterator ends the request; only `ModelFailed` comes out of it."""
        ...

    def count(self, text: str) -> int:
        """How many tokens a text is for this model, or a number that is never less."""
        ...


@runtime_checkable
class Loads(Protocol):
    """A model that has to be loaded before it is asked, which takes a while, and that can be shown only so much."""

    context: int
    """How many tokens it can be shown, its answer included."""

    @property
    def loaded(self) -> bool: ...

    async def load(self) -> None:
        """Load it; only `ModelFailed` comes out of it."""
        ...
