"""Which models there are, by which names, and where their keys come from. Nothing here needs the libraries."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from wire_servers import KEY

from doorward.agents.models import registry as finding
from doorward.agents.models.model import ModelFailed, Prompt
from doorward.agents.models.registry import ModelRegistry
from doorward.config.settings import ModelSettings as Limits
from doorward.config.settings import ProviderSettings, load_settings
from doorward.core.errors import Unusable

pytestmark = pytest.mark.anyio


def fails(models: ModelRegistry, name: str) -> ModelFailed:
    with pytest.raises(ModelFailed) as failure:
        models.find(name)
    return failure.value


async def refused(models: ModelRegistry, name: str) -> ModelFailed:
    """Why a model that is known does not answer; nothing is sent."""
    with pytest.raises(ModelFailed) as failure:
        await anext(models.find(name).answer(Prompt(instructions="", turns=())))
    return failure.value


def test_without_keys_there_is_the_house_and_nothing_else() -> None:
    models = ModelRegistry(Limits(), {})
    assert models.names() == ["house"]
    assert models.find("house").name == "house"
    assert models.find("").name == "house"
    assert models.find("default").name == "house"


def test_a_key_in_the_environment_is_enough() -> None:
    models = ModelRegistry(Limits(), {"OPENAI_API_KEY": "a", "ANTHROPIC_API_KEY": "b"})
    assert models.names() == ["house", "openai:gpt-4o-mini"]
    assert models.find("openai").name == "openai:gpt-4o-mini"
    assert models.find("anthropic:claude-haiku-4-5").name == "anthropic:claude-haiku-4-5"
    assert fails(models, "anthropic").message == (
        "The provider anthropic has no default model. Name one as anthropic:NAME-OF-THE-MODEL."
    )
    assert models.find("default").name == "house", "a key alone sends nothing that is said to anybody"


def test_the_variable_of_other_programs_names_the_model() -> None:
    models = ModelRegistry(Limits(default="openai"), {"OPENAI_API_KEY": "a", "USHELL_LLM_MODEL": "gpt-6"})
    assert models.find("default").name == "openai:gpt-6"


def test_a_provider_of_the_settings_is_found_with_any_model() -> None:
    models = ModelRegistry(
        Limits(providers={"lan": ProviderSettings(base_url="http://127.0.0.1:1/v1", needs_key=False)}), {}
    )
    assert models.find("lan:qwen3:4b").name == "lan:qwen3:4b"
    assert models.find("lan:qwen3:4b") is models.find("lan:qwen3:4b"), "what was learned of its tokens is kept"


@pytest.mark.parametrize(
    "name", ["nobody", "nobody:m", "lan", "lan:", "lan:a b", "lan:\u202e", "lan:" + "x" * 201, ":", "\x00"]
)
def test_a_name_that_means_nothing_is_unknown_and_says_what_would_be_valid(name: str) -> None:
    failure = fails(ModelRegistry(Limits(providers={"lan": ProviderSettings()}), {}), name)
    assert failure.fault == "unknown"
    assert failure.message.isprintable()
    assert "lan" in failure.message


async def test_a_missing_key_names_its_variable_and_is_seen_by_people() -> None:
    models = ModelRegistry(
        Limits(providers={"my-lan": ProviderSettings(base_url="https://models.example/v1")}), {"OPENAI_API_KEY": KEY}
    )
    failure = await refused(models, "my-lan:m")
    assert failure.fault == "not_allowed"
    assert "MY_LAN_API_KEY" in failure.message
    facts = {one["provider"]: one for one in models.providers()}
    assert facts["house"]["where"] == "this process"
    assert (facts["openai"]["key"], facts["openai"]["problem"]) == ("there", "")
    assert (facts["my-lan"]["key"], facts["my-lan"]["where"]) == ("missing", "https://models.example/v1")
    assert KEY not in json.dumps(models.providers())


@pytest.mark.parametrize("key", ["two words", "line\nbreak", "n\u00e4in", "x" * 5_000])
async def test_what_cannot_be_a_key_is_not_sent_and_not_repeated(key: str) -> None:
    failure = await refused(ModelRegistry(Limits(), {"OPENAI_API_KEY": key}), "openai")
    assert failure.fault == "not_allowed"
    assert key not in failure.message


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://models.example/v1", "unencrypted"),
        ("http://10.0.0.7:8000/v1", "unencrypted"),
        ("ftp://models.example", "is not valid; valid: an address"),
        ("https://me:secret@models.example/v1", "is not valid; valid: an address"),
        ("https://models.example/v1?key=secret", "is not valid; valid: an address"),
        ("models.example", "is not valid; valid: an address"),
        ("https://", "is not valid; valid: an address"),
    ],
)
async def test_a_key_goes_only_where_it_is_safe(url: str, words: str) -> None:
    models = ModelRegistry(Limits(providers={"x": ProviderSettings(base_url=url)}), {"X_API_KEY": KEY})
    failure = await refused(models, "x:m")
    assert failure.fault == "not_allowed"
    assert words in failure.message
    assert "secret" not in failure.message + json.dumps(models.providers())


async def test_a_key_file_is_read_only_when_nobody_else_can(tmp_path: Path) -> None:
    file = tmp_path / "key"
    models = ModelRegistry(
        Limits(providers={"x": ProviderSettings(base_url="http://127.0.0.1:9/v1", key_file=str(file))}), {}
    )
    assert "cannot be read" in (await refused(models, "x:m")).message
    file.write_text(f"{KEY}\n")
    file.chmod(0o644)
    assert "its mode is 644" in (await refused(models, "x:m")).message
    assert models.providers()[1]["key"] == "missing"
    file.chmod(0o600)
    assert models.providers()[1]["key"] == "there"
    file.unlink()
    file.mkdir(0o700)
    assert "not a regular file" in (await refused(models, "x:m")).message
    relative = ModelRegistry(Limits(providers={"x": ProviderSettings(key_file="key")}), {})
    assert "absolute path" in (await refused(relative, "x:m")).message


async def test_a_key_file_that_is_a_pipe_does_not_stop_the_house(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    models = ModelRegistry(Limits(providers={"x": ProviderSettings(key_file=str(tmp_path / "pipe"))}), {})
    assert "not a regular file" in (await refused(models, "x:m")).message


def test_without_the_packages_the_command_that_installs_them_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(
        finding.importlib.util, "find_spec", lambda name, *more: None if name == "pydantic_ai" else real(name, *more)
    )
    models = ModelRegistry(Limits(), {"OPENAI_API_KEY": KEY})
    failure = fails(models, "openai")
    assert failure.fault == "not_installed"
    assert "pip install 'doorward[models]'" in failure.message
    assert "pip install 'doorward[models]'" in models.providers()[1]["problem"]


@pytest.mark.parametrize(
    "text",
    [
        '[models.providers.x]\nkey = "sk-secret-secret"',
        '[models.providers.x]\nkind = "smoke"',
        '[models.providers.house]\nkind = "openai"',
        '[models.providers.default]\nkind = "openai"',
        '[models.providers."a:b"]\nkind = "openai"',
        "[models.providers.x]\nfirst_seconds = 0",
        "[models]\nanswer_bytes = 0",
    ],
)
def test_settings_that_do_not_fit_are_refused_and_a_key_in_them_is_not_repeated(tmp_path: Path, text: str) -> None:
    file = tmp_path / "doorward.toml"
    file.write_text(text)
    with pytest.raises(Unusable) as refusal:
        load_settings(file)
    assert "secret" not in refusal.value.message


def test_a_house_with_providers_starts_without_their_libraries() -> None:
    """Importing them takes seconds, so it waits for the first question to such a model."""
    program = (
        "import sys, doorward.app\n"
        "from doorward.agents.models.registry import ModelRegistry\n"
        "from doorward.config.settings import ModelSettings\n"
        "ModelRegistry(ModelSettings(), {'OPENAI_API_KEY': 'x'}).find('openai').name\n"
        "print({'pydantic_ai', 'openai', 'anthropic', 'pydantic', 'rs_bpe'} & set(sys.modules))\n"
    )
    ended: Any = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout == "set()\n"
