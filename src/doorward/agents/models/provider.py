"""A provider: a service with models, from the settings or the environment."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from doorward import settings
from doorward.agents.models.model import ModelFailed
from doorward.errors import Unreachable
from doorward.upstream import web
from doorward.upstream.outbound import is_this_machine

MODEL_VARIABLE = "USHELL_LLM_MODEL"
"""The environment variable that names the default OpenAI model."""
_FIRST_MODEL = "gpt-4o-mini"
_KINDS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
_ADDRESSES = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com"}


class Provider(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    settings: settings.Provider
    model: str
    """The default model, used when only the provider is named; may be empty."""

    @property
    def variable(self) -> str:
        """The environment variable of its key.

        By default it derives from the provider's name, not its kind: a key for one service must never be sent to
        another that understands the same requests.
        """
        return self.settings.key_env or f"{self.name.upper().replace('-', '_')}_API_KEY"

    @property
    def is_its_maker(self) -> bool:
        """Whether it is the service of OpenAI or Anthropic itself."""
        return not self.settings.base_url

    @property
    def is_elsewhere(self) -> bool:
        """Whether it is on another machine. An unreadable address counts as another machine."""
        try:
            return not is_this_machine(
                web.split(self.settings.base_url or _ADDRESSES[self.settings.kind]).hostname or ""
            )
        except Unreachable:
            return True

    def address(self, *, with_key: bool) -> str:
        """Return its address. Raises `ModelFailed` if it is invalid, or if the key would be sent unencrypted."""
        given = self.settings.base_url or _ADDRESSES[self.settings.kind]
        try:
            parts = web.split(given)
        except Unreachable:
            parts = None
        if parts is None or parts.query or parts.fragment:
            raise ModelFailed(
                "not_allowed",
                f"The base_url of the provider {self.name} is not valid; valid: an address such as "
                f"https://models.example/v1, without a user name, a password or a question mark.",
            )
        near = is_this_machine(parts.hostname or "")
        if with_key and parts.scheme == "http" and not near and not self.settings.plain_http:
            raise ModelFailed(
                "not_allowed",
                f"The key of the provider {self.name} would go to another machine unencrypted. Use an https address, "
                f"or set plain_http if you control that network.",
            )
        return given.rstrip("/")


def configured(given: settings.Models, environment: Mapping[str, str]) -> dict[str, Provider]:
    """Return all providers by name: those in the settings, and OpenAI and Anthropic if their key is set."""
    found = {kind: settings.Provider(kind=kind) for kind in ("openai", "anthropic") if environment.get(_KINDS[kind])}
    return {
        name: Provider(name=name, settings=one, model=one.model or _first_model(name, environment))
        for name, one in (found | given.providers).items()
    }


def _first_model(name: str, environment: Mapping[str, str]) -> str:
    return (environment.get(MODEL_VARIABLE) or _FIRST_MODEL) if name == "openai" else ""
