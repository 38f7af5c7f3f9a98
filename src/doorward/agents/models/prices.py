"""Prices and context sizes of the models of known services, as data in `prices.json`."""

from __future__ import annotations

import fnmatch
import functools
import re
from collections.abc import Mapping
from importlib.resources import files
from urllib.parse import urlsplit

import msgspec

from doorward.agents.models.provider import ModelProvider

_MILLION = 1_000_000
_SMALL_CONTEXT = 16_384
_SMALL_BILLIONS = 14
_PARAMETERS = re.compile(r"(?<![\d.])(\d{1,4}(?:\.\d+)?)b(?![a-z])")
"""The number of parameters in a name such as qwen2.5-coder:1.5b."""
_VERSION = re.compile(r"-(?:latest|\d{4}-\d{2}-\d{2}|\d{8})$")


class ModelPrice(msgspec.Struct, frozen=True):
    """US dollars per million tokens."""

    input: float
    output: float

    def cost(self, input_tokens: int, output_tokens: int) -> float:
        """Return the cost of an answer in US dollars."""
        return (self.input * input_tokens + self.output * output_tokens) / _MILLION


FREE = ModelPrice(0.0, 0.0)


class KnownService(msgspec.Struct, frozen=True):
    """A service with an OpenAI-compatible or Anthropic-compatible API."""

    name: str
    base_url: str
    key: str
    """The environment variable that usually has its key."""
    models: dict[str, tuple[float, float, int]]


class _PriceFile(msgspec.Struct, frozen=True):
    services: tuple[KnownService, ...]


@functools.cache
def known_services() -> tuple[KnownService, ...]:
    text = files(__package__).joinpath("prices.json").read_bytes()
    return msgspec.json.decode(text, type=_PriceFile).services


def find_price(
    provider: ModelProvider, model: str, own: Mapping[str, tuple[float, float]] | None = None
) -> ModelPrice | None:
    """Return the price of a model; None if it is not known. A model on this machine is free.

    `own` are prices in the settings by the pattern of a name, such as `groq:*`; they come first.
    """
    for pattern, (taken, given) in (own or {}).items():
        if fnmatch.fnmatchcase(f"{provider.name}:{model}", pattern):
            return ModelPrice(taken, given)
    if not provider.is_remote:
        return FREE
    found = _find_entry(provider, model)
    return ModelPrice(found[0], found[1]) if found else None


def find_context(provider: ModelProvider, model: str) -> int:
    """Return the context of a model of a known service in tokens; 0 if it is not known."""
    found = _find_entry(provider, model)
    return found[2] if found else 0


def is_small_model(provider: ModelProvider, model: str) -> bool:
    """Whether a model is small: by its settings, its context, or the number of parameters in its name.

    Only models on this machine are judged by their name.
    """
    if provider.settings.small != "auto":
        return provider.settings.small == "on"
    if 0 < find_context(provider, model) <= _SMALL_CONTEXT:
        return True
    billions = _PARAMETERS.findall(model.lower())
    return not provider.is_remote and bool(billions) and float(billions[-1]) <= _SMALL_BILLIONS


def _find_entry(provider: ModelProvider, model: str) -> tuple[float, float, int] | None:
    """Return the entry of a model. Only the host decides which service it is: any provider can have any name."""
    host = urlsplit(provider.base_url).hostname
    for service in known_services():
        if urlsplit(service.base_url).hostname == host:
            return service.models.get(model) or service.models.get(_VERSION.sub("", model))
    return None
