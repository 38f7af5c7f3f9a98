"""A provider: a service with models, and its key from the environment or a private file."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

import msgspec

from doorward.agents.models.model import ModelFailed
from doorward.config import settings
from doorward.core.errors import Unreachable
from doorward.upstream import http_client
from doorward.upstream.outbound import is_loopback_host

MODEL_VARIABLE = "USHELL_LLM_MODEL"
"""The environment variable that names the default OpenAI model."""
_DEFAULT_MODEL = "gpt-4o-mini"
_KEY_VARIABLES = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
_ADDRESSES = {"openai": "https://api.openai.com/v1", "anthropic": "https://api.anthropic.com"}


class ModelProvider(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    settings: settings.ProviderSettings
    model: str
    """The default model, used when only the provider is named; may be empty."""

    @property
    def key_variable(self) -> str:
        """The environment variable of its key.

        By default it derives from the provider's name, not its kind: a key for one service must never be sent to
        another that understands the same requests.
        """
        return self.settings.key_env or f"{self.name.upper().replace('-', '_')}_API_KEY"

    @property
    def is_official(self) -> bool:
        """Whether it is the service of OpenAI or Anthropic itself."""
        return not self.settings.base_url

    @property
    def base_url(self) -> str:
        return self.settings.base_url or _ADDRESSES[self.settings.kind]

    @property
    def is_remote(self) -> bool:
        """Whether it is on another machine. An unreadable address counts as another machine."""
        try:
            return not is_loopback_host(http_client.split_url(self.base_url).hostname or "")
        except Unreachable:
            return True

    @property
    def constrains(self) -> bool:
        """Whether its answers may be constrained to a schema, by the settings."""
        given = self.settings.constrain
        return given == "on" or (given == "auto" and self.settings.kind == "openai" and not self.is_remote)

    def address(self, *, with_key: bool) -> str:
        """Return its address. Raises `ModelFailed` if it is invalid, or if the key would be sent unencrypted."""
        given = self.base_url
        try:
            parts = http_client.split_url(given)
        except Unreachable:
            parts = None
        if parts is None or parts.query or parts.fragment:
            raise ModelFailed(
                "not_allowed",
                f"The base_url of the provider {self.name} is not valid; valid: an address such as "
                f"https://models.example/v1, without a user name, a password or a question mark.",
            )
        near = is_loopback_host(parts.hostname or "")
        if with_key and parts.scheme == "http" and not near and not self.settings.plain_http:
            raise ModelFailed(
                "not_allowed",
                f"The key of the provider {self.name} would go to another machine unencrypted. Use an https address, "
                f"or set plain_http if you control that network.",
            )
        return given.rstrip("/")


def load_providers(given: settings.ModelSettings, environment: Mapping[str, str]) -> dict[str, ModelProvider]:
    """Return all providers by name: those in the settings, and OpenAI and Anthropic if their key is set."""
    found = {
        kind: settings.ProviderSettings(kind=kind)
        for kind in ("openai", "anthropic")
        if environment.get(_KEY_VARIABLES[kind])
    }
    return {
        name: ModelProvider(name=name, settings=one, model=one.model or _default_model(name, environment))
        for name, one in (found | given.providers).items()
    }


def _default_model(name: str, environment: Mapping[str, str]) -> str:
    return (environment.get(MODEL_VARIABLE) or _DEFAULT_MODEL) if name == "openai" else ""


_MAX_KEY = 4_096


def load_key(provider: ModelProvider, environment: Mapping[str, str]) -> str:
    """Return the provider's current key, or an empty text if none is needed. Raises `ModelFailed` if it is missing."""
    setting = provider.settings
    if setting.key_file:
        found, where = _read_key_file(provider, Path(setting.key_file)), "the key file"
    else:
        found, where = (
            environment.get(provider.key_variable, "").strip(),
            f"the environment variable {provider.key_variable}",
        )
    if not found:
        if not setting.needs_key:
            return ""
        raise ModelFailed(
            "not_allowed",
            f"The provider {provider.name} needs a key, and {where} holds none. Set it where Doorward is started.",
        )
    if len(found) > _MAX_KEY or not found.isascii() or not found.isprintable() or " " in found:
        raise ModelFailed(
            "not_allowed",
            f"The key of the provider {provider.name} is not valid: {where} must hold one line of at most {_MAX_KEY} "
            f"printable ASCII characters without spaces; given {len(found)} characters.",
        )
    return found


def _read_key_file(provider: ModelProvider, file: Path) -> str:
    """Read a key file. Only its owner may be able to read it; otherwise the key counts as leaked."""
    wrong = f"The key file of the provider {provider.name} "
    if not file.is_absolute():
        raise ModelFailed("not_allowed", f"{wrong}must be given as an absolute path, such as /home/me/openai.key.")
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "its path is not valid"
        raise ModelFailed("not_allowed", f"{wrong}cannot be read: {why}.") from None
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise ModelFailed("not_allowed", f"{wrong}is not a regular file.")
        if facts.st_uid != os.geteuid() or stat.S_IMODE(facts.st_mode) & 0o077:
            raise ModelFailed(
                "not_allowed",
                f"{wrong}must belong to the account that Doorward runs as and be readable by it alone (chmod 600); "
                f"its mode is {stat.S_IMODE(facts.st_mode):o}.",
            )
        return os.read(descriptor, _MAX_KEY + 2).decode("utf-8", "replace").strip()
    except OSError as error:
        raise ModelFailed("not_allowed", f"{wrong}cannot be read: {error.strerror}.") from None
    finally:
        os.close(descriptor)
