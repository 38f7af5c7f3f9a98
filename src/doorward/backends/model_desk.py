"""What commands can ask about models: a form that the part of the house which knows them fills in.

Commands stand below the agents, so they know models by this form alone.
"""

from __future__ import annotations

from typing import Annotated, Literal, Protocol, TypedDict

from msgspec import Meta

Key = Literal["there", "missing", "not needed"]


class ProviderFacts(TypedDict):
    provider: str
    kind: Annotated[
        str,
        Meta(description="How it is asked: house, openai, anthropic, local (a file) or tier (a name for another)"),
    ]
    model: Annotated[
        str,
        Meta(description="The model that is meant where it is named alone; may be empty. Of a local one, its own name"),
    ]
    where: Annotated[str, Meta(description="Its address, or `this process`")]
    key: Annotated[Key, Meta(description="Whether its key is there; never the key itself")]
    problem: Annotated[str, Meta(description="Why it cannot be asked now; empty when nothing is known against it")]


class ModelTrial(TypedDict):
    model: str
    answers: Annotated[bool, Meta(description="Whether it answered")]
    said: Annotated[str, Meta(description="The beginning of its answer, or what is wrong")]
    fault: Annotated[str, Meta(description="The kind of what is wrong; empty when it answered")]


class Named(Protocol):
    @property
    def name(self) -> str: ...


class ModelDesk(Protocol):
    def providers(self) -> list[ProviderFacts]: ...

    def problem(self, name: str) -> str:
        """Why there is no model of this name; empty when there is one."""
        ...

    def instead_of(self, name: str) -> Named | None:
        """The model that answers where the one of this name cannot be asked; None where none does."""
        ...

    async def trial(self, name: str) -> ModelTrial: ...
