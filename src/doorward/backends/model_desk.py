"""The interface of the models, as commands use it. The agents implement it; commands must not import them."""

from __future__ import annotations

from typing import Annotated, Literal, Protocol, TypedDict

from msgspec import Meta

Key = Literal["there", "missing", "not needed"]


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
    key: Annotated[Key, Meta(description="Whether its API key is set; never the key itself")]
    problem: Annotated[str, Meta(description="Why it is not available; empty if no problem is known")]


class ModelTrial(TypedDict):
    model: str
    answers: Annotated[bool, Meta(description="Whether it answered")]
    said: Annotated[str, Meta(description="The start of its answer, or the error")]
    fault: Annotated[str, Meta(description="The kind of error; empty if it answered")]


class Named(Protocol):
    @property
    def name(self) -> str: ...


class ModelDesk(Protocol):
    def providers(self) -> list[ProviderFacts]: ...

    def problem(self, name: str) -> str:
        """Why there is no model of this name; empty when there is one."""
        ...

    def instead_of(self, name: str) -> Named | None:
        """The fallback for a model that is not available; None if there is none."""
        ...

    async def trial(self, name: str) -> ModelTrial: ...
