"""All models of the house, by name."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import cast

from doorward import settings
from doorward.agents.models.keys import key_of
from doorward.agents.models.model import Model, ModelFailed, Piece, Prompt, Text, Turn
from doorward.agents.models.provider import Provider, configured
from doorward.agents.models.remote import RemoteModel
from doorward.agents.models.rest import Rest, seconds
from doorward.agents.models.standin import StandIn
from doorward.backends.model_desk import Key, ModelTrial, ProviderFacts
from doorward.upstream.web import public
from doorward.visible import visible

HOUSE = "house"
DEFAULT = "default"
INSTALL = "pip install 'doorward[models]'"
_MODEL_NAME = re.compile(r"[\x21-\x7e]{1,200}")
_KEPT = 1_000
"""Names that are kept with what was learned of their tokens; a name is a person's, so there are few."""


class Models:
    """Finds a model by its name: `house`, `default`, a provider's name, or `provider:model`."""

    def __init__(
        self,
        given: settings.Models,
        environment: Mapping[str, str] | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = given
        self._environment = os.environ if environment is None else environment
        self._providers = configured(given, self._environment)
        self._now = now
        self._house = StandIn()
        self._known: dict[tuple[str, str], RemoteModel] = {}

    def find(self, name: str) -> Model:
        """The model of this name, ready to be asked; `ModelFailed` says why there is none."""
        wanted = self._settings.default if name in ("", DEFAULT) else name
        if wanted == HOUSE:
            return self._house
        provider, model = self._named(wanted)
        if not installed():
            raise ModelFailed(
                "not_installed",
                f"The model {_shown(wanted)} needs packages that are not installed; run: {INSTALL}.",
            )
        found = self._known.get((provider.name, model))
        if found is None:
            found = RemoteModel(provider, model, self._settings, self._environment, Rest(self._now))
            if len(self._known) < _KEPT:
                self._known[provider.name, model] = found
        return found

    def names(self) -> list[str]:
        """Names under which models can be found; beside them, any `provider:model` of a provider that there is."""
        return [HOUSE, *(f"{one.name}:{one.model}" for one in self._providers.values() if one.model)]

    def providers(self) -> list[ProviderFacts]:
        """What is configured, for people: where each is asked and whether its key is there, never the key."""
        house: ProviderFacts = {
            "provider": HOUSE,
            "kind": HOUSE,
            "model": "",
            "where": "this process",
            "key": "not needed",
            "problem": "",
        }
        return [house, *(self._facts(one) for one in self._providers.values())]

    def problem(self, name: str) -> str:
        """Why there is no model of this name; empty when there is one, whether or not it answers."""
        try:
            self.find(name)
        except ModelFailed as error:
            return error.message
        return ""

    async def trial(self, name: str) -> ModelTrial:
        """Ask a model for one sentence, and say what came of it."""
        asked = Prompt(
            instructions="You are tested. Answer with one short sentence.",
            turns=(Turn(role="user", text="Are you there?", speaker="doorward"),),
            most_tokens=64,
        )
        said = ""
        try:
            answer = cast(AsyncGenerator[Piece, None], self.find(name).answer(asked))
            async with contextlib.aclosing(answer) as pieces:
                async for piece in pieces:
                    if isinstance(piece, Text) and len(said) < 500:
                        said += piece.text
        except ModelFailed as error:
            return {"model": name, "answers": False, "said": error.message, "fault": error.fault}
        return {"model": name, "answers": True, "said": visible(said[:500]), "fault": ""}

    def _named(self, name: str) -> tuple[Provider, str]:
        first, _, model = name.partition(":")
        provider = self._providers.get(first)
        if provider is None:
            known = ", ".join([HOUSE, *(f"{one}:NAME" for one in self._providers)])
            more = (
                ", with any name of theirs" if self._providers else "; `models.providers` in the settings adds others"
            )
            raise ModelFailed("unknown", f"There is no provider of the model {_shown(name)}; valid are {known}{more}.")
        model = model or provider.model
        if not model:
            raise ModelFailed(
                "unknown", f"Which model of the provider {first} is not said; write it as {first}:NAME-OF-THE-MODEL."
            )
        if not _MODEL_NAME.fullmatch(model):
            raise ModelFailed(
                "unknown",
                f"The name of a model has at most 200 letters, digits and signs and no blanks; given was "
                f"{_shown(name)}.",
            )
        return provider, model

    def _resting(self, provider: Provider) -> str:
        """Which of its models are left alone now."""
        rests = [one for (name, _), one in self._known.items() if name == provider.name and one.rest.left]
        shown = [f"{_shown(one.name)} can be asked again in {seconds(one.rest.left)}" for one in rests[:5]]
        return f"It says that it was asked too often: {', '.join(shown)}." if shown else ""

    def _facts(self, one: Provider) -> ProviderFacts:
        key: Key = "missing"
        problem = ""
        try:
            held = key_of(one, self._environment)
            key = "there" if held else "not needed"
            one.address(with_key=bool(held))
            if not installed():
                problem = f"The packages for it are not installed; run: {INSTALL}."
            else:
                problem = self._resting(one)
        except ModelFailed as error:
            problem = error.message
        return {
            "provider": one.name,
            "kind": one.settings.kind,
            "model": one.model,
            "where": public(one.settings.base_url) or f"{one.settings.kind} itself",
            "key": key,
            "problem": problem,
        }


def installed() -> bool:
    """Whether the packages that speak to providers are there; asked without importing them, which takes seconds."""
    return importlib.util.find_spec("pydantic_ai") is not None


def _shown(name: str) -> str:
    return repr(visible(name[:80], lines=False))
