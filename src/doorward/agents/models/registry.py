"""Find models by name, list providers, and test models."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import importlib.util
import os
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from doorward.agents.models.available import price_facts
from doorward.agents.models.daily_spending import DailySpending
from doorward.agents.models.local import LOCAL, LocalModel, load_local_models
from doorward.agents.models.model import Model, ModelFailed
from doorward.agents.models.prices import FREE, find_context, find_price
from doorward.agents.models.provider import ModelProvider, load_key, load_providers
from doorward.agents.models.remote import RemoteModel
from doorward.agents.models.setup import ModelSetup
from doorward.agents.models.timeouts import Cooldown, format_seconds
from doorward.agents.models.trial import try_model
from doorward.commands.agent_services import KeyState, ModelTrial, OnProgress, ProviderFacts
from doorward.config import settings
from doorward.core.escape_invisible import escape_invisible
from doorward.upstream.http_client import redact_url

HOUSE = "house"
DEFAULT = "default"
INSTALL = "pip install 'doorward[models]'"
_MODEL_NAME = re.compile(r"[\x21-\x7e]{1,200}")
_MAX_REMOTE = 1_000
"""The most models kept with their learned token ratios. Names come from people, so there are few."""


class ModelRegistry:
    """Finds a model by its name: `house`, `default`, a tier, `local:name`, a provider's name, or `provider:model`."""

    def __init__(
        self,
        given: settings.ModelSettings,
        environment: Mapping[str, str] | None = None,
        now: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        home: Path | None = None,
        spending: DailySpending | None = None,
    ) -> None:
        """`wall` is the clock that the house model uses for words such as `yesterday`.

        `home` is the folder of the settings file, which `setup` changes.
        """
        self._settings = given
        self._environment = os.environ if environment is None else environment
        self._providers = load_providers(given, self._environment)
        self._now = now
        self._wall = wall
        self._remote: dict[tuple[str, str], RemoteModel] = {}
        self._local = load_local_models(given, self._environment)
        self._unloading: set[asyncio.Task[None]] = set()
        self._spending = spending or DailySpending(wall=wall)
        self.setup = ModelSetup(self, self._environment, home)

    @property
    def current_settings(self) -> settings.ModelSettings:
        return self._settings

    def configure(self, given: settings.ModelSettings) -> None:
        """Put other settings in force. Answers that run end as they began; removed local models are unloaded."""
        before, self._settings = self._settings, given
        self._providers = load_providers(given, self._environment)
        self._remote.clear()
        local = load_local_models(given, self._environment)
        kept = {name: one for name, one in self._local.items() if before.local.get(name) == given.local.get(name)}
        for name, one in self._local.items():
            if name not in kept:
                task = asyncio.ensure_future(one.close())
                self._unloading.add(task)
                task.add_done_callback(self._unloading.discard)
        self._local = {**local, **{name: one for name, one in kept.items() if name in local}}

    def with_provider(self, name: str, given: settings.ProviderSettings) -> ModelRegistry:
        """Return the same models with one more provider, which the settings do not name."""
        providers = {**self._settings.providers, name: given}
        changed = msgspec.structs.replace(self._settings, providers=providers)
        return ModelRegistry(changed, self._environment, self._now, self._wall, spending=self._spending)

    def configured_providers(self) -> list[ModelProvider]:
        return list(self._providers.values())

    def local_models(self) -> list[LocalModel]:
        return list(self._local.values())

    def resolve_default(self) -> str:
        """Return the name of the model that `default` means; empty if the settings refer in a circle."""
        try:
            return self._resolve_name(DEFAULT)
        except ModelFailed:
            return ""

    @functools.cached_property
    def _house(self) -> Model:
        from doorward.agents.house.model import HouseModel  # noqa: PLC0415 - large, and often not needed

        return HouseModel(self._wall)

    def find(self, name: str) -> Model:
        """Return the model of this name, ready to use. Raises `ModelFailed` if there is none."""
        wanted = self._resolve_name(name)
        if wanted == HOUSE:
            return self._house
        if wanted.partition(":")[0] == LOCAL:
            found_here = self._find_local(wanted)
            found_here.check()
            return found_here
        provider, model = self._split_name(wanted)
        if not is_installed():
            raise ModelFailed(
                "not_installed",
                f"The model {_quote_name(wanted)} needs packages that are not installed; run: {INSTALL}.",
            )
        found = self._remote.get((provider.name, model))
        if found is None:
            found = RemoteModel(provider, model, self._settings, self._environment, Cooldown(self._now), self._spending)
            if len(self._remote) < _MAX_REMOTE:
                self._remote[provider.name, model] = found
        return found

    def instead_of(self, name: str) -> Model | None:
        """Return the fallback for the model of this name, or None.

        A request that would stay on this machine never falls back to a remote model.
        """
        fallback = self._settings.fallback
        if not fallback or (self._is_remote(fallback) and not self._is_remote(name)):
            return None
        try:
            found = self.find(fallback)
        except ModelFailed:
            return None
        with contextlib.suppress(ModelFailed):  # the name means no model, so any fallback will do
            if self._resolve_name(name) in (found.name, self._resolve_name(fallback)):
                return None
        return found

    async def close(self) -> None:
        """Unload all local models."""
        await asyncio.gather(*(one.close() for one in self._local.values()), *self._unloading)

    def names(self) -> list[str]:
        """List the names of models. Any other `provider:model` of a configured provider is valid too."""
        remote = (f"{one.name}:{one.model}" for one in self._providers.values() if one.model)
        return [HOUSE, *self._settings.tiers, *(one.name for one in self._local.values()), *remote]

    def providers(self) -> list[ProviderFacts]:
        """List the configured providers for people: address and whether the key is set, never the key itself."""
        house: ProviderFacts = {
            "provider": HOUSE,
            "kind": HOUSE,
            "model": "",
            "where": "this process",
            "key": "not needed",
            "price": price_facts(FREE),
            "context": None,
            "problem": "",
        }
        return [
            house,
            *(self._local_facts(one) for one in self._local.values()),
            *(self._provider_facts(one) for one in self._providers.values()),
            *(self._tier_facts(tier) for tier in self._settings.tiers),
        ]

    def problem(self, name: str) -> str:
        """Return why there is no model of this name; empty if there is one, whether or not it answers."""
        try:
            self.find(name)
        except ModelFailed as error:
            return error.message
        return ""

    async def trial(self, name: str, progress: OnProgress | None = None) -> ModelTrial:
        """Ask a model, which may also be one of a server that was found here, and report the results."""
        try:
            model = await self.setup.find_model(name)
        except ModelFailed as error:
            return {
                "model": name,
                "answers": False,
                "said": error.message,
                "fault": error.fault,
                "checks": [],
                "dollars": None,
            }
        return await try_model(name, model, progress)

    def _resolve_name(self, name: str) -> str:
        """Resolve `default` and tiers to the name of a model. They may refer to each other, but not in a circle."""
        way = [name or DEFAULT]
        while way[-1] == DEFAULT or way[-1] in self._settings.tiers:
            way.append((self._settings.default if way[-1] == DEFAULT else self._settings.tiers[way[-1]]) or HOUSE)
            if way[-1] in way[:-1]:
                round_ = " to ".join(map(_quote_name, way))
                raise ModelFailed(
                    "unknown",
                    f"The settings name no model for {_quote_name(name or DEFAULT)}: they refer in a circle, from "
                    f"{round_}. Set one of them to a model such as {HOUSE}.",
                )
        return way[-1]

    def _is_remote(self, name: str) -> bool:
        """Whether requests to this model leave this machine; True if unknown."""
        try:
            wanted = self._resolve_name(name)
            provider = self._providers.get(wanted.partition(":")[0])
            return provider.is_remote if provider is not None else False
        except ModelFailed:
            return True

    def _find_local(self, name: str) -> LocalModel:
        model = name.partition(":")[2]
        if not model and len(self._local) == 1:
            return next(iter(self._local.values()))
        if model not in self._local:
            known = ", ".join(one.name for one in self._local.values()) or "none"
            raise ModelFailed(
                "unknown",
                f"There is no local model {_quote_name(name)}; valid: {known}. Add one with a table "
                "`models.local.NAME` in the settings.",
            )
        return self._local[model]

    def _split_name(self, name: str) -> tuple[ModelProvider, str]:
        first, _, model = name.partition(":")
        provider = self._providers.get(first)
        if provider is None:
            here = (one.name for one in self._local.values())
            known = ", ".join([HOUSE, *self._settings.tiers, *here, *(f"{one}:NAME" for one in self._providers)])
            more = ", where NAME is one of their models" if self._providers else "; add others in `models.providers`"
            raise ModelFailed(
                "unknown", f"There is no provider for the model {_quote_name(name)}; valid: {known}{more}."
            )
        model = model or provider.model
        if not model:
            raise ModelFailed(
                "unknown", f"The provider {first} has no default model. Name one as {first}:NAME-OF-THE-MODEL."
            )
        if not _MODEL_NAME.fullmatch(model):
            raise ModelFailed(
                "unknown",
                f"The name of a model has at most 200 printable ASCII characters and no spaces; given "
                f"{_quote_name(name)}.",
            )
        return provider, model

    def _describe_cooldowns(self, provider: ModelProvider) -> str:
        """Say which of its models are rate limited now."""
        rests = [one for (name, _), one in self._remote.items() if name == provider.name and one.cooldown.seconds_left]
        shown = [f"{_quote_name(one.name)} for {format_seconds(one.cooldown.seconds_left)}" for one in rests[:5]]
        return f"Rate limited: {', '.join(shown)}." if shown else ""

    def _local_facts(self, one: LocalModel) -> ProviderFacts:
        problem = ""
        try:
            one.check()
        except ModelFailed as error:
            problem = error.message
        loaded = f"loaded, {one.memory // 1_048_576} MB" if one.loaded else "loaded when it is first asked"
        return {
            "provider": LOCAL,
            "kind": LOCAL,
            "model": one.name.partition(":")[2],
            "where": f"{escape_invisible(one.file, lines=False)} on this machine ({loaded})",
            "key": "not needed",
            "price": price_facts(FREE),
            "context": one.context,
            "problem": problem,
        }

    def _tier_facts(self, tier: str) -> ProviderFacts:
        return {
            "provider": tier,
            "kind": "tier",
            "model": self._settings.tiers[tier],
            "where": "where that model is",
            "key": "not needed",
            "price": None,
            "context": None,
            "problem": self.problem(tier),
        }

    def _provider_facts(self, one: ModelProvider) -> ProviderFacts:
        key: KeyState = "missing"
        problem = ""
        try:
            held = load_key(one, self._environment)
            key = "there" if held else "not needed"
            one.address(with_key=bool(held))
            if not is_installed():
                problem = f"The packages for it are not installed; run: {INSTALL}."
            else:
                problem = self._describe_cooldowns(one)
        except ModelFailed as error:
            problem = error.message
        return {
            "provider": one.name,
            "kind": one.settings.kind,
            "model": one.model,
            "where": redact_url(one.settings.base_url) or f"{one.settings.kind} itself",
            "key": key,
            "price": price_facts(find_price(one, one.model, self._settings.prices)),
            "context": find_context(one, one.model) or None,
            "problem": problem,
        }


def is_installed() -> bool:
    """Whether the provider libraries are installed. They are not imported, which would take seconds."""
    return importlib.util.find_spec("pydantic_ai") is not None


def _quote_name(name: str) -> str:
    return repr(escape_invisible(name[:80], lines=False))
